package compactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// undoTries is how often Undo looks for the latest set of summaries: what people edit or
// delete between two looks changes it.
const undoTries = 3

// Undo undoes the summaries that were applied last: what they hid is verbatim again, and
// the rows they replaced are applied again. The memories saved with them stay. The event says
// what was undone, or, as a noop, why nothing was. An error means that the disk refused,
// and nothing has changed.
func (c *Compactor) Undo(ctx context.Context) (Event, error) {
	p, window := c.o.Policy(), c.o.Window()
	c.h.reshape(c.shape(p))
	for range undoTries {
		if c.reread(ctx); c.outdated {
			return Event{}, fmt.Errorf("take the latest summary back: %w", errOutdated)
		}
		c.flush(ctx)
		l, err := c.o.Records.Latest(ctx)
		if err != nil {
			return Event{}, fmt.Errorf("look for what may be taken back: %w", err)
		}
		if l.Version > c.h.head.Version {
			c.outdated = true
			continue
		}
		if l.Why == "" {
			l.Why = c.tooMuch(l, p, window)
		}
		if l.Why != "" {
			e := Event{State: EventNoop, Trigger: OnManual, Window: window, Error: l.Why}
			c.notify(e)
			return e, nil
		}
		before := c.used(c.h.view)
		c.h.restorable = l.Freed
		head, applied, err := c.o.Records.Undo(ctx, l.Version)
		if err != nil {
			c.outdated = true // what the disk did is read again; until then the messages are at hand
			return Event{}, fmt.Errorf("take the latest summary back: %w", err)
		}
		c.h.swap(head)
		c.h.restorable = nil
		if applied {
			return c.undone(l, before), nil
		}
	}
	return Event{}, errors.New("people change messages faster than the latest summary can be undone: try again")
}

// undone reports an applied compaction that was undone.
func (c *Compactor) undone(l Undoable, before int) Event {
	c.undoLifted = false
	c.prepared = leaveOut(c.prepared, func(row Compaction) bool { return overlaps(l.Rows, row) }) // it is stale now
	row := l.Rows[0]
	for _, r := range l.Rows { // what it was about is the leaf, not the folds that made room for it
		if r.By != ByEmergency && r.ID < row.ID || row.By == ByEmergency {
			row = r
		}
	}
	e := eventOf(row, EventUndone, c.o.Window())
	if e.Set = l.Rows; e.Kind == Leaf { // all of it is undone
		e.Messages = 0
		for _, r := range l.Rows {
			if e.From, e.To = min(e.From, r.From), max(e.To, r.To); r.Kind == Leaf {
				e.Messages += r.Messages
			}
		}
	}
	e.BeforeTokens, e.AfterTokens = before, c.used(c.h.view)
	c.notify(e)
	return e
}

// tooMuch tells why there is no room for what an applied compaction has hidden; empty: there is.
func (c *Compactor) tooMuch(l Undoable, p Policy, window int) string {
	s := c.h.view
	if now, then, budget := s.head.stackCost(s.shape), l.Head.stackCost(s.shape), p.stackBudget(c.budget()); then > budget && then > now {
		return fmt.Sprintf("the summaries would take %d tokens, and %d is what they may take", then, budget)
	}
	lines := slices.Clone(s.lines)
	for _, m := range l.Freed {
		lines = append(lines, lineOf(m, s.shape))
	}
	slices.SortFunc(lines, bySeq)
	clearResults(lines, clearedWith(l.Head, s.clearedTo, s.head), s.shape.kept)
	s.lineCost = 0
	for _, line := range lines {
		s.lineCost += line.tokens
	}
	_, s.headCost = renderHead(duplicates(l.Head.Pins, c.h.first, s.shape), l.Head.past(s.shape), l.Head.Stack)
	s.anchor = Count{} // what was counted is another view
	if used := c.used(s); float64(used) >= p.AggressiveThreshold*float64(window) {
		return fmt.Sprintf("%d of %d tokens would be used then, and from %d on the oldest messages must leave again",
			used, window, int(p.AggressiveThreshold*float64(window)))
	}
	return ""
}

// clearedWith is up to where tool results are cleared with a new head, if they were
// up to was before: less than that after an undo, but what a running turn had to
// clear stays so.
func clearedWith(head Head, was int64, old Head) int64 {
	if was == old.ClearedTo {
		return head.ClearedTo
	}
	return max(was, head.ClearedTo)
}

func bySeq(a, b line) int { return cmp.Compare(a.Seq, b.Seq) }

// restore makes those of the restorable messages verbatim that no row covers any more, and
// reports whether there were any. Those of a session that has ended are not shown.
func (h *History) restore() bool {
	lines := slices.Clone(h.lines)
	for _, m := range h.restorable {
		if m.Seq >= h.head.Start && !covered(h.head.Stack, m.Seq) {
			lines = append(lines, lineOf(h.shape.stored(m), h.shape))
		}
	}
	if len(lines) == len(h.lines) {
		return false
	}
	slices.SortFunc(lines, bySeq)
	h.setLines(lines)
	h.resultTo = max(h.resultTo, lastResult(lines, h.next))
	return true
}
