// Ids that were seen, so that what Discord sends twice is done once.

package discord

import (
	"sync"
	"time"
)

const (
	onceFor = 15 * time.Minute // at least: Discord repeats an event within minutes, if at all
	ownFor  = 24 * time.Hour   // at least: people reply to what was said lately
)

// once remembers ids, so that what may come twice is done once.
type once struct {
	keep time.Duration // at least

	mu    sync.Mutex // guards everything below
	now   map[string]bool
	old   map[string]bool // of the time before since
	since time.Time
}

func newOnce(keep time.Duration) *once {
	return &once{keep: keep, now: make(map[string]bool), since: time.Now()}
}

// first tells whether id is asked about for the first time.
func (o *once) first(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Since(o.since) > o.keep {
		o.old, o.now, o.since = o.now, make(map[string]bool), time.Now()
	}
	if o.now[id] || o.old[id] {
		return false
	}
	o.now[id] = true
	return true
}

// has tells whether id is remembered.
func (o *once) has(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now[id] || o.old[id]
}
