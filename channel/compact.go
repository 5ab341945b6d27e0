package channel

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"cairn/compactor"
	"cairn/internal/observe"
)

// What people, the model and the operator request of the engine.

// compact requests a compaction, and returns how it starts, and a function that waits for its outcome.
func (l *loop) compact(ctx context.Context, w compactor.Requested) (started compactor.Event, outcome outcomeOf, err error) {
	var engine *compactor.Compactor
	var p *compactor.Progress
	err = l.tryDo(func(e *compactor.Compactor) {
		engine = e
		p = e.Compact(w)
	})
	if err != nil {
		return started, nil, err
	}
	started, err = l.awaitEvent(ctx, engine, func() compactor.Event { return p.Began })
	outcome = func(ctx context.Context) (compactor.Event, error) {
		return l.awaitEvent(ctx, engine, func() compactor.Event { return p.Ended })
	}
	return started, outcome, err
}

// outcomeOf waits for the outcome of a requested compaction.
type outcomeOf = func(context.Context) (compactor.Event, error)

// awaitEvent waits until an event of a compaction that was requested of an engine is known. errPanicked: the engine was discarded
// before that.
func (l *loop) awaitEvent(ctx context.Context, engine *compactor.Compactor, event func() compactor.Event) (compactor.Event, error) {
	err := l.until(ctx, func() (bool, error) {
		known := event().State != ""
		if !known && (l.engine != engine || l.runs.broken) {
			return false, errPanicked
		}
		return known, nil
	})
	if err != nil && !errors.Is(err, ErrClosed) {
		return compactor.Event{}, err
	}
	e := event() // nothing changes it any more
	if e.State != "" {
		err = nil
	}
	return e, err
}

func (c *conversation) wantSession(ctx context.Context) (wanted, later bool, err error) {
	wanted, later, err = c.records.Sessions().Request(ctx, platformNow(c.connector))
	if err == nil && wanted {
		c.wake()
	}
	return wanted, later, err
}

// undo reverts the last compaction, see compactor.Undo for only, then checks whether a level is reached.
func (l *loop) undo(only int64) (event compactor.Event, err error) {
	var failed error
	err = l.tryDo(func(e *compactor.Compactor) {
		event, failed = e.Undo(l.life, only)
		e.Check(l.life)
	})
	return event, cmp.Or(err, failed)
}

// recap writes a summary for one person, which changes nothing.
func (l *loop) recap(ctx context.Context, focus string, from int64) (made compactor.Recap, err error) {
	defer l.wake() // to save the usage
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.life, cancel)()
	var write func(context.Context) (compactor.Recap, error)
	var failed error
	err = l.tryDo(func(e *compactor.Compactor) { write, failed = e.Recap(l.life, focus, from) })
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

// attend passes on what has happened in the engine, and starts the slow work that has become due. It follows each use of the
// engine.
func (c *conversation) attend() {
	e := c.engine
	if e == nil || c.runs.broken {
		return
	}
	if events := e.Events(); len(events) > 0 {
		c.publish(e)
		for _, event := range events {
			c.happened(event)
		}
	}
	for _, work := range e.Work() {
		c.runs.slow++
		go func() {
			r := work.Run()
			c.inbox.post(func() { c.compacted(e, r) })
		}()
	}
}

// compacted passes the result of slow work to the engine that it belongs to, unless that was discarded meanwhile.
func (c *conversation) compacted(e *compactor.Compactor, r compactor.Result) {
	c.runs.slow--
	for _, m := range r.Saved {
		c.remembered(m.ID, m.Kind, m.Content)
	}
	if c.engine == e && !c.runs.broken {
		e.Done(r)
	}
}

// happened reports a step of a compaction. It must not block.
func (c *conversation) happened(e compactor.Event) {
	worked := e.State == compactor.EventPrepared || e.State == compactor.EventFailed || e.State == compactor.EventNoop && e.ID != 0
	if worked {
		c.wake() // to save the usage
	}
	if c.observer() == nil && c.policy.get().Notify != compactor.NotifyOff && e.State == compactor.EventApplied && e.ID != 0 &&
		e.Kind != compactor.Rollup && e.Trigger != compactor.OnRepair {
		c.unannounced = &e
		c.wake()
	}
	c.observeApplied(observe.In(c.life, c.name), e)
	if observer := c.observer(); observer != nil {
		observer.Compaction(c.name, e)
	}
	if hook := c.o.After; hook != nil {
		hook(c.name, e)
	}
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
