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

// incoming is a message on its way to the transcript. It may be delivered several times; each
// delivery is reported to a connector that observes.
type incoming struct {
	deliveries int
	own        compactor.Patch // settings that came with it, for the turn that answers it
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
		in.deliveries++
		if m.Addressed {
			in.own = m.Compaction
		}
	}
}

// notStored forgets messages that the disk refused.
func (c *conversation) notStored(messages []Inbound) {
	for _, m := range messages {
		c.endDelivery(m.ID)
	}
}

// endDelivery removes a delivery from those to report, unless all have been reported.
func (c *conversation) endDelivery(id string) {
	in := c.arrivals.incoming[id]
	if in == nil {
		return
	}
	in.deliveries--
	if in.deliveries == 0 {
		delete(c.arrivals.incoming, id)
	}
}

// arrived handles messages that are on disk. The connector is notified of their place or, if they
// wait behind a long turn, first that they are on disk.
func (c *conversation) arrived(messages []Inbound, receipts []store.Receipt) {
	c.runs.again = true
	o, observes := c.connector.(Observer)
	for i, m := range messages {
		if m.Addressed {
			c.arrivals.awaited = m.ID
		}
		in, seq := c.arrivals.incoming[m.ID], receipts[i].Seq
		switch {
		case in == nil: // taken up already
		case seq > 0:
			c.endDelivery(m.ID)
			if observes {
				o.Accepted(c.name, m.ID, seq)
			}
		case observes:
			time.AfterFunc(ackDelay, func() { c.inbox.post(func() { c.acknowledge(o, m.ID, in) }) })
		}
	}
}

func (c *conversation) acknowledge(o Observer, id string, in *incoming) {
	if c.arrivals.incoming[id] == in {
		o.Accepted(c.name, id, 0)
	}
}

// accepted notifies the connector of the place of a message that was taken up, once for each
// delivery. It returns the settings that came with the message.
func (c *conversation) accepted(id string, seq int64) (own compactor.Patch) {
	deliveries := 1 // at least: an earlier process may have stored it
	if in := c.arrivals.incoming[id]; in != nil {
		deliveries, own = in.deliveries, in.own
		delete(c.arrivals.incoming, id)
	}
	if o, ok := c.connector.(Observer); ok {
		for range deliveries {
			o.Accepted(c.name, id, seq)
		}
	}
	return own
}
