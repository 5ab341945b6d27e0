package channel

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"cairn/chat"
)

// registry has the conversations in memory, and starts the goroutines of a hub. It is safe for concurrent use.
type registry struct {
	owners sync.WaitGroup // of all goroutines

	mu     sync.Mutex // guards all below
	closed bool
	open   map[string]*conversation // by name
	users  map[string]int           // of open conversations, which stay open as long as there are any
}

// find returns the open conversation with a name; if there is none, it registers fresh, unless nil. The conversation stays open
// until release.
func (r *registry) find(name string, fresh *conversation) (*conversation, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrClosed
	}
	c := r.open[name]
	if c == nil && fresh != nil {
		c = fresh
		r.open[name] = c
		r.owners.Go(c.own)
	}
	if c != nil {
		r.users[name]++
	}
	return c, nil
}

func (r *registry) release(c *conversation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.users[c.name]--
}

// forget removes a conversation from memory if no one uses it and nothing woke it.
func (r *registry) forget(c *conversation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.users[c.name] > 0 || len(c.inbox.signal) > 0 {
		return false
	}
	delete(r.open, c.name)
	delete(r.users, c.name)
	return true
}

// list returns the open conversations, which may leave memory at any time.
func (r *registry) list() []*conversation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.open))
}

// all yields the open conversations, each of which stays open meanwhile.
func (r *registry) all() iter.Seq[*conversation] {
	open := r.list()
	return func(yield func(*conversation) bool) {
		for _, known := range open {
			c, _ := r.find(known.name, nil)
			if c == nil {
				continue
			}
			more := yield(c)
			r.release(c)
			if !more {
				return
			}
		}
	}
}

// post runs f in the loop of a conversation, if it is open.
func (r *registry) post(name string, f func(*conversation)) {
	if c, _ := r.find(name, nil); c != nil {
		c.inbox.post(func() { f(c) })
		r.release(c)
	}
}

// postThreads runs f in the loop of each open thread of a channel.
func (r *registry) postThreads(channel string, f func(*conversation)) {
	for c := range r.all() {
		p := chat.ParsePlace(c.name)
		if p.Thread != "" && strings.TrimSuffix(c.name, "/"+p.Thread) == channel {
			c.inbox.post(func() { f(c) })
		}
	}
}

// background runs f in a goroutine that the hub waits for; false: it is closing, and f does not run.
func (r *registry) background(f func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.owners.Go(f)
	}
	return !r.closed
}

// close has find return ErrClosed from now on.
func (r *registry) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}
