// Arrivals: how long a message has been waiting, even if the clock was changed.

package store

import (
	"sync"
	"time"
)

// arrivals holds when the waiting messages of this process were delivered. These times have a
// monotonic clock, so they stay right when the clock is set; those on disk do not.
type arrivals struct {
	mu sync.Mutex // guards at
	at map[waitingMessage]time.Time
}

// waitingMessage is a message that waits in an inbox.
type waitingMessage struct {
	conversation int64
	id           string
}

// note records that a message arrived now.
func (a *arrivals) note(m waitingMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at == nil {
		a.at = make(map[waitingMessage]time.Time)
	}
	a.at[m] = time.Now()
}

// forget removes a message that no longer waits.
func (a *arrivals) forget(m waitingMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.at, m)
}

// since reports whether a message arrived at then or later. For a message that an earlier process
// delivered, only received, its wall clock time, is known.
func (a *arrivals) since(m waitingMessage, received int64, then time.Time) bool {
	a.mu.Lock()
	came, known := a.at[m]
	a.mu.Unlock()
	if known {
		return !came.Before(then)
	}
	return received >= then.UnixMilli()
}
