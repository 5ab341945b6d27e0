package platform

import (
	"log/slog"
	"sync"
)

// Incident logs a failure that repeats once when it begins, and once when it is over.
type Incident struct {
	Log               *slog.Logger
	Failed, Recovered string                 // names of the two events
	Attrs             []any                  // of Failed, after the error
	Reason            func(err error) string // an error with a new reason is logged, too; nil: all errors are one

	mu     sync.Mutex // guards everything below
	open   bool
	reason string
}

// Begin logs Failed, unless the incident has begun for the same reason.
func (i *Incident) Begin(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	reason := ""
	if i.Reason != nil {
		reason = i.Reason(err)
	}
	if !i.open || reason != i.reason {
		i.Log.Warn(i.Failed, append([]any{"error", err}, i.Attrs...)...)
	}
	i.open, i.reason = true, reason
}

// End logs Recovered if the incident has begun.
func (i *Incident) End() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.open {
		i.Log.Info(i.Recovered)
	}
	i.open = false
}
