package platform

import (
	"sync"
	"time"
)

// maxGeneration is the maximum number of entries in a generation.
const maxGeneration = 5000

// Cache maps strings to strings and evicts the entries that were written longest ago. It keeps two
// generations: once the young one is full, or older than the cache's age, it becomes the old one, and
// the previous old one is dropped. So the cache has at most 10 000 entries, always keeps the latest
// 5 000 unless they expire, and an entry expires between once and twice the age after it was written.
type Cache struct {
	age time.Duration

	mu         sync.Mutex // guards everything below
	young, old map[string]string
	since      time.Time // when young was created
}

// NewCache returns an empty cache. With age 0, entries do not expire.
func NewCache(age time.Duration) *Cache {
	return &Cache{age: age, young: make(map[string]string), since: time.Now()}
}

// First stores value for key unless key already has one. It returns the value that key now has, and
// whether it existed before. A key that existed counts as written again.
func (c *Cache) First(key, value string) (stored string, existed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stored, existed = c.findLocked(key)
	if !existed {
		stored = value
	}
	c.setLocked(key, stored)
	return stored, existed
}

// Seen stores key and reports whether it was already stored.
func (c *Cache) Seen(key string) bool {
	_, existed := c.First(key, "")
	return existed
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
	c.expireLocked()
	if value, ok = c.young[key]; !ok {
		value, ok = c.old[key]
	}
	return value, ok
}

func (c *Cache) setLocked(key, value string) {
	if c.expireLocked(); len(c.young) >= maxGeneration {
		c.rotateLocked()
	}
	c.young[key] = value
}

func (c *Cache) expireLocked() {
	passed := time.Since(c.since)
	if c.age == 0 || passed <= c.age {
		return
	}
	if c.rotateLocked(); passed > 2*c.age {
		c.old = nil
	}
}

func (c *Cache) rotateLocked() {
	c.old, c.young, c.since = c.young, make(map[string]string), time.Now()
}
