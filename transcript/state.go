package transcript

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Errors of operations that the state does not allow.
var (
	ErrOrder = errors.New("the message is out of order")
	ErrSpan  = errors.New("the span cannot be summarized")
	ErrStale = errors.New("what was read has changed")
	ErrOpen  = errors.New("a turn waits for its answer")
	ErrEmpty = errors.New("the session holds no message")
)

// State is what a conversation's prompt is built from. It is immutable: With returns the next
// one, which shares everything that stayed the same. The zero value is not a State; see New.
type State struct {
	Marks
	Messages  Log       // verbatim: those of the session that no applied summary covers
	Summaries []Summary // applied, ordered by seq, those of earlier sessions included
	Prepared  []Summary // finished and not applied, oldest first
	Running   []Summary // jobs at work
	Sessions  []Span    // the earlier sessions whose summaries may be shown, oldest first
}

// Marks are the versions and positions of a conversation: one row of the store.
type Marks struct {
	Version      int64 // incremented by each change
	HeadVersion  int64 // the version in which the part above the verbatim messages last changed
	NextSeq      int64 // seq of the next message
	NextSummary  int64 // ID of the next summary
	SessionStart int64 // the first seq of the session
	InSession    int   // messages of the session that were not deleted
	Open         int64 // the turn waiting for its answer; 0: none
	ClearedTo    int64 // tool results up to this seq are shown cleared
	Spared       Span  // what an undo brought back: left alone until the aggressive level
}

// Unstored is the lowest ID of the summaries that a change adds to a state with NextSummary set
// to it: the store assigns its own IDs.
const Unstored = 1 << 62

// New returns the state of an empty conversation.
func New() *State {
	return &State{Marks: Marks{NextSeq: 1, NextSummary: 1, SessionStart: 1}}
}

// Covered reports whether an applied summary covers seq.
func (s *State) Covered(seq int64) bool { return len(s.covering(Span{seq, seq})) > 0 }

// covering returns the applied summaries that overlap a span.
func (s *State) covering(sp Span) []Summary {
	from, to := overlapping(s.Summaries, sp)
	return s.Summaries[from:to]
}

func (s *State) inOneSession(sp Span) bool {
	return sp.Within(Span{s.SessionStart, s.NextSeq - 1}) || slices.ContainsFunc(s.Sessions, sp.Within)
}

// put stores a summary in the list for its status, and removes the messages that it covers from
// the log. Only With and draft, with a new s, call it.
func (s *State) put(row Summary) {
	s.Running = withRow(s.Running, row, row.State == Running)
	s.Prepared = withRow(s.Prepared, row, row.State == Prepared)
	s.Summaries = withRow(s.Summaries, row, row.State == Applied)
	if row.State == Applied {
		slices.SortFunc(s.Summaries, func(a, b Summary) int { return cmp.Compare(a.From, b.From) })
		s.Messages = s.Messages.Without(row.Span)
	}
}

// withRow returns rows with row replacing the one with its ID, or without that one.
func withRow(rows []Summary, row Summary, in bool) []Summary {
	i := indexOf(rows, row.ID)
	switch {
	case i < 0 && !in:
		return rows
	case i < 0:
		return append(slices.Clip(rows), row)
	case !in:
		return slices.Delete(slices.Clone(rows), i, i+1)
	}
	rows = slices.Clone(rows)
	rows[i] = row
	return rows
}

func indexOf(rows []Summary, id int64) int {
	return slices.IndexFunc(rows, func(row Summary) bool { return row.ID == id })
}

// IDs returns the IDs of rows.
func IDs(rows []Summary) (ids []int64) {
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	return ids
}

// Change is the difference between a State and the next one: what the store writes, and what
// With applies. Marks and Sessions are as they are afterwards.
type Change struct {
	Base      int64     // the version it was computed from
	Appended  []Message // new ones
	Restored  []Message // verbatim again: nothing to write
	Summaries []Summary // new or changed, as they are now
	Marks     Marks
	Sessions  []Span
}

// Empty reports whether the change changes nothing.
func (c Change) Empty() bool { return c.Marks.Version == c.Base }

// With returns the state after a change, which must have been computed from s.
func (s *State) With(c Change) *State {
	if c.Base != s.Version {
		panic(fmt.Sprintf("a change of version %d is applied to version %d", c.Base, s.Version))
	}
	next := *s
	if c.Empty() {
		return &next
	}
	for _, row := range c.Summaries {
		next.put(row)
	}
	next.Messages = next.Messages.Insert(c.Restored).Append(c.Appended...)
	next.Marks = c.Marks
	next.Sessions = c.Sessions
	return &next
}

// draft is a change in progress, and the resulting state.
type draft struct {
	State
	rows []Summary // new or changed
}

func (s *State) draft() *draft { return &draft{State: *s} }

func (d *draft) put(row Summary) {
	row = row.priced()
	d.State.put(row)
	if i := indexOf(d.rows, row.ID); i >= 0 {
		d.rows[i] = row
		return
	}
	d.rows = append(d.rows, row)
}

func (d *draft) add(row Summary) Summary {
	row.ID = d.NextSummary
	d.NextSummary++
	d.put(row)
	return row
}

func (d *draft) change() Change {
	d.Version++
	return Change{Base: d.Version - 1, Summaries: d.rows, Marks: d.Marks, Sessions: d.Sessions}
}

// headChange ends a draft that changes the head, or which parts of the verbatim messages are
// shown: turn contexts of earlier turns are shown only with the head they were sent with.
func (d *draft) headChange() Change {
	d.HeadVersion = d.Version + 1
	return d.change()
}

func (s *State) none() Change { return Change{Base: s.Version, Marks: s.Marks} }
