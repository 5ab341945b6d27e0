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
	p := c.policy()
	window := c.o.Window()
	before := c.h.cost()
	for c.used(c.h.view) >= goal && c.apply(ctx, demand{share: p.applied(emergency), crowding: true}) {
	}
	c.tokenDeficit = 0 // makeRoom makes the room that a level demanded
	if s := c.h.view; c.busy != nil && c.busy.row.Kind == Leaf && c.used(s) >= goal {
		read := c.busy.row.Span
		s.lines = s.lines[:s.indexOf(read.To+1)]
		if len(s.lines) > 0 && s.lines[0].Seq >= read.From { // otherwise older messages are verbatim
			c.hide(ctx, trigger, planSpan(s, s.lineCost, tailLimits{}))
		}
	}
	if s := c.h.view; c.used(s) >= goal {
		need := max(int(p.EmergencyFraction*float64(s.lineCost)), c.excess(s, goal)+placeholderCost)
		c.hide(ctx, trigger, planSpan(s, need, p.tailLimits(c.budget())))
	}
	limit := c.h.shape.clipTo
	if c.used(c.h.view) >= goal && c.h.open != 0 {
		c.h.clearRunning(limit)
	}
	ceiling := int(p.EmergencyThreshold * float64(window))
	for c.used(c.h.view) >= ceiling && c.h.open != 0 && limit > minResult {
		limit /= 2
		c.h.clearRunning(limit)
	}
	if s := c.h.view; c.used(s) >= ceiling && len(s.withNewHead().contexts) < len(s.contexts) {
		c.newHead(ctx)
	}
	if s := c.h.view; c.used(s) > window {
		c.hide(ctx, trigger, planSpan(s, c.excess(s, window)+placeholderCost, tailLimits{}))
	}
	used := c.used(c.h.view)
	switch {
	case c.h.cost() < before:
	case used < window:
		c.reports.tooLarge.End()
	case used > window && c.reports.tooLarge.Begin() == slog.LevelWarn:
		c.o.Log.Warn("request_too_large",
			"used", used, "window", window, "system_and_tools", c.real(c.frame()), "reserve", c.reserve())
	}
}

// newHead commits a new head with the same content, which ends the contexts of earlier turns. If
// the disk refuses, they end in memory.
func (c *Compactor) newHead(ctx context.Context) {
	_, err := c.commit(ctx, func(s *transcript.State) (transcript.Change, error) { return s.EndContexts(), nil })
	c.h.contextsOnDisk = err != nil
	if c.h.contextsOnDisk {
		c.h.view = c.h.withNewHead()
		c.h.changed()
	}
}

const (
	placeholderCost = 24 // a placeholder's line, in tokens
	minResult       = 48 // smallest size a tool result is clipped to, in tokens
)

// hide puts a span behind a placeholder: first its row, then the view. If the disk refuses, the
// view changes anyway and the row is written later. What is hidden in memory alone is older, so it is
// written with the row.
func (c *Compactor) hide(ctx context.Context, trigger Trigger, sp lineSpan) {
	var before view
	change, err := c.commit(ctx, func(stored *transcript.State) (none transcript.Change, err error) {
		before = c.h.view
		sp = sp.without(before.head.Stack)
		if len(sp.lines) == 0 {
			return none, nil
		}
		row := Summary{Span: sp.Span, Trigger: trigger, AwaitsModel: before.addressed && c.hasModel(c.o.Policy())}
		rows := append(c.unwritten(), row)
		change := stored.Truncate(rows, lastResult(before.lines, before.stored))
		grown := stackCost(stored.With(change).Head().Stack) - stackCost(before.head.Stack)
		if before.headCost == 0 {
			grown += headFrame
		}
		if grown >= sp.tokens { // it would free nothing
			return none, nil
		}
		return change, nil
	})
	if change.Empty() && err == nil {
		return
	}
	used := c.used(before)
	if err != nil {
		c.h.hide(c.h.lines[c.h.indexOf(sp.From):c.h.indexOf(sp.To+1)]) // of sp.lines some may have been deleted
		c.o.Log.Warn("save_truncation_failed", "effect", "kept in memory until the disk accepts it", "error", err)
	}
	i := slices.IndexFunc(c.h.head.Stack, func(row Summary) bool { return row.Covers(sp.To) })
	if i < 0 { // all of it has been deleted
		return
	}
	e := c.event(c.h.head.Stack[i], EventApplied)
	e.Trigger = trigger
	e.BeforeTokens = used
	e.AfterTokens = c.used(c.h.view)
	if e.ID != 0 {
		if err := c.o.Records.Measured(ctx, e.ID, e.BeforeTokens, e.AfterTokens); err != nil {
			c.o.Log.Warn("save_truncation_numbers_failed", "error", err)
		}
	}
	c.notify(e)
}

func (sp lineSpan) without(stack []Summary) lineSpan {
	cut := cutOf(sp.lines, stack)
	left := cut.of(sp.lines)
	if len(left) > 0 && len(left) < len(sp.lines) {
		sp.Span = Span{From: left[0].Seq, To: left[len(left)-1].Seq}
	}
	return lineSpan{sp.Span, left, sp.tokens - cut.tokens}
}

// hide covers lines in memory alone, because the disk refuses to write the placeholder.
func (h *History) hide(lines []line) {
	h.hidden = slices.Concat(h.hidden, lines)
	h.head.Stack = withHidden(h.head.Stack, h.hidden) // adjacent runs become one placeholder
	h.newHead()
}

// withHidden returns stack with a placeholder over each run of the lines, which are not on disk.
func withHidden(stack []Summary, lines []line) []Summary {
	stack = slices.Clone(stack)
	for i := 0; i < len(lines); {
		row := Summary{
			Kind: Placeholder, By: transcript.Nobody, State: Applied, Trigger: OnEmergency,
			Span: Span{From: lines[i].Seq}, FromTime: lines[i].Time,
		}
		for first := i; i < len(lines) && lines[i].Seq == row.From+int64(i-first); i++ {
			row.To = lines[i].Seq
			row.ToTime = lines[i].Time
			row.Messages = row.Messages + 1
		}
		row.Tokens = row.Cost()
		stack = insert(stack, row)
	}
	return stack
}

// flush writes what an emergency could only hide in memory, and the end of contexts that are still
// on disk.
func (c *Compactor) flush(ctx context.Context) {
	if c.h.contextsOnDisk {
		c.newHead(ctx)
	}
	if len(c.h.hidden) == 0 {
		return
	}
	// With an error the next check tries again.
	_, _ = c.commit(ctx, func(stored *transcript.State) (none transcript.Change, err error) {
		placeholders := c.unwritten()
		if len(placeholders) == 0 {
			return none, nil
		}
		return stored.Truncate(placeholders, 0), nil
	})
}

// unwritten returns the placeholders that are in memory alone.
func (c *Compactor) unwritten() []Summary {
	rows := slices.DeleteFunc(slices.Clone(c.h.head.Stack), func(row Summary) bool { return row.ID != 0 })
	for i := range rows {
		rows[i].AwaitsModel = c.h.addressed && c.hasModel(c.o.Policy())
	}
	return rows
}

// clearBatch clears old tool results if that frees a quarter of the window: more often would
// invalidate the provider's prompt cache for little. What the running turn had to clear stays
// cleared.
func (c *Compactor) clearBatch(ctx context.Context, p Policy) {
	if c.h.clearsTo(p, c.budget()/4) == 0 {
		return
	}
	// With an error the next check tries again.
	_, _ = c.commit(ctx, func(s *transcript.State) (transcript.Change, error) {
		return s.Clear(c.h.clearsTo(p, c.budget()/4)), nil
	})
}

// clearsTo returns the seq up to which to clear results if that frees at least want tokens; else 0.
// What the running turn had to clear is cleared in any case.
func (s view) clearsTo(p Policy, want int) int64 {
	to := int64(0)
	if s.resultTo > s.head.ClearedTo {
		to = lastResult(s.lines, s.stored)
	}
	if to <= s.head.ClearedTo {
		return 0
	}
	results := 0
	for i := len(s.lines) - 1; i >= 0 && s.clearedTo == s.head.ClearedTo; i-- {
		l := s.lines[i]
		if l.result == nil {
			continue
		}
		results++
		if results > p.ToolResultsKept && l.Seq > s.head.ClearedTo {
			want -= l.tokens - l.result.gone.tokens
		}
	}
	if s.clearedTo == s.head.ClearedTo && want > 0 {
		return 0
	}
	return to
}
