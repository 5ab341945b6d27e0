// What a connector is notified of when messages arrive.

package channel

import (
	"time"

	"cairn/store"
)

// ackDelay is how long a message may wait to be taken up before the connector is notified that it
// is on disk.
const ackDelay = time.Second

// ack is a message whose place the connector does not know yet. A message may be delivered several
// times; each delivery is reported.
type ack struct {
	deliveries int
	timers     []*time.Timer // of the deliveries that are on disk
}

// coming notes messages before they are stored: the loop's child may take them up before the loop
// handles that they arrived.
func (c *conversation) coming(messages []Inbound) {
	if _, ok := c.connector.(Observer); !ok {
		return
	}
	for _, m := range messages {
		if c.arrivals.acks[m.ID] == nil {
			c.arrivals.acks[m.ID] = new(ack)
		}
		c.arrivals.acks[m.ID].deliveries++
	}
}

// notStored forgets messages that the disk refused.
func (c *conversation) notStored(messages []Inbound) {
	c.dropSettings(messages, nil)
	for _, m := range messages {
		c.endDelivery(m.ID)
	}
}

// endDelivery removes a delivery from those to report, unless all have been reported.
func (c *conversation) endDelivery(id string) {
	a := c.arrivals.acks[id]
	if a == nil {
		return
	}
	a.deliveries--
	if a.deliveries == 0 {
		c.takeAck(id)
	}
}

// takeAck removes a message's ack; nil if it has none.
func (c *conversation) takeAck(id string) *ack {
	a := c.arrivals.acks[id]
	if a != nil {
		delete(c.arrivals.acks, id)
		for _, timer := range a.timers {
			timer.Stop()
		}
	}
	return a
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
		a := c.arrivals.acks[m.ID]
		if a == nil { // reported already, or the connector does not observe
			continue
		}
		o := c.connector.(Observer)
		if seq := receipts[i].Seq; seq > 0 {
			c.endDelivery(m.ID)
			o.Accepted(c.name, m.ID, seq)
			continue
		}
		a.timers = append(a.timers, time.AfterFunc(ackDelay, func() { c.inbox.post(func() { c.acknowledge(o, m.ID, a) }) }))
	}
}

func (c *conversation) acknowledge(o Observer, id string, a *ack) {
	if c.arrivals.acks[id] == a {
		o.Accepted(c.name, id, 0)
	}
}

// accepted notifies the connector of the place of a message that was taken up, once for each
// delivery.
func (c *conversation) accepted(id string, seq int64) {
	deliveries := 1 // at least: an earlier process may have stored it
	if a := c.takeAck(id); a != nil {
		deliveries = a.deliveries
	}
	if o, ok := c.connector.(Observer); ok {
		for range deliveries {
			o.Accepted(c.name, id, seq)
		}
	}
}
