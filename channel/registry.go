package channel

import (
	"iter"
	"strings"
	"sync"

	"cairn/chat"
)

// registry has the conversations in memory. It is safe for concurrent use.
type registry struct {
	owners *goroutines           // which also run the conversations
	left   func(c *conversation) // called when a conversation has left memory

	mu   sync.Mutex        // guards open
	open map[string]*entry // by name
}

// entry is a conversation in memory, which stays there as long as it has users.
type entry struct {
	*conversation
	users int
}

// find returns the open conversation with a name; if there is none, it registers fresh, unless nil. The conversation stays open
// until release.
func (r *registry) find(name string, fresh *conversation) (*conversation, error) {
	found, err := r.register(name, fresh)
	if fresh != nil && found != fresh {
		fresh.end()
	}
	return found, err
}

func (r *registry) register(name string, fresh *conversation) (*conversation, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owners.isClosed() {
		return nil, ErrClosed
	}
	one := r.open[name]
	if one == nil && fresh == nil {
		return nil, nil
	}
	if one == nil {
		one = &entry{conversation: fresh}
		run := func() {
			fresh.runLoop(func() bool { return r.forget(fresh) })
			r.left(fresh)
			fresh.end()
		}
		if !r.owners.start(run) {
			return nil, ErrClosed
		}
		r.open[name] = one
	}
	one.users++
	return one.conversation, nil
}

func (r *registry) release(c *conversation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one := r.open[c.name]; one != nil && one.conversation == c { // it may have been removed
		one.users--
	}
}

// remove removes a conversation from memory, although others may use it.
func (r *registry) remove(c *conversation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one := r.open[c.name]; one != nil && one.conversation == c {
		delete(r.open, c.name)
	}
}

// forget removes a conversation from memory if no one uses it and nothing woke it.
func (r *registry) forget(c *conversation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.open[c.name]
	if one == nil || one.conversation != c { // it was removed
		return true
	}
	if one.users > 0 || len(c.inbox.signal) > 0 {
		return false
	}
	delete(r.open, c.name)
	return true
}

// list returns the open conversations, which may leave memory at any time.
func (r *registry) list() []*conversation {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*conversation, 0, len(r.open))
	for _, one := range r.open {
		list = append(list, one.conversation)
	}
	return list
}

// all yields the open conversations, each of which stays open meanwhile.
func (r *registry) all() iter.Seq[*conversation] {
	known := r.list()
	return func(yield func(*conversation) bool) {
		for _, one := range known {
			c, _ := r.find(one.name, nil)
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
