package channel

import (
	"context"
	"strings"

	"cairn/compactor"
)

// Sessions and threads: what begins a conversation again, and what a thread begins with.

// runNew wants a new session. It begins behind what waits and what is being
// answered: that was said before. Nobody waits for it.
func runNew(ctx context.Context, c *conversation, _ Person, _ string) (Answer, error) {
	wanted, later, err := c.records.WantSession(ctx)
	switch {
	case err != nil:
		return Answer{}, err
	case !wanted:
		return Answer{Text: "This is new already: nothing was said here since the last beginning."}, nil
	}
	c.wake()
	if later {
		return Answer{Text: "A new session starts as soon as the earlier messages are answered. They are summarized in the background; nothing is lost."}, nil
	}
	return Answer{Text: "A new session. The earlier messages are summarized in the background; nothing is lost, and I can still look them up."}, nil
}

// begin begins a new session if somebody wants one and all that was said before is
// dealt with.
func (c *conversation) begin(ctx context.Context) (started bool, err error) {
	due, err := c.records.SessionDue(ctx)
	if err != nil || !due {
		return false, err
	}
	c.do(func(e *compactor.Compactor) { _, err = e.StartSession(ctx) })
	return err == nil, err
}

// grown has a thread look at what it inherited: it did so with its first message.
func (c *conversation) grown() {
	if c.empty && c.engine.History().Next() > 1 {
		c.empty = false
		c.engine.Changed(nil, nil)
	}
}

// threadsChanged has the open threads of a channel look again at what they have of it.
func (h *Hub) threadsChanged(channel string) {
	h.eachThread(channel, func(c *conversation) {
		c.mu.Lock()
		c.parent = true
		c.mu.Unlock()
		c.wake()
	})
}

// eachThread calls f for each open thread of a channel.
func (h *Hub) eachThread(channel string, f func(*conversation)) {
	for _, c := range h.all() {
		if p := ParsePlace(c.name); p.Thread != "" && strings.TrimSuffix(c.name, "/"+p.Thread) == channel {
			f(c)
		}
		h.release(c)
	}
}
