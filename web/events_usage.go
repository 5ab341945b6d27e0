// Usage events: how full windows are, at most four per second and conversation.
package web

import (
	"maps"
	"slices"
	"sync"
	"time"

	"cairn/channel"
)

// usageEvent is the usage of a conversation's window.
type usageEvent struct {
	Conversation string    `json:"conversation"`
	Used         int       `json:"used_tokens" doc:"of the next request, the reply's reserve included"`
	Max          int       `json:"max_tokens"`
	Time         time.Time `json:"time"`
}

// usageInterval is how long changes are collected before they are published.
const usageInterval = 250 * time.Millisecond

// usageEvents collects the conversations whose usage may have changed.
type usageEvents struct {
	read func(conversation string) (channel.Activity, bool) // nil: not set yet; set once, before the first change

	mu         sync.Mutex // guards everything below
	changed    map[string]bool
	timer      *time.Timer // nil: nothing has changed
	closed     bool
	publishing sync.WaitGroup
}

// Read sets the function that returns the usage of an open conversation. It must not block, and
// must be set before the first event.
func (e *Events) Read(read func(conversation string) (channel.Activity, bool)) { e.usage.read = read }

// changed records that a conversation's usage may have changed. It does not read it, because it may
// be called from the conversation's loop.
func (e *Events) changed(conversation string) {
	u := &e.usage
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.read == nil || conversation == "" || u.closed {
		return
	}
	if u.changed == nil {
		u.changed = make(map[string]bool)
	}
	u.changed[conversation] = true
	if u.timer == nil {
		u.publishing.Add(1)
		u.timer = time.AfterFunc(usageInterval, e.publishUsage)
	}
}

// publishUsage publishes the usage of all changed conversations.
func (e *Events) publishUsage() {
	u := &e.usage
	defer u.publishing.Done()
	u.mu.Lock()
	names := slices.Sorted(maps.Keys(u.changed))
	u.changed, u.timer = nil, nil
	u.mu.Unlock()
	for _, name := range names {
		if l, ok := u.read(name); ok {
			e.publish(kindUsage, name, usageEvent{name, l.Used, l.Window, time.Now().UTC()})
		}
	}
}

// Close stops usage events. The hub must be closed before.
func (e *Events) Close() {
	u := &e.usage
	u.mu.Lock()
	u.closed = true
	if u.timer != nil && u.timer.Stop() {
		u.publishing.Done()
	}
	u.mu.Unlock()
	u.publishing.Wait()
}
