package compactor

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"cairn/chat"
	"cairn/transcript"
)

// What package transcript decides on, made of what is in memory: nothing is read for a decision.

// Transcript returns what package transcript decides on, of what was loaded.
func (s State) Transcript() *transcript.State {
	t := stored(s.Head, slices.Values(s.Messages), s.Prepared, s.Next)
	t.Open = s.Open
	return t
}

// transcript is that of now, as far as it is on disk: without the running turn's messages, and
// with those verbatim that are hidden in memory alone.
func (c *Compactor) transcript() *transcript.State {
	s := c.h.view
	lines := s.lines
	if len(s.hidden) > 0 {
		lines = slices.Concat(s.lines, s.hidden)
		slices.SortFunc(lines, bySeq)
	}
	verbatim := func(yield func(chat.Message) bool) {
		for i := range lines {
			if l := &lines[i]; l.Seq <= s.stored && l.Role != "" && !yield(l.Message) {
				return
			}
		}
	}
	jobs := slices.Clone(c.prepared)
	for _, w := range []*work{c.busy, c.filling} {
		if w == nil {
			continue
		}
		jobs = append(jobs, w.rows...)
		if row := w.making.row; row.ID != 0 && !slices.Contains(idsOf(jobs), row.ID) {
			jobs = append(jobs, row)
		}
	}
	t := stored(s.head, verbatim, jobs, s.stored+1)
	t.Open = s.open
	return t
}

// commitTries is how often a change is decided on: what people edit, delete or pin meanwhile
// makes it stale.
const commitTries = 5

// commit writes what is decided about the conversation, unless that is nothing, and shows the
// head after it. If people have changed what is stored, it is read and decided on again;
// transcript.ErrStale: they do so again and again.
func (c *Compactor) commit(ctx context.Context, decide func(*transcript.State) (transcript.Change, error)) (change transcript.Change, err error) {
	for try := range commitTries {
		s := c.transcript()
		var head Head
		if change, err = decide(s); err == nil && !change.Empty() {
			head, err = c.o.Records.Commit(ctx, s, change)
		}
		if err == nil {
			c.h.swap(head) // the zero head is older
			return change, nil
		}
		if !errors.Is(err, transcript.ErrStale) {
			return change, err
		}
		if c.outdated = true; !c.reread(ctx) {
			return change, errOutdated
		}
		if try == 0 { // usually the head was another one, and that is all
			continue
		}
		if err := c.dropDeleted(ctx); err != nil {
			return change, err
		}
	}
	return change, err
}

// dropDeleted takes away messages that were deleted, though nobody has told so yet.
func (c *Compactor) dropDeleted(ctx context.Context) error {
	s := c.transcript()
	first, ok := s.Messages.First()
	if !ok {
		return nil
	}
	there, err := c.o.Records.Span(ctx, first.Seq, s.NextSeq-1)
	if err != nil {
		return err
	}
	var gone []int64
	for m := range s.Messages.All() {
		if _, found := slices.BinarySearchFunc(there, m.Seq, func(is chat.Message, seq int64) int { return cmp.Compare(is.Seq, seq) }); !found {
			gone = append(gone, m.Seq)
		}
	}
	if len(gone) > 0 {
		c.h.deleted(gone)
	}
	return nil
}

// stored makes a State of a head, the verbatim messages on disk, the summaries that are prepared
// or being made, and the seq of the next message. It has neither texts of messages, nor pins, nor
// what can be undone, and a summary that only hides in memory is none. Its cost grows with what
// is verbatim.
func stored(head Head, verbatim iter.Seq[chat.Message], jobs []Compaction, next int64) *transcript.State {
	s := transcript.New()
	s.Version, s.HeadVersion, s.ClearedTo = head.Version, head.Version, head.ClearedTo
	s.NextSeq, s.NextSummary, s.SessionStart = next, transcript.Unstored, head.Start
	s.Spared = Span{From: head.SparedFrom, To: head.SparedTo}
	for _, session := range head.Earlier {
		s.Sessions = append(s.Sessions, Span{From: session.From, To: session.To})
		s.Summaries = append(s.Summaries, session.Rows...)
	}
	for _, row := range head.Stack {
		if row.ID == 0 {
			continue
		}
		s.Summaries = append(s.Summaries, row)
		s.InSession += row.Messages
	}
	for _, row := range jobs {
		if row.State == Running {
			s.Running = append(s.Running, row)
		} else {
			s.Prepared = append(s.Prepared, row)
		}
	}
	var messages []transcript.Message
	for m := range verbatim {
		messages = append(messages, transcript.Message{
			Seq: m.Seq, Turn: m.Turn, Time: m.Time, Tokens: m.Tokens,
		})
	}
	s.Messages = s.Messages.Append(messages...)
	s.InSession += len(messages)
	return s
}
