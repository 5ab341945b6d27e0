package channel

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"cairn/compactor"
	"cairn/store"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"
)

// coming notes messages before they are stored: the child may take them up before the loop hears of them.
func (c *conversation) coming(messages []Inbound) {
	_, observes := c.connector.(Observer)
	for _, m := range messages {
		if observes || len(m.Compaction) > 0 {
			c.arrivals.incoming[m.ID] = m.Compaction
		}
	}
}

// arrived handles messages that are on disk, or failed. The connector is notified of their place or, if they
// wait behind a long turn or were delivered again, first that they are on disk.
func (c *conversation) arrived(messages []Inbound, receipts []store.Receipt, failed error) {
	for i, m := range messages {
		if failed != nil || receipts[i].Seq > 0 {
			delete(c.arrivals.incoming, m.ID)
		}
	}
	if failed != nil {
		return
	}
	c.runs.again = true
	o, observes := c.connector.(Observer)
	for i, m := range messages {
		if receipts[i].Addressed {
			c.arrivals.awaited = m.ID
			c.arrivals.ask()
		}
		waits := func() bool { _, waits := c.arrivals.incoming[m.ID]; return waits }
		switch receipt := receipts[i]; {
		case !observes || receipt.Fresh && !waits(): // it was taken up in the meantime
		case receipt.Fresh:
			time.AfterFunc(ackDelay, func() {
				c.inbox.post(func() {
					if waits() {
						o.Accepted(c.name, m.ID, 0)
					}
				})
			})
		default:
			o.Accepted(c.name, m.ID, receipt.Seq)
		}
	}
}

// ask closes asked.
func (a *arrival) ask() {
	select {
	case <-a.asked:
	default:
		close(a.asked)
	}
}

// answered records that the message awaited, and all before it, need not wait any more. Only the loop calls it.
func (a *arrival) answered(awaited string) {
	if a.awaited == awaited {
		a.awaited = ""
		a.asked = make(chan struct{})
	}
}

type awaitedKey struct{}

// withAwaited returns a context for calls of the connector, see Awaited. asked: a message waits for an answer already.
func (c *conversation) withAwaited(ctx context.Context, asked bool) context.Context {
	return context.WithValue(ctx, awaitedKey{}, ask(c, func(*compactor.Compactor) chan struct{} {
		if asked {
			c.arrivals.ask()
		}
		return c.arrivals.asked
	}))
}

// accepted notifies the connector of a message's place, and returns the settings that came with it.
func (c *conversation) accepted(id string, seq int64) (own compactor.Patch) {
	own = c.arrivals.incoming[id]
	delete(c.arrivals.incoming, id)
	if o, ok := c.connector.(Observer); ok {
		o.Accepted(c.name, id, seq)
	}
	return own
}

// Completing: before the bot takes up messages, their connector looks up what the events left out.

const (
	ackDelay        = time.Second      // how long a message may wait to be taken up before the connector hears that it is on disk
	completeTimeout = 20 * time.Second // for one message
	completeAtOnce  = 8                // messages
)

// complete has the connector fill in what the waiting messages lack. Each try is on disk before it is made; a message
// tried before is tried alone, so that the next start knows which one killed the process.
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

// completeOne returns m with what the connector found out, even if it failed twice, or unchanged.
func (c *conversation) completeOne(ctx context.Context, m Inbound) Inbound {
	completer, ok := c.connector.(Completer)
	if m.Tries >= maxStarts {
		c.log.Warn("message_given_up", "reason", "each start that fetched its attachments was killed", "message", m.ID, "starts", m.Tries)
	} else if ok {
		ask := func() (Inbound, error) {
			return callConnector(ctx, completeTimeout, func(ctx context.Context) (Inbound, error) {
				return completer.Complete(ctx, c.name, m)
			})
		}
		full, err := backoff.Retry(ctx, ask, backoff.WithBackOff(backoff.NewConstantBackOff(time.Second)), backoff.WithMaxTries(2))
		if full.ID == m.ID {
			m = full
		}
		if err != nil && ctx.Err() == nil {
			c.log.Warn("fetch_attachments_failed", "message", m.ID, "error", err)
		}
	}
	m.Incomplete = false
	return m
}

// callConnector calls a function of the connector that asks the platform.
func callConnector[T any](ctx context.Context, limit time.Duration, f func(context.Context) (T, error)) (v T, err error) {
	defer recoverConnector(&err)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f(ctx)
}

// recoverConnector converts a panic of the connector into an error.
func recoverConnector(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the connector panicked: %v\n%s", p, debug.Stack())
	}
}
