package compactor

import (
	"context"
	"errors"
	"slices"

	"cairn/chat"
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
		return c.Quotes(m.Seq) || c.Seq == m.Seq && m.Context == "" && !h.contextRunsAt(m.Seq)
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
	if shown := func(l line) bool { return gone(l.Seq) }; slices.ContainsFunc(h.lines, shown) {
		h.setLines(slices.DeleteFunc(slices.Clone(h.lines), shown))
	}
	h.changed()
	h.blank(seqs)
}

// blank removes the content of messages behind a placeholder that exists in memory alone. Their
// places stay, so that it remains one placeholder, and they are no longer counted.
func (h *History) blank(seqs []int64) {
	if !slices.ContainsFunc(h.hidden, func(l line) bool { return slices.Contains(seqs, l.Seq) }) {
		return
	}
	h.hidden = slices.Clone(h.hidden)
	for i, l := range h.hidden {
		if slices.Contains(seqs, l.Seq) {
			h.hidden[i] = line{Message: &chat.Message{Seq: l.Seq, Turn: l.Turn, Time: l.Time}}
		}
	}
	committed := slices.DeleteFunc(slices.Clone(h.head.Stack), func(row Compaction) bool { return row.ID == 0 })
	h.head.Stack = withHidden(committed, h.hidden)
	h.reshapeHead()
}
