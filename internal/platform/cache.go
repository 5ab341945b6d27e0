package platform

import (
	"sync"
	"time"
)

// generation is the maximum number of entries of a generation.
const generation = 5000

// Cache maps strings to strings and evicts the oldest entries. It keeps two generations: when the
// young one is full, or older than the cache's age, it becomes the old one, and the old one is
// dropped. So an entry is one of the newest 10 000, and lives for at most twice the age.
type Cache struct {
	age time.Duration

	mu         sync.Mutex // guards everything below
	young, old map[string]string
	since      time.Time // of young
}

// NewCache returns an empty cache. Age 0: entries do not expire.
func NewCache(age time.Duration) *Cache {
	return &Cache{age: age, young: make(map[string]string), since: time.Now()}
}

// First stores value for key unless key has one. It returns the value of key, and whether key
// already had it.
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

// Seen stores key and reports whether it was stored before.
func (c *Cache) Seen(key string) bool {
	_, before := c.First(key, "")
	return before
}

// Set stores value for key.
func (c *Cache) Set(key, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setLocked(key, value)
}

// Find returns the value of key.
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

func (c *Cache) setLocked(key, value string) {
	if len(c.young) >= generation || c.age > 0 && time.Since(c.since) > c.age {
		c.old, c.young, c.since = c.young, make(map[string]string), time.Now()
	}
	c.young[key] = value
}
