// An incident is told of once when it begins, and once when it is over.

package discord

import (
	"log/slog"
	"sync"
)

// incident is something that fails again and again, and is told of once: in one
// warning, and one line when it is over.
type incident struct {
	log           *slog.Logger
	failed, mends string // the two messages

	mu   sync.Mutex // guards open
	open bool
}

func (i *incident) is(err error) {
	i.mu.Lock()
	first := !i.open
	i.open = true
	i.mu.Unlock()
	if first {
		i.log.Warn(i.failed, "error", err)
	}
}

func (i *incident) over() {
	i.mu.Lock()
	was := i.open
	i.open = false
	i.mu.Unlock()
	if was {
		i.log.Info(i.mends)
	}
}
