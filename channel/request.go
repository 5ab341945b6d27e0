package channel

import (
	"cmp"
	"context"

	"cairn/compactor"
)

// What people, the model and the operator request of the engine.

// compact requests a compaction, and returns how it starts, and a function that waits for its outcome.
func (c *conversation) compact(ctx context.Context, w compactor.Requested) (started compactor.Event, outcome outcomeOf, err error) {
	var p *compactor.Progress
	err = c.tryDo(func(e *compactor.Compactor) { p = e.Compact(w) })
	if err != nil {
		return started, nil, err
	}
	started, err = c.awaitEvent(ctx, func() compactor.Event { return p.Began })
	outcome = func(ctx context.Context) (compactor.Event, error) {
		return c.awaitEvent(ctx, func() compactor.Event { return p.Ended })
	}
	return started, outcome, err
}

// outcomeOf waits for the outcome of a requested compaction.
type outcomeOf = func(context.Context) (compactor.Event, error)

// awaitEvent waits until an event of a requested compaction is known.
func (c *conversation) awaitEvent(ctx context.Context, event func() compactor.Event) (compactor.Event, error) {
	known := make(chan compactor.Event, 1)
	c.inbox.post(func() {
		c.runs.waiters = append(c.runs.waiters, func() bool {
			e := event()
			if e.State != "" {
				known <- e
			}
			return e.State != "" || ctx.Err() != nil
		})
	})
	select {
	case e := <-known:
		return e, nil
	case <-ctx.Done():
		return compactor.Event{}, ctx.Err()
	case <-c.inbox.ended: // nothing changes any more
	}
	if e := event(); e.State != "" {
		return e, nil
	}
	return compactor.Event{}, ErrClosed
}

func (c *conversation) wantSession(ctx context.Context) (wanted, later bool, err error) {
	wanted, later, err = c.records.Compactions().WantSession(ctx, platformNow(c.connector))
	if err == nil && wanted {
		c.wake()
	}
	return wanted, later, err
}

// undo reverts the last compaction, then checks whether a level is reached.
func (c *conversation) undo() (event compactor.Event, err error) {
	var failed error
	err = c.tryDo(func(e *compactor.Compactor) {
		event, failed = e.Undo(c.hub.ctx)
		e.Check(c.hub.ctx)
	})
	return event, cmp.Or(err, failed)
}

// recap writes a summary for one person, which changes nothing.
func recap(ctx context.Context, c *conversation, focus string) (made compactor.Recap, err error) {
	defer c.wake() // to save the usage
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.hub.ctx, cancel)()
	var write func(context.Context) (compactor.Recap, error)
	var failed error
	err = c.tryDo(func(e *compactor.Compactor) { write, failed = e.Recap(c.hub.ctx, focus) })
	err = cmp.Or(err, failed)
	if err != nil {
		return made, err
	}
	return write(ctx)
}
