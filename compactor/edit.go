package compactor

import (
	"context"
	"errors"
	"slices"
)

// Edits and deletions by people. The store has written them; here they reach the
// view. What it shows of them in the head, summaries and copies of first messages,
// is read again before the next request, for a landing may be on its way meanwhile.

// Edited shows a message in its new form.
func (c *Compactor) Edited(m Message) {
	c.h.edited(m)
	c.outdated = true
}

// Deleted takes messages out of the view.
func (c *Compactor) Deleted(seqs []int64) {
	c.h.deleted(seqs)
	c.outdated = true
}

// Reread has the head read again before the next request: others than the compactor
// have changed it on disk, for instance what people pinned. It belongs to the owner.
func (c *Compactor) Reread() { c.outdated = true }

// Quoting returns the seqs of the verbatim messages that quote one which stands in
// another conversation.
func (h *History) Quoting() (seqs []int64) {
	for _, l := range h.snapshot().lines {
		if l.Quote != "" {
			seqs = append(seqs, l.Seq)
		}
	}
	return seqs
}

// errOutdated is returned by Request and Undo when the disk does not tell what people
// have deleted: better no request than one that repeats it.
var errOutdated = errors.New("edits and deletions could not be read")

// reread shows the head as it is after edits and deletions.
func (c *Compactor) reread(ctx context.Context) {
	if !c.outdated {
		return
	}
	head, first, err := c.o.Records.Head(ctx)
	if err != nil {
		c.o.Log.Warn("read_edits_failed", "error", err)
		return
	}
	c.h.setFirst(first)
	c.h.swap(head)
	c.h.lend(nil)
	c.sweep(ctx)
	c.outdated = false
}

func (h *History) edited(m Message) {
	h.mu.Lock()
	sh := h.shape
	h.mu.Unlock()
	l := lineOf(sh.stored(m), sh)
	h.lentEdited(m)
	h.mu.Lock()
	h.dropContextsLocked(func(c Context) bool {
		return c.quotes(m.Seq) || c.Seq == m.Seq && m.Context == "" && !h.contextRunsAtLocked(m.Seq)
	})
	h.mu.Unlock()
	h.revise(func(lines []line) []line {
		i := slices.IndexFunc(lines, func(old line) bool { return old.Seq == m.Seq })
		if i < 0 {
			return lines
		}
		l.Deprived = l.Deprived || lines[i].Deprived // of the running turn no disk knows it
		lines = slices.Clone(lines)
		lines[i] = l
		return lines
	})
}

func (h *History) deleted(seqs []int64) {
	h.lentDeleted(seqs)
	h.mu.Lock()
	h.dropContextsLocked(func(c Context) bool { return slices.Contains(seqs, c.Seq) || slices.ContainsFunc(seqs, c.quotes) })
	h.mu.Unlock()
	h.revise(func(lines []line) []line {
		gone := func(l line) bool { return slices.Contains(seqs, l.Seq) }
		if !slices.ContainsFunc(lines, gone) {
			return lines
		}
		return slices.DeleteFunc(slices.Clone(lines), gone)
	})
	h.blank(seqs)
}

// blank forgets what was said in messages behind a marker in memory. Their places stay
// behind it, so that it is one, and are not counted any more.
func (h *History) blank(seqs []int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.ContainsFunc(h.hidden, func(l line) bool { return slices.Contains(seqs, l.Seq) }) {
		return
	}
	h.hidden = slices.Clone(h.hidden)
	for i, l := range h.hidden {
		if slices.Contains(seqs, l.Seq) {
			h.hidden[i] = line{Message: Message{Seq: l.Seq, Turn: l.Turn, Time: l.Time}}
		}
	}
	h.edition++
	committed := slices.DeleteFunc(slices.Clone(h.head.Stack), func(row Compaction) bool { return row.ID == 0 })
	h.head.Stack = withHidden(committed, h.hidden)
	h.headText, h.headCost = renderHead(h.copies, h.past, h.head.Stack)
	h.changedLocked()
}

// revise puts in place of the lines what f makes of them without the lock. Lines
// may leave or be cleared meanwhile, by a worker's landing; then f is asked again.
// It must not write to what it is given: snapshots share it.
func (h *History) revise(f func([]line) []line) {
	for {
		h.mu.Lock()
		old, clearedTo := h.lines, h.clearedTo
		h.mu.Unlock()
		lines := f(old)
		h.mu.Lock()
		if len(h.lines) == len(old) && h.clearedTo == clearedTo {
			h.setLinesLocked(lines)
			h.changedLocked()
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
	}
}

// setFirst renews the copies of the first messages.
func (h *History) setFirst(messages []Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.first = messages
	h.revision++
	h.fitCopiesLocked()
	h.headText, h.headCost = renderHead(h.copies, h.past, h.head.Stack)
}
