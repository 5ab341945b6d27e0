package transcript

import (
	"errors"
	"slices"

	"cairn/chat"
)

// The reasons why nothing can be undone.
var (
	ErrNothingApplied = errors.New("nothing was summarized that could be undone")
	ErrChangedSince   = errors.New("what was summarized last has changed since: messages in it were edited or deleted, or it was hidden or replaced")
	ErrHiddenSince    = errors.New("messages behind what was summarized last were hidden since")
)

// Undoable is the latest applied compaction of the session, as far as it is in the session. The
// store has it; a State does not.
type Undoable struct {
	Version   int64          // of the current head
	Why       string         // why nothing can be undone, in words for people; empty: see Undo
	Rows      []Summary      // the summaries that it made, by From
	Ended     []Summary      // the summaries that ended with it, by From; includes some of Rows if they were rolled up immediately
	Freed     []chat.Message // what was verbatim before, by seq
	ClearedTo int64          // of the state without it
	Changed   bool           // one of its messages was edited or deleted since
}

// Undo returns the change of s that undoes it: what it hid is verbatim again, and the summaries that
// it rolled up or replaced are applied again. Prepared summaries and jobs over the same messages
// become stale, and what came back is spared. Memories stay. ErrChangedSince, ErrHiddenSince: it
// cannot be undone.
func (l Undoable) Undo(s *State) (Change, error) {
	made := func(id int64) bool { return indexOf(l.Rows, id) >= 0 }
	gone := func(row Summary) bool { return indexOf(s.Summaries, row.ID) < 0 && indexOf(l.Ended, row.ID) < 0 }
	if l.Changed || slices.ContainsFunc(l.Rows, gone) {
		return s.none(), ErrChangedSince
	}
	for _, row := range s.Summaries {
		within := func(other Summary) bool { return row.Within(other.Span) }
		if len(l.Freed) > 0 && row.From > l.Freed[0].Seq && !made(row.ID) && !slices.ContainsFunc(l.Rows, within) {
			return s.none(), ErrHiddenSince
		}
	}
	d := s.draft()
	for _, row := range l.Rows {
		if i := indexOf(d.Summaries, row.ID); i >= 0 {
			d.put(d.Summaries[i].retire(Undone))
		}
	}
	for _, row := range l.Ended {
		if made(row.ID) { // it was rolled up immediately
			d.put(row.retire(Undone))
			continue
		}
		if row.State == Replaced {
			d.Spared = d.Spared.hull(row.Span)
		}
		row.State = Applied
		if row.Text == "" { // it repeated text deleted elsewhere
			row = row.emptied()
		}
		d.put(row)
	}
	var restored []Message
	for _, m := range l.Freed {
		restored = append(restored, MessageOf(m))
		d.Spared = d.Spared.hull(Span{m.Seq, m.Seq})
	}
	for _, row := range slices.Concat(d.Prepared, d.Running) {
		if slices.ContainsFunc(l.Rows, func(made Summary) bool { return made.Overlaps(row.Span) }) {
			d.put(row.retire(Stale))
		}
	}
	d.ClearedTo = l.ClearedTo
	c := d.headChange()
	c.Restored = restored
	return c, nil
}
