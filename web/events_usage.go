// Usage events: how full windows are, at most four a second for each conversation.
package web

import (
	"maps"
	"slices"
	"sync"
	"time"

	"cairn/channel"
)

// usageEvent says how full a conversation's window is.
type usageEvent struct {
	Conversation string    `json:"conversation"`
	Used         int       `json:"used_tokens" doc:"of the next request, the reply's reserve included"`
	Max          int       `json:"max_tokens"`
	Time         time.Time `json:"time"`
}

// usagePause is how long changes of usage are collected.
const usagePause = 250 * time.Millisecond

// usageEvents are the conversations whose usage may have changed.
type usageEvents struct {
	read func(conversation string) (channel.Activity, bool) // nil: nobody knows yet; set once, before the first change

	mu      sync.Mutex // guards everything below
	changed map[string]bool
	timer   *time.Timer // nil: nothing has changed
	closed  bool
	telling sync.WaitGroup
}

// Read has usage events read how full an open conversation is. It must not block, and must be
// set before anything happens.
func (e *Events) Read(read func(conversation string) (channel.Activity, bool)) { e.usage.read = read }

// changed notes that a conversation's usage may have changed. It does not look by itself: it
// may be called by the loop of the conversation.
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
		u.telling.Add(1)
		u.timer = time.AfterFunc(usagePause, e.tellUsage)
	}
}

// tellUsage publishes what has changed.
func (e *Events) tellUsage() {
	u := &e.usage
	defer u.telling.Done()
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

// Close stops usage events. It must not be called before the hub is closed.
func (e *Events) Close() {
	u := &e.usage
	u.mu.Lock()
	u.closed = true
	if u.timer != nil && u.timer.Stop() {
		u.telling.Done()
	}
	u.mu.Unlock()
	u.telling.Wait()
}
