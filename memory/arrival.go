// Arrivals: how long ago a message came that waits, whatever the clock was set to since.

package memory

import (
	"sync"
	"time"
)

// arrivals are when the messages came that this process delivered and that still wait, by
// their row of the inbox. These times tell how much later it is even where somebody, or a
// time server, has set the clock between; those on disk cannot.
type arrivals struct {
	mu sync.Mutex // guards at
	at map[int64]time.Time
}

// note remembers that the row is of a message that came now.
func (a *arrivals) note(row int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at == nil {
		a.at = make(map[int64]time.Time)
	}
	a.at[row] = time.Now()
}

// forget is for rows that no longer wait.
func (a *arrivals) forget(rows []int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, row := range rows {
		delete(a.at, row)
	}
}

// since reports whether the message of the row came at a time or later. Of one that an
// earlier process delivered only what its clock said, received, is known.
func (a *arrivals) since(row, received int64, then time.Time) bool {
	a.mu.Lock()
	came, known := a.at[row]
	a.mu.Unlock()
	if known {
		return !came.Before(then)
	}
	return received >= then.UnixMilli()
}
