// A small memory for what may be forgotten.

package slack

import (
	"sync"
	"time"
)

// known is a small memory: it keeps at least the newest thousands of what it was told,
// but what is older than age for at most twice that long.
type known struct {
	age time.Duration // 0: as long as there is room

	mu         sync.Mutex // guards everything below
	young, old map[string]string
	since      time.Time // of young
}

const mostKnown = 5000

func newKnown(age time.Duration) *known {
	return &known{age: age, young: make(map[string]string), since: time.Now()}
}

// first notes value for key, unless there is one, and returns the one that holds
// and whether it was there before.
func (k *known) first(key, value string) (held string, before bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	held, before = k.findLocked(key)
	if !before {
		held = value
	}
	k.setLocked(key, held)
	return held, before
}

// set notes value for key.
func (k *known) set(key, value string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.setLocked(key, value)
}

// find returns what was noted for key.
func (k *known) find(key string) (value string, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.findLocked(key)
}

func (k *known) findLocked(key string) (value string, ok bool) {
	if value, ok = k.young[key]; !ok {
		value, ok = k.old[key]
	}
	return value, ok
}

// setLocked keeps two generations: when the young one is full, or old, it takes the
// place of the old one.
func (k *known) setLocked(key, value string) {
	if len(k.young) >= mostKnown || k.age > 0 && time.Since(k.since) > k.age {
		k.old, k.young, k.since = k.young, make(map[string]string), time.Now()
	}
	k.young[key] = value
}
