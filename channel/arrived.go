// What a connector is notified of when messages arrive.

package channel

import (
	"time"

	"cairn/compactor"
	"cairn/store"
)

// ackDelay is how long a message may wait to be taken up before the connector is notified that it
// is on disk.
const ackDelay = time.Second

// incoming is a message on its way to the transcript.
type incoming struct {
	own   compactor.Patch // settings that came with it, for the turn that answers it
	timer *time.Timer     // notifies the connector that it is on disk; nil before it is
}

// takeIncoming removes a message from those on their way; nil if it is not one of them.
func (c *conversation) takeIncoming(id string) *incoming {
	in := c.arrivals.incoming[id]
	delete(c.arrivals.incoming, id)
	if in != nil && in.timer != nil {
		in.timer.Stop()
	}
	return in
}

// coming notes messages before they are stored: the loop's child may take them up before the loop
// handles that they arrived.
func (c *conversation) coming(messages []Inbound) {
	_, observes := c.connector.(Observer)
	for _, m := range messages {
		if !observes && len(m.Compaction) == 0 {
			continue
		}
		in := c.arrivals.incoming[m.ID]
		if in == nil {
			in = new(incoming)
			c.arrivals.incoming[m.ID] = in
		}
		if m.Addressed {
			in.own = m.Compaction
		}
	}
}

// notStored forgets messages that the disk refused.
func (c *conversation) notStored(messages []Inbound) {
	for _, m := range messages {
		c.takeIncoming(m.ID)
	}
}

// arrived handles messages that are on disk. The connector is notified of their place or, if they
// wait behind a long turn or were delivered again, first that they are on disk.
func (c *conversation) arrived(messages []Inbound, receipts []store.Receipt) {
	c.runs.again = true
	for i, m := range messages {
		if m.Addressed {
			c.arrivals.awaited = m.ID
		}
		in, receipt := c.arrivals.incoming[m.ID], receipts[i]
		if receipt.Seq > 0 {
			c.takeIncoming(m.ID)
		}
		o, observes := c.connector.(Observer)
		switch {
		case !observes || in == nil && receipt.Fresh: // it was taken up in the meantime
		case receipt.Fresh:
			in.timer = time.AfterFunc(ackDelay, func() { c.inbox.post(func() { c.acknowledge(o, m.ID, in) }) })
		default:
			o.Accepted(c.name, m.ID, receipt.Seq)
		}
	}
}

func (c *conversation) acknowledge(o Observer, id string, in *incoming) {
	if c.arrivals.incoming[id] == in {
		o.Accepted(c.name, id, 0)
	}
}

// accepted notifies the connector of the place of a message that was taken up. It returns the settings
// that came with the message.
func (c *conversation) accepted(id string, seq int64) (own compactor.Patch) {
	if in := c.takeIncoming(id); in != nil {
		own = in.own
	}
	if o, ok := c.connector.(Observer); ok {
		o.Accepted(c.name, id, seq)
	}
	return own
}
