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

// Edits and deletions by people. The store has written them already; here they reach the view. The
// head's summaries and copies are read again before the next request.

// Changed shows messages as people edited them, without those they deleted. The head is read again
// before the next request: it quotes them, and it also changes on disk without the compactor, for
// instance when people pin a message.
func (c *Compactor) Changed(edited []chat.Message, deleted []int64) {
	for _, m := range edited {
		c.h.edited(m)
	}
	if len(deleted) > 0 {
		c.h.deleted(deleted)
	}
	c.h.outdated = true
}

// Quoting returns the seqs of the verbatim messages that quote a message of another conversation.
func (h *History) Quoting() (seqs []int64) {
	for _, l := range h.lines {
		if l.Quote != "" {
			seqs = append(seqs, l.Seq)
		}
	}
	return seqs
}

// errOutdated is returned by Request and Undo if deletions cannot be read from disk: no request is
// better than one that repeats a deleted message.
var errOutdated = errors.New("edits and deletions could not be read")

// reread loads the head after edits and deletions, and reports whether it could.
func (c *Compactor) reread(ctx context.Context) bool {
	if !c.h.outdated {
		return true
	}
	head, first, err := c.o.Records.Head(ctx)
	if err != nil {
		if ctx.Err() == nil {
			c.o.Log.Warn("read_edits_failed", "error", err)
		}
		return false
	}
	c.h.first = first
	c.h.reshapeHead() // their copies
	c.h.revision++
	c.h.swap(head)
	c.h.restorable = nil
	c.dropStale(ctx)
	c.h.outdated = false
	return true
}

func (h *History) edited(m chat.Message) {
	if i := slices.IndexFunc(h.restorable, func(old chat.Message) bool { return old.Seq == m.Seq }); i >= 0 {
		h.restorable[i] = m
	}
	h.dropContexts(func(c Context) bool {
		runs := h.contextRuns && h.contexts[len(h.contexts)-1].Seq == m.Seq
		return c.Quotes(m.Seq) || c.Seq == m.Seq && m.Context == "" && !runs
	})
	if i := slices.IndexFunc(h.lines, func(old line) bool { return old.Seq == m.Seq }); i >= 0 {
		lines := slices.Clone(h.lines)
		m.Deprived = m.Deprived || h.lines[i].Deprived // for the running turn the disk does not have it
		lines[i] = lineOf(h.shape.stored(m), h.shape)
		h.setLines(lines)
	}
	h.changed()
}

func (h *History) deleted(seqs []int64) {
	gone := func(seq int64) bool { return slices.Contains(seqs, seq) }
	h.restorable = slices.DeleteFunc(h.restorable, func(m chat.Message) bool { return gone(m.Seq) })
	h.dropContexts(func(c Context) bool { return gone(c.Seq) || slices.ContainsFunc(seqs, c.Quotes) })
	shown := func(l line) bool { return gone(l.Seq) }
	if slices.ContainsFunc(h.lines, shown) {
		h.setLines(slices.DeleteFunc(slices.Clone(h.lines), shown))
	}
	if slices.ContainsFunc(h.hidden, shown) {
		h.hidden = slices.DeleteFunc(slices.Clone(h.hidden), shown)
		committed := slices.DeleteFunc(slices.Clone(h.head.Stack), func(row Compaction) bool { return row.ID == 0 })
		h.head.Stack = withHidden(committed, h.hidden)
		h.reshapeHead()
	}
	h.changed()
}

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
	e := c.event(row, EventUndone)
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

func (c *Compactor) isSpared(sp Span) bool { return c.h.head.Spared.Overlaps(sp) && !c.undoLifted }

// whyNoRoom returns why there is no room for another head, with the same pins and inheritance, and
// freed messages; "" if there is.
func (c *Compactor) whyNoRoom(head Head, freed []chat.Message) string {
	s, p, window := c.h.view, c.policy(), c.o.Window()
	head.Pins, head.Inherited = s.head.Pins, s.head.Inherited
	restored := *c.h
	restored.restorable = freed
	restored.swap(head)
	if cost, budget := restored.stackCost(), p.stackBudget(c.budget()); cost > budget && cost > s.stackCost() {
		return fmt.Sprintf("the summaries would take %d tokens, and %d is what they may take", cost, budget)
	}
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
