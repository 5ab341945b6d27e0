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

// startSession starts a new session if somebody wants one and all that was said before is
// dealt with.
func (c *conversation) startSession(ctx context.Context) (started bool, err error) {
	due, err := c.records.SessionDue(ctx)
	if err != nil || !due {
		return false, err
	}
	c.do(func(e *compactor.Compactor) { _, err = e.StartSession(ctx) })
	return err == nil, err
}

// threadsChanged has the open threads of a channel look again at what they have of it.
func (h *Hub) threadsChanged(channel string) {
	h.eachThread(channel, (*conversation).parentChanged)
}

// eachThread has the loop of each open thread of a channel run f.
func (h *Hub) eachThread(channel string, f func(*conversation)) {
	for _, c := range h.all() {
		if p := ParsePlace(c.name); p.Thread != "" && strings.TrimSuffix(c.name, "/"+p.Thread) == channel {
			c.inbox.post(func() { f(c) })
		}
		h.release(c)
	}
}
