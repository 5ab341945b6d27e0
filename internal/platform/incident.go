package platform

import (
	"log/slog"
	"sync"
)

// Incident is something that fails again and again: it is logged once when it begins, and once
// when it is over.
type Incident struct {
	Log               *slog.Logger
	Failed, Recovered string                 // names of the two events
	Attrs             []any                  // of Failed, beside the error
	Reason            func(err error) string // a new reason is logged too; nil: all are one

	mu     sync.Mutex // guards everything below
	open   bool
	reason string
}

// Begin logs the begin.
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

// End logs the end, if there was a begin.
func (i *Incident) End() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.open {
		i.Log.Info(i.Recovered)
	}
	i.open = false
}
