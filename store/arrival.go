// Arrivals: how long a message has been waiting, even if the clock was changed.

package store

import (
	"sync"
	"time"
)

// arrivals holds when the waiting messages of this process were delivered, by waitingMessage. These
// times have a monotonic clock, so they stay right when the clock is set; those on disk do not.
type arrivals struct{ at sync.Map }

// waitingMessage is a message that waits in an inbox.
type waitingMessage struct {
	conversation int64
	id           string
}

// note records that a message arrived now.
func (a *arrivals) note(m waitingMessage) { a.at.Store(m, time.Now()) }

// forget removes a message that no longer waits.
func (a *arrivals) forget(m waitingMessage) { a.at.Delete(m) }

// since reports whether a message arrived at then or later. For a message that an earlier process
// delivered, only received, its wall clock time, is known.
func (a *arrivals) since(m waitingMessage, received int64, then time.Time) bool {
	if came, known := a.at.Load(m); known {
		return !came.(time.Time).Before(then)
	}
	return received >= then.UnixMilli()
}
