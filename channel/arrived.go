// What a connector is notified of when messages arrive.

package channel

import (
	"time"

	"cairn/store"
)

// ackDelay is how long a message may wait to be taken up before the connector is notified that it
// is on disk.
const ackDelay = time.Second

// coming notes messages before they are stored: the loop's child may take them up before the loop
// handles that they arrived.
func (c *conversation) coming(messages []Inbound) {
	if _, ok := c.connector.(Observer); !ok {
		return
	}
	for _, m := range messages {
		if !c.arrivals.storing[m.ID] {
			c.arrivals.storing[m.ID] = false
		}
	}
}

// notStored forgets messages that the disk refused.
func (c *conversation) notStored(messages []Inbound) {
	c.dropSettings(messages, nil)
	for _, m := range messages {
		delete(c.arrivals.storing, m.ID)
	}
}

// arrived handles messages that are on disk. The connector is notified of their place or, if they
// wait behind a long turn, first that they are on disk.
func (c *conversation) arrived(messages []Inbound, receipts []store.Receipt) {
	c.runs.again = true
	c.dropSettings(messages, receipts)
	for i, m := range messages {
		if m.Addressed {
			c.arrivals.awaited = m.ID
		}
		placed := c.arrivals.storing[m.ID]
		delete(c.arrivals.storing, m.ID)
		if receipts[i].Seq > 0 {
			c.accepted(m.ID, receipts[i].Seq)
			continue
		}
		if o, ok := c.connector.(Observer); ok && !placed && c.arrivals.acks[m.ID] == nil {
			c.arrivals.acks[m.ID] = time.AfterFunc(ackDelay, func() { c.inbox.post(func() { c.acknowledge(o, m.ID) }) })
		}
	}
}

func (c *conversation) acknowledge(o Observer, id string) {
	if c.arrivals.acks[id] != nil {
		o.Accepted(c.name, id, 0)
	}
}

// accepted notifies the connector of a message's place.
func (c *conversation) accepted(id string, seq int64) {
	if timer := c.arrivals.acks[id]; timer != nil {
		timer.Stop()
		delete(c.arrivals.acks, id)
	}
	if _, ok := c.arrivals.storing[id]; ok {
		c.arrivals.storing[id] = true
	}
	if o, ok := c.connector.(Observer); ok {
		o.Accepted(c.name, id, seq)
	}
}
