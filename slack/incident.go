// What goes wrong for a while is told once.

package slack

import (
	"log/slog"
	"sync"
)

// incident is something that goes wrong for a while: one warning when it begins, or
// when Slack gives another reason, and one line when it is over.
type incident struct {
	mu     sync.Mutex // guards everything below
	open   bool
	reason string // Slack's name of the error
}

// begin logs the beginning, once.
func (i *incident) begin(log *slog.Logger, message string, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if reason := codeOf(err); !i.open || reason != i.reason {
		log.Warn(message, "error", err)
		i.reason = reason
	}
	i.open = true
}

// over logs the end, if there was a beginning.
func (i *incident) over(log *slog.Logger, message string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.open {
		log.Info(message)
	}
	i.open = false
}
