// Arrivals: how long a message has been waiting, even if the clock was changed.

package store

import (
	"sync"
	"time"
)

// arrivals holds when the waiting messages of this process were delivered, by their row of the
// inbox. These times have a monotonic clock, so they stay right when the clock is set; those on
// disk do not.
type arrivals struct {
	mu sync.Mutex // guards at
	at map[int64]time.Time
}

// note records that the message of the row arrived now.
func (a *arrivals) note(row int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at == nil {
		a.at = make(map[int64]time.Time)
	}
	a.at[row] = time.Now()
}

// forget removes rows that no longer wait.
func (a *arrivals) forget(rows []int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, row := range rows {
		delete(a.at, row)
	}
}

// since reports whether the message of the row arrived at then or later. For a message that an
// earlier process delivered, only received, its wall clock time, is known.
func (a *arrivals) since(row, received int64, then time.Time) bool {
	a.mu.Lock()
	came, known := a.at[row]
	a.mu.Unlock()
	if known {
		return !came.Before(then)
	}
	return received >= then.UnixMilli()
}
