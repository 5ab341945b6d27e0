package channel

import (
	"time"

	"cairn/memory"
)

// What a connector is told of its conversations.

// acceptWithin is how long a message may wait to be taken up until the connector is told
// that it is on disk, at least.
const acceptWithin = time.Second

// acceptSoon sees to it that the connector is not left without a word about a message
// that waits behind a long turn.
func (c *conversation) acceptSoon(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ackTimers[id] == nil && !c.left {
		c.ackTimers[id] = time.AfterFunc(acceptWithin, func() { c.tell(id, 0) })
	}
}

// delivered sees to a message that is on disk: the owner takes it up, and the connector
// is told.
func (c *conversation) delivered(id string, r memory.Receipt) {
	if r.Seq > 0 {
		c.accepted(id, r.Seq)
		return
	}
	if _, ok := c.connector.(Observer); ok {
		c.acceptSoon(id)
	}
	c.wake()
}

// accepted tells the connector a message's place.
func (c *conversation) accepted(id string, seq int64) {
	c.mu.Lock()
	if timer := c.ackTimers[id]; timer != nil {
		timer.Stop()
		delete(c.ackTimers, id)
	}
	c.mu.Unlock()
	c.tell(id, seq)
}

func (c *conversation) tell(id string, seq int64) {
	if o, ok := c.connector.(Observer); ok {
		o.Accepted(c.name, id, seq)
	}
}

func (c *conversation) remembered(id int64, kind, content string) {
	if o, ok := c.connector.(Observer); ok {
		o.Remembered(c.name, id, kind, content)
	}
}
