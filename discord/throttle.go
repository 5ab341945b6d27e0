// The least time between two edits in a channel.

package discord

import (
	"sync"
	"time"
)

// editEvery is the least time between two edits in one channel. Discord names no
// number; below this it begins to refuse them.
const editEvery = 1200 * time.Millisecond

// editThrottle spaces edits, by channel.
type editThrottle struct {
	interval time.Duration

	mu   sync.Mutex           // guards next
	next map[string]time.Time // when a channel may be edited again
}

func newEditThrottle() *editThrottle {
	return &editThrottle{interval: editEvery, next: make(map[string]time.Time)}
}

// wait returns how long to wait before the next edit in a channel.
func (p *editThrottle) wait(channel string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Until(p.next[channel])
}

// edited records that a streamed message was posted or edited.
func (p *editThrottle) edited(channel string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if len(p.next) > 1000 {
		for c, t := range p.next {
			if now.After(t) {
				delete(p.next, c)
			}
		}
	}
	p.next[channel] = now.Add(p.interval)
}
