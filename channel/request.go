package channel

import (
	"cmp"
	"context"

	"cairn/compactor"
)

// What people, the model and the operator request of the engine.

// compact asks the engine for a compaction, and returns how it started.
func (c *conversation) compact(ctx context.Context, w compactor.Requested) (began compactor.Event, err error) {
	answer := make(chan compactor.Event, 1)
	w.Began = func(began compactor.Event) { answer <- began }
	err = c.tryDo(func(e *compactor.Compactor) { e.Compact(w) })
	if err != nil {
		return began, err
	}
	select {
	case began = <-answer:
		return began, nil
	case <-ctx.Done():
		return began, ctx.Err()
	}
}

func (c *conversation) wantSession(ctx context.Context) (wanted, later bool, err error) {
	wanted, later, err = c.records.Sessions().Request(ctx, platformNow(c.connector))
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
