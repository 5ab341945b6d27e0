// Completing: before the bot takes up messages, their connector looks up what the events left out.

package channel

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

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
			full, err = c.ask(ctx, m)
		case <-ctx.Done():
			return m
		}
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
