package transcript

import (
	"fmt"
	"slices"
)

// Change is the difference between a State and the next one: what the store writes, and what
// With applies. Marks, Sets, Sessions and Pins are as they are afterwards.
type Change struct {
	Base      int64     // the version it was computed from
	Appended  []Message // new ones
	Edited    []Message // verbatim or not, as they are now
	Deleted   []int64   // seqs
	Restored  []Message // verbatim again: nothing to write
	Summaries []Summary // new or changed, as they are now
	Marks     Marks
	Sets      []Set
	Sessions  []Span
	Pins      []Pin
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
	for _, m := range c.Edited {
		next.Messages = next.Messages.Replace(m)
	}
	for _, seq := range c.Deleted {
		next.Messages = next.Messages.Without(Span{seq, seq})
	}
	next.Messages = next.Messages.Insert(c.Restored).Append(c.Appended...)
	next.Marks, next.Sets, next.Sessions, next.Pins = c.Marks, c.Sets, c.Sessions, c.Pins
	return &next
}

// draft is a change that is being made, and the state as it will be.
type draft struct {
	State
	base int64
	rows []Summary // new or changed
}

func (s *State) draft() *draft { return &draft{State: *s, base: s.Version} }

// put enters a summary into the state and the change.
func (d *draft) put(row Summary) {
	d.State.put(row)
	if i := indexOf(d.rows, row.ID); i >= 0 {
		d.rows[i] = row
		return
	}
	d.rows = append(d.rows, row)
}

// add enters a new summary, and returns it with its id.
func (d *draft) add(row Summary) Summary {
	row.ID = d.NextSummary
	d.NextSummary++
	d.put(row)
	return row
}

// endJobs makes what is prepared or running stale if which says so.
func (d *draft) endJobs(which func(Summary) bool) {
	for _, row := range slices.Concat(d.Prepared, d.Running) {
		if which(row) {
			d.put(row.ended(Stale))
		}
	}
}

// change ends the draft.
func (d *draft) change() Change {
	d.Version++
	return Change{Base: d.base, Summaries: d.rows, Marks: d.Marks, Sets: d.Sets, Sessions: d.Sessions, Pins: d.Pins}
}

// headChange ends a draft that changes what stands above the verbatim messages, or what of
// them was sent before: the turn contexts before the open turn are not shown any more.
func (d *draft) headChange() Change {
	d.HeadVersion = d.Version + 1
	d.ContextFrom = d.NextSeq
	if d.Open != 0 {
		d.ContextFrom = d.Open
	}
	return d.change()
}

// none is a change that changes nothing.
func (s *State) none() Change { return Change{Base: s.Version, Marks: s.Marks} }
