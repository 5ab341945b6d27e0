package compactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// undoTries is how often Undo looks for the latest landing anew, because another has landed
// meanwhile. Where much is healed at once, a summary for each marker lands in a row.
const undoTries = 32

// Undo takes back the latest landing: what it hid is verbatim again, and the rows
// it folded, replaced or split stand where they stood. What it saved in memory
// stays. The event says what was taken back, or, as a noop, why nothing was. An
// error means that the disk refused, and nothing has changed.
func (c *Compactor) Undo(ctx context.Context) (Event, error) {
	p, window := c.o.Policy(), c.o.Window()
	c.h.reshape(c.shape(p))
	for range undoTries {
		if c.reread(ctx); c.outdated { // what an undo before this one has uncovered, perhaps
			return Event{}, fmt.Errorf("take the latest summary back: %w", errOutdated)
		}
		c.flush(ctx)
		l, err := c.o.Records.Latest(ctx)
		if err != nil {
			return Event{}, fmt.Errorf("look for what may be taken back: %w", err)
		}
		if l.Why == "" && l.Generation > c.h.snapshot().head.Generation {
			// A landing is not in memory yet. What it hides is verbatim there, and lent
			// messages would stand beside it.
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
		before := c.used(c.h.snapshot())
		// The worker may land something before this head reaches the memory: then
		// that newer head uncovers the messages.
		c.h.lend(l.Freed)
		head, applied, err := c.o.Records.Undo(ctx, l.Generation)
		if err != nil {
			c.outdated = true // what the disk did is read again; until then the messages are at hand
			return Event{}, fmt.Errorf("take the latest summary back: %w", err)
		}
		c.h.swap(head)
		c.h.lend(nil)
		if applied {
			return c.undone(l, before), nil
		}
	}
	return Event{}, errors.New("summaries are applied faster than the latest can be undone: try again")
}

// undone reports a landing that was taken back.
func (c *Compactor) undone(l Landing, before int) Event {
	c.mu.Lock()
	c.lifted = false
	c.staged = leaveOut(c.staged, func(row Compaction) bool { return overlaps(l.Rows, row) }) // it is stale now
	c.mu.Unlock()
	row := l.Rows[0]
	for _, r := range l.Rows { // what it was about is the leaf, not the folds that made room for it
		if r.By != ByEmergency && r.ID < row.ID || row.By == ByEmergency {
			row = r
		}
	}
	e := eventOf(row, EventUndone, c.o.Window())
	if e.Set = l.Rows; e.Kind == Leaf { // all of it is taken back
		e.Messages = 0
		for _, r := range l.Rows {
			if e.From, e.To = min(e.From, r.From), max(e.To, r.To); r.Kind == Leaf {
				e.Messages += r.Messages
			}
		}
	}
	e.BeforeTokens, e.AfterTokens = before, c.used(c.h.snapshot())
	c.notify(e)
	return e
}

// tooMuch tells why there is no room for what a landing has hidden; empty: there is.
func (c *Compactor) tooMuch(l Landing, p Policy, window int) string {
	s := c.h.snapshot()
	if now, then, budget := s.head.stackCost(s.shape), l.Head.stackCost(s.shape), p.stackBudget(c.Budget()); then > budget && then > now {
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
	_, s.headCost = renderHead(duplicates(l.Head.Pins, c.h.firstMessages(), s.shape), l.Head.past(s.shape), l.Head.Stack)
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

// lend keeps messages at hand that a newer head may uncover; nil: none any more.
func (h *History) lend(messages []Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lent = messages
	h.edition++
}

// lentEdited and lentDeleted bring what people change to the messages that are at hand.

func (h *History) lentEdited(m Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.IndexFunc(h.lent, func(old Message) bool { return old.Seq == m.Seq }); i >= 0 {
		h.lent = slices.Clone(h.lent)
		h.lent[i] = m
		h.edition++
	}
}

func (h *History) lentDeleted(seqs []int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lent = slices.DeleteFunc(slices.Clone(h.lent), func(m Message) bool { return slices.Contains(seqs, m.Seq) })
	h.edition++
}

// uncovered tells which of the lent messages head makes verbatim, and which are
// behind its rows still. Those of a segment that has ended are neither.
func uncovered(lent []Message, head Head, sh shape) (back []line, rest []Message) {
	for _, m := range lent {
		switch {
		case m.Seq < head.Start:
		case covered(head.Stack, m.Seq):
			rest = append(rest, m)
		default:
			back = append(back, lineOf(sh.stored(m), sh))
		}
	}
	return back, rest
}

// takeBackLocked makes lines verbatim again.
func (h *History) takeBackLocked(back []line) {
	if len(back) == 0 {
		return
	}
	lines := slices.Concat(back, h.lines)
	slices.SortFunc(lines, bySeq)
	h.setLinesLocked(lines)
	h.resultTo = max(h.resultTo, lastResult(lines, h.next))
}

func (h *History) firstMessages() []Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.first
}
