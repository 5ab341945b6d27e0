package transcript

import (
	"errors"
	"fmt"
	"slices"
)

// The reasons why nothing can be undone.
var (
	ErrNothingApplied = errors.New("nothing was summarized that could be undone")
	ErrChangedSince   = errors.New("what was summarized last has changed since: messages in it were edited or deleted, or it was hidden or replaced")
	ErrHiddenSince    = errors.New("messages behind what was summarized last were hidden since")
)

// Needs lists what an Undo needs from the store.
type Needs struct {
	Set       int64   // the version in which the set was applied
	Messages  []Span  // that were verbatim before
	Summaries []int64 // that ended with the set
}

// Loaded is what was read from the store.
type Loaded struct {
	Needs
	Read []Message // in the spans, by seq
	Rows []Summary // with the ids
}

// UndoNeeds returns what Undo needs to undo the latest applied set of the session.
// ErrNothingApplied, ErrChangedSince, ErrHiddenSince: it cannot be undone.
func (s *State) UndoNeeds() (Needs, error) {
	if len(s.Sets) == 0 {
		return Needs{}, ErrNothingApplied
	}
	set := s.Sets[len(s.Sets)-1]
	gone := func(id int64) bool { return indexOf(s.Summaries, id) < 0 && !slices.Contains(set.Ended, id) }
	if set.Changed || slices.ContainsFunc(set.Made, gone) {
		return Needs{}, ErrChangedSince
	}
	for _, row := range s.Summaries {
		if len(set.Hid) > 0 && row.From > set.Hid[0].From && !slices.Contains(set.Made, row.ID) && !within(row.Span, set.Over) {
			return Needs{}, ErrHiddenSince
		}
	}
	return Needs{Set: set.Version, Messages: set.Hid, Summaries: set.Ended}, nil
}

func within(sp Span, spans []Span) bool {
	return slices.ContainsFunc(spans, func(other Span) bool { return sp.Within(other) })
}

// Undo undoes the latest applied set: what it hid is verbatim again, and the summaries that it
// rolled up or replaced are applied again. Prepared summaries and jobs over the same messages
// become stale, and what came back is spared. Memories stay. ErrStale: another set is the latest
// by now; read again.
func (s *State) Undo(l Loaded) (Change, error) {
	needs, err := s.UndoNeeds()
	if err != nil {
		return s.none(), err
	}
	set := s.Sets[len(s.Sets)-1]
	if l.Set != needs.Set || len(l.Read) != set.Messages || len(l.Rows) != len(needs.Summaries) {
		return s.none(), fmt.Errorf("undo version %d: %w", set.Version, ErrStale)
	}
	d := s.draft()
	for _, id := range set.Made {
		if i := indexOf(d.Summaries, id); i >= 0 {
			d.put(d.Summaries[i].ended(Undone))
		}
	}
	for _, row := range l.Rows {
		if slices.Contains(set.Made, row.ID) { // it was rolled up immediately
			d.put(row.ended(Undone))
			continue
		}
		if row.State == Replaced {
			d.Spared = d.Spared.hull(row.Span)
		}
		if row.State = Applied; row.Text == "" { // it repeated text deleted elsewhere
			row = row.emptied()
		}
		d.put(row)
	}
	for _, sp := range set.Hid {
		d.Spared = d.Spared.hull(sp)
	}
	for _, row := range slices.Concat(d.Prepared, d.Running) {
		if slices.ContainsFunc(set.Over, row.Overlaps) {
			d.put(row.ended(Stale))
		}
	}
	d.Sets = s.Sets[:len(s.Sets)-1]
	d.ClearedTo = set.ClearedBefore
	c := d.headChange()
	c.Restored = l.Read
	return c, nil
}
