package platform

import "sync"

// maxGeneration is the maximum number of entries in a generation.
const maxGeneration = 5000

// Cache maps strings to strings and evicts the entries that were written longest ago. It keeps two generations: once
// the young one is full it becomes the old one, and the previous old one is dropped. So the cache has at most 10 000
// entries, and always keeps the latest 5 000. The zero value is an empty cache.
type Cache struct {
	mu         sync.Mutex // guards everything below
	young, old map[string]string
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
	if value, ok = c.young[key]; !ok {
		value, ok = c.old[key]
	}
	return value, ok
}

func (c *Cache) setLocked(key, value string) {
	if c.young == nil || len(c.young) >= maxGeneration {
		c.old, c.young = c.young, make(map[string]string)
	}
	c.young[key] = value
}
