package compactor

import (
	"context"
	"log/slog"
	"slices"

	"cairn/transcript"
)

// An emergency makes room immediately, without a model. Each step stops as soon as used is below
// goal. What it hides stays on disk and is summarized later.

// makeRoom hides content until used is below goal, in this order: it applies the oldest prepared
// summaries; hides the span that a worker is reading, then the oldest turns; and clears tool results of
// the running turn. If that is not enough it ends the contexts of earlier turns, which each new head
// ends, and hides the newest answered turns too if the request would not fit the window at all.
func (c *Compactor) makeRoom(ctx context.Context, trigger Trigger, goal int) {
	p := c.meter.policy()
	window := c.o.Window()
	before := c.view.Cost()
	for c.meter.used(c.view) >= goal && c.apply(ctx, demand{share: p.applied(emergency), crowding: true}) {
	}
	c.tokenDeficit = 0 // makeRoom makes the room that a level demanded
	if s := c.view; c.busy != nil && c.busy.row.Kind == Leaf && c.meter.used(s) >= goal {
		read := c.busy.row.Span
		s.Messages = s.Messages[:s.IndexOf(read.To+1)]
		if len(s.Messages) > 0 && s.Messages[0].Seq >= read.From { // otherwise older messages are verbatim
			c.hide(ctx, trigger, planSpan(s, s.MessageCost, tailLimits{}))
		}
	}
	if s := c.view; c.meter.used(s) >= goal {
		need := max(int(p.EmergencyFraction*float64(s.MessageCost)), c.meter.excess(s, goal)+transcript.PlaceholderCost)
		c.hide(ctx, trigger, planSpan(s, need, p.tailLimits(c.meter.budget())))
	}
	limit := c.view.Shape.ClipTo
	if c.meter.used(c.view) >= goal && c.view.Open != 0 {
		c.view.View = c.view.ClearRunning(limit)
	}
	ceiling := int(p.EmergencyThreshold * float64(window))
	for c.meter.used(c.view) >= ceiling && c.view.Open != 0 && limit > minResult {
		limit /= 2
		c.view.View = c.view.ClearRunning(limit)
	}
	if s := c.view; c.meter.used(s) >= ceiling && s.WithoutOldContexts().ContextCost() < s.ContextCost() {
		c.newHead(ctx)
	}
	if s := c.view; c.meter.used(s) > window {
		c.hide(ctx, trigger, planSpan(s, c.meter.excess(s, window)+transcript.PlaceholderCost, tailLimits{}))
	}
	used := c.meter.used(c.view)
	switch {
	case c.view.Cost() < before:
	case used < window:
		c.reports.tooLarge.End()
	case used > window && c.reports.tooLarge.Begin() == slog.LevelWarn:
		c.o.Log.Warn("request_too_large",
			"used", used, "window", window, "system_and_tools", c.meter.real(c.meter.frame()), "reserve", c.meter.reserve())
	}
}

// newHead commits a new head with the same content, which ends the contexts of earlier turns. If
// the disk refuses, they end in memory.
func (c *Compactor) newHead(ctx context.Context) {
	_, err := c.commit(ctx, func(s *transcript.State) (transcript.Change, error) { return s.EndContexts(), nil })
	c.contextsOnDisk = err != nil
	if c.contextsOnDisk {
		c.view.View = c.view.EndContexts()
	}
}

// minResult is the smallest size that a tool result is clipped to, in tokens.
const minResult = 48

// hide puts a span behind a placeholder: first its row, then the view. If the disk refuses, the
// view changes anyway and the row is written later. What is hidden in memory alone is older, so it is
// written with the row.
func (c *Compactor) hide(ctx context.Context, trigger Trigger, sp turnSpan) {
	var before view
	change, err := c.commit(ctx, func(stored *transcript.State) (none transcript.Change, err error) {
		before = c.view
		sp = sp.without(before.Head.Stack)
		if len(sp.messages) == 0 {
			return none, nil
		}
		row := Summary{Span: sp.Span, Trigger: trigger, AwaitsModel: before.addressed && c.models.has(c.o.Policy())}
		rows := append(c.view.unwritten(c.models.has(c.o.Policy())), row)
		change := stored.Truncate(rows, before.LastResult(before.stored()))
		grown := transcript.StackCost(stored.With(change).Head().Stack) - transcript.StackCost(before.Head.Stack)
		if before.HeadCost == 0 {
			grown += transcript.HeadFrame
		}
		if grown >= sp.tokens { // it would free nothing
			return none, nil
		}
		return change, nil
	})
	if change.Empty() && err == nil {
		return
	}
	used := c.meter.used(before)
	if err != nil {
		c.view.View = c.view.Hide(sp.Span) // of sp.messages some may have been deleted
		c.o.Log.Warn("save_truncation_failed", "effect", "kept in memory until the disk accepts it", "error", err)
	}
	i := slices.IndexFunc(c.view.Head.Stack, func(row Summary) bool { return row.Covers(sp.To) })
	if i < 0 { // all of it has been deleted
		return
	}
	e := c.reports.event(c.view.Head.Stack[i], EventApplied)
	e.Trigger = trigger
	e.BeforeTokens = used
	e.AfterTokens = c.meter.used(c.view)
	if e.ID != 0 {
		if err := c.o.Records.Measured(ctx, e.ID, e.BeforeTokens, e.AfterTokens); err != nil {
			c.o.Log.Warn("save_truncation_numbers_failed", "error", err)
		}
	}
	c.notify(e)
}

func (sp turnSpan) without(stack []Summary) turnSpan {
	left, covered := transcript.Uncovered(sp.messages, stack)
	if len(left) > 0 && len(left) < len(sp.messages) {
		sp.Span = Span{From: left[0].Seq, To: left[len(left)-1].Seq}
	}
	return turnSpan{sp.Span, left, sp.tokens - covered}
}

// flush writes what an emergency could only hide in memory, and the end of contexts that are still
// on disk.
func (c *Compactor) flush(ctx context.Context) {
	if c.contextsOnDisk {
		c.newHead(ctx)
	}
	if len(c.view.Hidden) == 0 {
		return
	}
	// With an error the next check tries again.
	_, _ = c.commit(ctx, func(stored *transcript.State) (none transcript.Change, err error) {
		placeholders := c.view.unwritten(c.models.has(c.o.Policy()))
		if len(placeholders) == 0 {
			return none, nil
		}
		return stored.Truncate(placeholders, 0), nil
	})
}

// clearBatch clears old tool results if that frees a quarter of the window: more often would
// invalidate the provider's prompt cache for little. What the running turn had to clear stays
// cleared.
func (c *Compactor) clearBatch(ctx context.Context) {
	want := c.meter.budget() / 4
	if c.view.ClearsTo(c.view.stored(), want) == 0 {
		return
	}
	// With an error the next check tries again.
	_, _ = c.commit(ctx, func(s *transcript.State) (transcript.Change, error) {
		return s.Clear(c.view.ClearsTo(c.view.stored(), want)), nil
	})
}
