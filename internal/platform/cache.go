package platform

import (
	"sync"
	"time"
)

// mostCached is how many entries a cache keeps at least, if it is told of as many.
const mostCached = 5000

// Cache keeps at least the newest thousands of what it was told, but what is older than its age
// for at most twice that long.
type Cache struct {
	age time.Duration

	mu         sync.Mutex // guards everything below
	young, old map[string]string
	since      time.Time // of young
}

// NewCache returns an empty cache. Age 0: entries stay as long as there is room.
func NewCache(age time.Duration) *Cache {
	return &Cache{age: age, young: make(map[string]string), since: time.Now()}
}

// First notes value for key, unless there is one, and returns the one that holds and whether
// it was there before.
func (c *Cache) First(key, value string) (held string, before bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held, before = c.findLocked(key)
	if !before {
		held = value
	}
	c.setLocked(key, held)
	return held, before
}

// Seen notes key and tells whether it was there before.
func (c *Cache) Seen(key string) bool {
	_, before := c.First(key, "")
	return before
}

// Set notes value for key.
func (c *Cache) Set(key, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setLocked(key, value)
}

// Find returns what was noted for key.
func (c *Cache) Find(key string) (value string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.findLocked(key)
}

func (c *Cache) findLocked(key string) (value string, ok bool) {
	if value, ok = c.young[key]; !ok {
		value, ok = c.old[key]
	}
	return value, ok
}

// setLocked keeps two generations: when the young one is full, or old, it takes the place of
// the old one.
func (c *Cache) setLocked(key, value string) {
	if len(c.young) >= mostCached || c.age > 0 && time.Since(c.since) > c.age {
		c.old, c.young, c.since = c.young, make(map[string]string), time.Now()
	}
	c.young[key] = value
}
