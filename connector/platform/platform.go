// Package platform contains what the connectors to chat platforms share: connections, goroutines and queues, commands, streams
// of replies, their splitting and Markdown, the form of apps' messages, retries with backoff, log incidents, a small cache, and
// attached files.
package platform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"cairn/channel"
)

// Sleep waits for d. It returns ctx's error if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Backoff computes pauses that double from First up to Max, each shortened at random by up to half.
type Backoff struct {
	First, Max time.Duration

	next time.Duration
}

// Next returns the next pause.
func (b *Backoff) Next() time.Duration {
	pause := min(max(b.next, b.First), b.Max)
	b.next = 2 * pause
	return pause/2 + rand.N(pause/2+1)
}

// Reset restarts the sequence at First.
func (b *Backoff) Reset() { b.next = 0 }

// Retry calls try until it returns true or ctx ends.
func Retry(ctx context.Context, b Backoff, try func() (done bool)) {
	for ctx.Err() == nil && !try() {
		_ = Sleep(ctx, b.Next()) // its error ends the loop
	}
}

// Decode is like json.Unmarshal, but ignores fields of an unexpected type.
func Decode(data []byte, into any) error {
	err := json.Unmarshal(data, into)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil
	}
	return err
}

const maxGeneration = 5000 // entries

// Cache evicts the entries that were written longest ago: once the young generation is full it becomes the old one, which is
// dropped. So it has at most 10 000 entries, and always the latest 5 000. The zero value is an empty cache.
type Cache struct {
	mu         sync.Mutex // guards everything below
	young, old map[string]string
}

// First stores value for key unless it has one. It returns its value now, and whether it existed. Either way it was just written.
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
	value, ok = c.young[key]
	if !ok {
		value, ok = c.old[key]
	}
	return value, ok
}

func (c *Cache) setLocked(key, value string) {
	if c.young == nil || len(c.young) >= maxGeneration {
		c.old = c.young
		c.young = make(map[string]string)
	}
	c.young[key] = value
}

// Quote returns the author and the beginning of the message that another one replies to:
// `Ada: "shall we…"`. Without a text it names file, the message's first, if there is one.
func Quote(author, text, file string) string {
	text = Short(strings.Join(strings.Fields(text), " "), channel.MaxQuote)
	switch {
	case text != "":
		return fmt.Sprintf("%s: %q", author, text)
	case file != "":
		return fmt.Sprintf("%s: [%s]", author, file)
	}
	return author
}

// Short truncates a text to at most limit characters, including the ellipsis that marks the cut.
func Short(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit-1]) + "…"
}
