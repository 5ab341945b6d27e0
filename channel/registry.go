// The registry of the conversations in memory, with their users.

package channel

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// use returns a conversation, opened if necessary, that stays open until release.
func (h *Hub) use(ctx context.Context, name string) (*conversation, error) {
	connector, known := h.connectors[connectorOf(name)]
	if !known {
		return nil, fmt.Errorf("no connector is open for %q", name)
	}
	if c, err := h.find(name, nil); c != nil || err != nil {
		return c, err
	}
	records, err := h.o.Store.Conversation(ctx, name)
	if err != nil {
		return nil, err
	}
	return h.find(name, newConversation(h, name, connector, records))
}

// absent replaces the connector of a conversation that the operator works on while its connector is
// not open in this process. The bot answers no one there, so no method is called.
type absent struct{ Connector }

// closed reports whether the conversation's connector is not open.
func (c *conversation) closed() bool {
	_, closed := c.connector.(absent)
	return closed
}

// find returns the open conversation with that name. If there is none, it registers fresh, unless
// that is nil.
func (h *Hub) find(name string, fresh *conversation) (*conversation, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	c := h.open[name]
	if c == nil && fresh != nil {
		c = fresh
		h.open[name] = c
		h.owners.Go(c.own)
	}
	if c != nil {
		c.users++
	}
	return c, nil
}

func (h *Hub) release(c *conversation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.users--
}

// all yields the open conversations.
func (h *Hub) all() iter.Seq[*conversation] {
	h.mu.Lock()
	names := slices.Collect(maps.Keys(h.open))
	h.mu.Unlock()
	return func(yield func(*conversation) bool) {
		for _, name := range names {
			c, _ := h.find(name, nil)
			if c == nil {
				continue
			}
			more := yield(c)
			if h.release(c); !more {
				return
			}
		}
	}
}

// wake makes a conversation check for work, and opens it if necessary.
func (h *Hub) wake(ctx context.Context, name string) error {
	c, err := h.use(ctx, name)
	if err == nil {
		c.wake()
		h.release(c)
	}
	return err
}

// post runs f in the loop of a conversation, if it is open.
func (h *Hub) post(name string, f func(*conversation)) {
	if c, _ := h.find(name, nil); c != nil {
		c.inbox.post(func() { f(c) })
		h.release(c)
	}
}

// postThreads runs f in the loop of each open thread of a channel.
func (h *Hub) postThreads(channel string, f func(*conversation)) {
	for c := range h.all() {
		if p := ParsePlace(c.name); p.Thread != "" && strings.TrimSuffix(c.name, "/"+p.Thread) == channel {
			c.inbox.post(func() { f(c) })
		}
	}
}

// forget removes a conversation from memory if no one uses it and nothing woke it.
func (h *Hub) forget(c *conversation) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.users > 0 || len(c.inbox.signal) > 0 {
		return false
	}
	delete(h.open, c.name)
	return true
}
