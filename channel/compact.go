package channel

import (
	"cmp"
	"context"
	"log/slog"

	"cairn/compactor"
	"cairn/internal/observe"
)

// What people, the model and the operator request of the engine.

// compact asks the engine for a compaction, and returns how it started.
func (l *loop) compact(ctx context.Context, w compactor.Requested) (began compactor.Event, err error) {
	answer := make(chan compactor.Event, 1)
	w.Began = func(began compactor.Event) { answer <- began }
	err = l.tryDo(func(e *compactor.Compactor) { e.Compact(w) })
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
	wanted, later, err = c.records.Compactions().WantSession(ctx, platformNow(c.connector))
	if err == nil && wanted {
		c.wake()
	}
	return wanted, later, err
}

// undo reverts the last compaction, then checks whether a level is reached.
func (l *loop) undo() (event compactor.Event, err error) {
	var failed error
	err = l.tryDo(func(e *compactor.Compactor) {
		event, failed = e.Undo(l.life)
		e.Check(l.life)
	})
	return event, cmp.Or(err, failed)
}

// recap writes a summary for one person, which changes nothing.
func (l *loop) recap(ctx context.Context, focus string) (made compactor.Recap, err error) {
	defer l.wake() // to save the usage
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.life, cancel)()
	var write func(context.Context) (compactor.Recap, error)
	var failed error
	err = l.tryDo(func(e *compactor.Compactor) { write, failed = e.Recap(l.life, focus) })
	err = cmp.Or(err, failed)
	if err != nil {
		return made, err
	}
	return write(ctx)
}

// rewrite replaces a line of a summary, see compactor.RewriteLine.
func (l *loop) rewrite(summary int64, line int, text string, by compactor.Writer) (event compactor.Event, err error) {
	var failed error
	err = l.tryDo(func(e *compactor.Compactor) {
		event, failed = compactor.RewriteLine(l.life, e, summary, line, text, by)
		e.Check(l.life)
	})
	return event, cmp.Or(err, failed)
}

// happened reports a step of a compaction; notify is what people want to see. It must not block.
func (c *conversation) happened(e compactor.Event, notify string) {
	c.publish(c.engine)
	if e.State == compactor.EventPrepared || e.State == compactor.EventFailed {
		c.wake() // to save the usage
	}
	if c.followers.observer == nil && notify != compactor.NotifyOff && e.State == compactor.EventApplied && e.ID != 0 &&
		e.Kind != compactor.Rollup && e.Trigger != compactor.OnRepair {
		c.unannounced = &e
		c.wake()
	}
	c.observeApplied(observe.In(c.life, c.name), e)
	c.followers.compaction(e)
}

// observeApplied reports what was applied in one step: as an event of the running turn, or a step of its own.
func (p *published) observeApplied(ctx context.Context, e compactor.Event) {
	if e.State != compactor.EventApplied || len(e.Set) > 0 && e.Set[0].ID != e.ID {
		return
	}
	var step *observe.Step
	if turn := p.turn.Load(); turn != nil {
		step = turn.step
	} else {
		_, step = observe.Begin(ctx, observe.Applied)
		defer step.End()
	}
	step.Event(observe.ContextCompaction,
		slog.String("trigger", string(e.Trigger)), slog.Int("before", e.BeforeTokens), slog.Int("after", e.AfterTokens),
		slog.Int64("id", e.ID), slog.Int("summaries", max(len(e.Set), 1)))
}
