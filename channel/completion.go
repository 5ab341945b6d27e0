package channel

import (
	"context"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"
)

// Completing: before the bot takes up messages, their connector looks up what the events left out.

const (
	completeTimeout = 20 * time.Second // for one message
	completeAtOnce  = 8                // messages
)

// complete has the connector fill in what the waiting messages lack. Each try is on disk before it is made; a message
// tried before is tried alone, so that the next start knows which one killed the process.
func (b *backfill) complete(ctx context.Context) error {
	for {
		waiting, err := b.records.Inbox().Incomplete(ctx)
		if err != nil || len(waiting) == 0 {
			return err
		}
		next := waiting[:min(len(waiting), completeAtOnce)]
		if i := slices.IndexFunc(next, func(m Inbound) bool { return m.Tries > 0 }); i >= 0 {
			next = next[:max(i, 1)]
		}
		if err := b.records.Inbox().Try(ctx, next); err != nil {
			return err
		}
		for i, m := range b.completed(ctx, next) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := b.records.Inbox().Complete(ctx, next[i], m); err != nil {
				return err
			}
		}
	}
}

// completed asks the connector about each message, several at once.
func (b *backfill) completed(ctx context.Context, messages []Inbound) []Inbound {
	done := slices.Clone(messages)
	var all errgroup.Group
	all.SetLimit(completeAtOnce)
	for i, m := range messages {
		if m.Incomplete {
			all.Go(func() error {
				done[i] = b.completeOne(ctx, m)
				return nil
			})
		}
	}
	_ = all.Wait()
	return done
}

// completeOne returns m with what the connector found out, even if it failed twice, or unchanged.
func (b *backfill) completeOne(ctx context.Context, m Inbound) Inbound {
	completer, ok := b.connector.(Completer)
	if m.Tries >= maxStarts {
		b.log.Warn("message_given_up", "reason", "each start that fetched its attachments was killed", "message", m.ID, "starts", m.Tries)
	} else if ok {
		ask := func() (full Inbound, err error) {
			err = callConnector(ctx, completeTimeout, func(ctx context.Context) (err error) {
				full, err = completer.Complete(ctx, b.name, m)
				return err
			})
			if full.ID == m.ID { // the second try asks for the rest
				m = full
			}
			return full, err
		}
		_, err := backoff.Retry(ctx, ask, backoff.WithBackOff(backoff.NewConstantBackOff(time.Second)), backoff.WithMaxTries(2))
		if err != nil && ctx.Err() == nil {
			b.log.Warn("fetch_attachments_failed", "message", m.ID, "error", err)
		}
	}
	m.Incomplete = false
	return m
}
