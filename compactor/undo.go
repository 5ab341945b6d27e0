package compactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"cairn/chat"
	"cairn/transcript"
)

// Undo undoes the summaries that were applied last: what they hid is verbatim again, and the rows
// they replaced are applied again. The memories saved with them stay. The event says what was
// undone, or, as a noop, why nothing was. An error means that the disk refused and nothing has
// changed.
func (c *Compactor) Undo(ctx context.Context) (Event, error) {
	c.h.reshape(c.shape(c.policy()))
	if !c.reread(ctx) {
		return Event{}, fmt.Errorf("take the latest summary back: %w", errOutdated)
	}
	c.flush(ctx)
	var l transcript.Undoable
	before := 0
	_, err := c.commit(ctx, func(s *transcript.State) (change transcript.Change, err error) {
		l, err = c.o.Records.Latest(ctx)
		if err == nil && l.Version != s.HeadVersion {
			err = transcript.ErrStale
		}
		if err != nil || l.Why != "" {
			return change, err
		}
		undo, cannot := l.Undo(s)
		if cannot != nil {
			l.Why = cannot.Error()
			return change, nil
		}
		l.Why = c.whyNoRoom(s.With(undo).Head(), l.Freed)
		if l.Why != "" {
			return change, nil
		}
		before, c.h.restorable = c.used(c.h.view), l.Freed
		return undo, nil
	})
	switch {
	case errors.Is(err, transcript.ErrStale):
		return Event{}, errors.New("people change messages faster than the latest summary can be undone: try again")
	case err != nil:
		c.h.outdated = true // the disk is read again to see what it did; until then the messages are at hand
		return Event{}, fmt.Errorf("take the latest summary back: %w", err)
	}
	c.h.restorable = nil
	if l.Why != "" {
		e := Event{State: EventNoop, Trigger: OnManual, Window: c.o.Window(), Error: l.Why}
		c.notify(e)
		return e, nil
	}
	return c.undone(l, before), nil
}

func (c *Compactor) undone(l transcript.Undoable, before int) Event {
	c.undoLifted = false
	c.prepared = leaveOut(c.prepared, func(row Compaction) bool { return overlaps(l.Rows, row) }) // they are stale now
	row := l.Rows[0]
	for _, r := range l.Rows { // report the leaf, not the folds that made room for it
		if r.By != transcript.Nobody && r.ID < row.ID || row.By == transcript.Nobody {
			row = r
		}
	}
	e := eventOf(row, EventUndone, c.o.Window())
	e.Set = l.Rows
	if e.Kind == Leaf { // the event covers all of them
		e.Messages = 0
		for _, r := range l.Rows {
			e.From, e.To = min(e.From, r.From), max(e.To, r.To)
			if r.Kind == Leaf {
				e.Messages += r.Messages
			}
		}
	}
	e.BeforeTokens, e.AfterTokens = before, c.used(c.h.view)
	c.notify(e)
	return e
}

// isSpared reports whether messages stay verbatim because their summary was undone.
func (c *Compactor) isSpared(sp Span) bool { return c.h.head.Spared.Overlaps(sp) && !c.undoLifted }

// whyNoRoom returns why there is no room for another head, with the same pins and inheritance, and
// freed messages; "" if there is.
func (c *Compactor) whyNoRoom(head Head, freed []chat.Message) string {
	s, p, window := c.h.view, c.policy(), c.o.Window()
	head.Pins, head.Inherited = s.head.Pins, s.head.Inherited
	if cost, budget := headCost(head, s.shape), p.stackBudget(c.budget()); cost > budget && cost > s.stackCost() {
		return fmt.Sprintf("the summaries would take %d tokens, and %d is what they may take", cost, budget)
	}
	restored := *c.h
	restored.restorable = freed
	restored.swap(head)
	if used := c.used(restored.view); float64(used) >= p.AggressiveThreshold*float64(window) {
		return fmt.Sprintf("%d of %d tokens would be used then, and from %d on the oldest messages must leave again",
			used, window, int(p.AggressiveThreshold*float64(window)))
	}
	return ""
}

func bySeq(a, b line) int { return cmp.Compare(a.Seq, b.Seq) }

// restore makes those restorable messages verbatim that no row covers any more, and reports whether
// there were any. Messages of a session that has ended are not shown.
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
