package channel

import (
	"context"
	"log/slog"
	"testing"

	"cairn/internal/check"
)

// A task continues only while its sender is idle, so the end of the sender must wake it: otherwise it
// waits until it is checked the next time, a minute later.
func TestTaskWakesWhenSenderIsIdle(t *testing.T) {
	for name, woken := range map[string]bool{"task:terminal:test/1": true, "terminal:test": false} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // there is nothing to send
			h := &Hub{o: Options{Log: slog.New(slog.DiscardHandler)}}
			c := newConversation(h, name, nil, nil)
			c.sender.start(ctx)
			h.owners.Wait()
			for _, event := range c.inbox.events {
				event()
			}
			check.Equal(t, "wakes", c.runs.again, woken)
		})
	}
}
