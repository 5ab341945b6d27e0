package channel

import (
	"log/slog"

	"cairn/compactor"
	"cairn/internal/observe"
	"cairn/store"
)

// What observers are notified of: turns, and applied summaries.

// The outcomes of a turn that returns without an error.
var (
	answered = slog.String("outcome", observe.Answered)
	stopped  = slog.String("outcome", observe.Stopped)
)

// observed ends the step of a turn; err is why the turn stays open, if it does.
func (c *conversation) observed(step *observe.Step, turn store.Turn, err error) {
	if step == nil {
		return
	}
	outcome := observe.Passed
	switch {
	case err != nil:
		outcome = observe.Interrupted
		step.Fail(err)
	case step.Err != nil:
		outcome = observe.Failed
	}
	if err != nil || step.Attr("outcome") == "" {
		step.Add(slog.String("outcome", outcome))
	}
	step.Add(slog.Int64("turn", turn.Seq), slog.String("agent", c.agent.ID), slog.String("model", c.agent.Model.Name()))
	if now, ok := c.activity(); ok {
		step.Add(slog.Int("used_tokens", now.Used), slog.Int("max_tokens", now.Window))
	}
	step.End()
}

// observeApplied reports applied summaries, once for all those applied in one step: as an event of
// the running turn, or otherwise as a step of its own.
func (c *conversation) observeApplied(e compactor.Event) {
	if e.State != compactor.EventApplied || len(e.Set) > 0 && e.Set[0].ID != e.ID {
		return
	}
	attrs := []slog.Attr{
		slog.String("trigger", string(e.Trigger)), slog.Int("before", e.BeforeTokens), slog.Int("after", e.AfterTokens),
		slog.Int64("id", e.ID), slog.Int("summaries", max(len(e.Set), 1)),
	}
	if turn := c.turn.Load(); turn != nil {
		turn.step.Event(observe.ContextCompaction, attrs...)
		return
	}
	_, step := observe.Begin(observe.In(c.hub.ctx, c.name), observe.Applied)
	step.Event(observe.ContextCompaction, attrs...)
	step.End()
}
