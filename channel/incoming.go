package channel

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"cairn/compactor"
	"cairn/store"

	"golang.org/x/sync/errgroup"
)

// What a connector is notified of when messages arrive.

// ackDelay is how long a message may wait to be taken up before the connector hears that it is on disk.
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

// coming notes messages before they are stored: the child may take them up before the loop hears of them.
func (c *conversation) coming(messages []Inbound) {
	_, observes := c.connector.(Observer)
	for _, m := range messages {
		if !observes && len(m.Compaction) == 0 {
			continue
		}
		in := cmp.Or(c.arrivals.incoming[m.ID], new(incoming))
		if c.arrivals.incoming[m.ID] = in; m.Addressed {
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
			in.timer = time.AfterFunc(ackDelay, func() {
				c.inbox.post(func() {
					if c.arrivals.incoming[m.ID] == in {
						o.Accepted(c.name, m.ID, 0)
					}
				})
			})
		default:
			o.Accepted(c.name, m.ID, receipt.Seq)
		}
	}
}

// accepted notifies the connector of a message's place, and returns the settings that came with it.
func (c *conversation) accepted(id string, seq int64) (own compactor.Patch) {
	if in := c.takeIncoming(id); in != nil {
		own = in.own
	}
	if o, ok := c.connector.(Observer); ok {
		o.Accepted(c.name, id, seq)
	}
	return own
}

// Completing: before the bot takes up messages, their connector looks up what the events left out.

const (
	completeTimeout = 20 * time.Second // for one message
	completeAtOnce  = 8                // messages
	completeStarts  = 2                // then the bot gives up on a message: its content may kill the process
)

// complete has the connector fill in what the waiting messages lack. Each try is on disk before it
// is made. A message that was tried before is tried alone, so that the next start knows which one
// killed the process.
func (c *conversation) complete(ctx context.Context) error {
	for {
		waiting, err := c.records.Inbox().Incomplete(ctx)
		if err != nil || len(waiting) == 0 {
			return err
		}
		next := waiting[:min(len(waiting), completeAtOnce)]
		if i := slices.IndexFunc(next, func(m Inbound) bool { return m.Tries > 0 }); i >= 0 {
			next = next[:max(i, 1)]
		}
		if err := c.records.Inbox().Try(ctx, next); err != nil {
			return err
		}
		for i, m := range c.completed(ctx, next) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := c.records.Inbox().Complete(ctx, next[i], m); err != nil {
				return err
			}
		}
	}
}

// completed asks the connector about each message, several at once.
func (c *conversation) completed(ctx context.Context, messages []Inbound) []Inbound {
	done := slices.Clone(messages)
	var all errgroup.Group
	all.SetLimit(completeAtOnce)
	for i, m := range messages {
		if m.Incomplete {
			all.Go(func() error {
				done[i] = c.completeOne(ctx, m)
				return nil
			})
		}
	}
	_ = all.Wait()
	return done
}

func (c *conversation) completeOne(ctx context.Context, m Inbound) Inbound {
	if m.Tries >= completeStarts {
		c.log.Warn("message_given_up", "reason", "each start that fetched its attachments was killed", "message", m.ID, "starts", m.Tries)
		m.Incomplete = false
		return m
	}
	full, err := c.ask(ctx, m)
	if err != nil {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return m
		}
		full, err = c.ask(ctx, m)
	}
	if full.ID == m.ID { // what the connector found out, even with an error
		m = full
	}
	if err != nil && ctx.Err() == nil {
		c.log.Warn("fetch_attachments_failed", "message", m.ID, "error", err)
	}
	m.Incomplete = false
	return m
}

func (c *conversation) ask(ctx context.Context, m Inbound) (full Inbound, err error) {
	completer, ok := c.connector.(Completer)
	if !ok {
		return m, nil // unchanged: no one knows more
	}
	defer recoverConnector(&err)
	ctx, cancel := context.WithTimeout(ctx, completeTimeout)
	defer cancel()
	return completer.Complete(ctx, c.name, m)
}

// recoverConnector converts a panic of the connector into an error.
func recoverConnector(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the connector panicked: %v\n%s", p, debug.Stack())
	}
}
