package transcript

import "fmt"

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
	next.Marks, next.Sessions = c.Marks, c.Sessions
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
