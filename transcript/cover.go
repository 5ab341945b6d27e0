package transcript

import "slices"

// Cover applies prepared summaries: each takes the place of its span. Leaves come first, the
// oldest span first, then rollups in the order given.
//
// A leaf is applied if its messages are covered by nothing, or only by summaries that need
// repair: those are replaced, and what of them reaches beyond the span stays behind a
// placeholder. A rollup is applied if the summaries below it are its children, or
// placeholders, which it has read from their messages; they are rolled up. A repair of a
// rollup takes its place and its children. What cannot be applied any more becomes stale. A
// summary of messages that have an older verbatim message before them waits, and so do
// rollups of it: the prompt is in order.
//
// clearTo, if it is more than ClearedTo, becomes that along with the rest.
func (s *State) Cover(ids []int64, clearTo int64) (c Change, stale, wait []int64) {
	d := &cover{draft: s.draft()}
	d.set.ClearedBefore = s.ClearedTo
	for _, row := range s.inOrder(ids) {
		id := row.ID
		waits := slices.ContainsFunc(row.Children, func(child int64) bool { return slices.Contains(wait, child) })
		switch {
		case waits || row.hides() && d.oldest() < row.From:
			wait = append(wait, id)
		case !d.apply(row):
			d.put(row.ended(Stale))
			stale = append(stale, id)
		}
	}
	if len(d.rows) == 0 {
		return s.none(), stale, wait
	}
	if !d.applied {
		return d.change(), stale, wait
	}
	d.ClearedTo = max(d.ClearedTo, clearTo)
	d.keepSet()
	return d.headChange(), stale, wait
}

// inOrder are the prepared summaries with ids, as they are to be applied.
func (s *State) inOrder(ids []int64) (rows []Summary) {
	for _, id := range ids {
		if i := indexOf(s.Prepared, id); i >= 0 {
			rows = append(rows, s.Prepared[i])
		}
	}
	slices.SortStableFunc(rows, func(a, b Summary) int {
		switch {
		case a.Kind == Leaf && b.Kind == Leaf:
			return compareTo(a.From, b.From)
		case a.Kind == Leaf:
			return -1
		case b.Kind == Leaf:
			return 1
		}
		return 0
	})
	return rows
}

// cover is a draft in which summaries are applied.
type cover struct {
	*draft
	set     Set
	applied bool // something was
}

// oldest is the seq of the oldest verbatim message; NextSeq if there is none.
func (d *cover) oldest() int64 {
	if m, ok := d.Messages.First(); ok {
		return m.Seq
	}
	return d.NextSeq
}

// apply puts a summary in the place of its span, and reports whether it could.
func (d *cover) apply(row Summary) bool {
	session, inOne := d.session(row.Span)
	below := slices.Clone(d.covering(row.Span))
	if !inOne || row.Trigger == OnRepair && len(below) == 0 {
		return false
	}
	verbatim, _ := d.Messages.Count(row.Span)
	done := Set{Made: []int64{row.ID}, Over: []Span{row.Span}, Messages: verbatim, Hid: d.hidden(row.Span, below)}
	as, parts := Replaced, []Summary(nil)
	if row.Kind == Rollup && row.Trigger != OnRepair {
		if as = RolledUp; verbatim > 0 || !d.canRollUp(row, below) {
			return false
		}
		row = rollUp(row, below)
	} else {
		r, ok := row.replaces(below, verbatim)
		if !ok {
			return false
		}
		row, parts = r.row, r.parts
	}
	for _, old := range below {
		done.Ended = append(done.Ended, old.ID)
		old.Status = as
		d.put(old)
	}
	for _, part := range parts {
		done.Made = append(done.Made, d.add(part).ID)
		done.Over = append(done.Over, part.Span)
	}
	row.Status = Applied
	d.put(row)
	d.applied = true
	if session.From == d.SessionStart { // nobody undoes what was applied in an earlier one
		d.set.join(done)
	}
	if row.Trigger == OnAggressive || row.Trigger == OnManual {
		d.Spared = Span{}
	}
	return true
}

// hidden are the parts of a span in which messages are verbatim.
func (d *cover) hidden(sp Span, below []Summary) (hid []Span) {
	for _, gap := range sp.gaps(below) {
		if n, _ := d.Messages.Count(gap); n > 0 {
			hid = append(hid, gap)
		}
	}
	return hid
}

// canRollUp reports whether a rollup has read all that is applied in its span.
func (d *cover) canRollUp(row Summary, below []Summary) bool {
	for _, child := range below {
		read := child.Kind == Placeholder || slices.Contains(row.Children, child.ID)
		if !read || !child.Within(row.Span) {
			return false
		}
	}
	return len(below) > 0
}

// rollUp is a rollup of what is below it.
func rollUp(row Summary, below []Summary) Summary {
	row.Children, row.Messages = nil, 0
	for _, child := range below {
		row.Children = append(row.Children, child.ID)
		row.Messages += child.Messages
	}
	return row
}

// replacement is a summary that takes the place of others, and what is left of those.
type replacement struct {
	row   Summary
	parts []Summary // placeholders
}

// replaces returns what becomes of a summary, and of those below it, if it takes their place
// and hides so many verbatim messages. How many messages lie on each side of it is only
// known if nothing is left on one side.
func (sum Summary) replaces(below []Summary, verbatim int) (r replacement, ok bool) {
	total := verbatim
	for _, old := range below {
		if !old.NeedsRepair() {
			return r, false
		}
		total += old.Messages
	}
	if sum.Kind == Rollup {
		if len(below) != 1 || !below[0].IsRollup() || below[0].Span != sum.Span {
			return r, false
		}
		sum.Children = below[0].Children
	}
	for _, old := range below {
		for _, gap := range old.gaps([]Summary{sum}) {
			r.parts = append(r.parts, old.part(gap))
		}
	}
	switch left := total - sum.Messages; {
	case len(r.parts) == 0:
		sum.Messages = total
	case len(r.parts) > 1 || sum.Messages <= 0 || left < 0:
		return r, false
	case left == 0: // all messages on the other side were deleted
		r.parts = nil
	default:
		r.parts[0].Messages = left
	}
	r.row = sum
	return r, true
}

// part is a placeholder over a part of a summary.
func (sum Summary) part(sp Span) Summary {
	return Summary{
		Kind: Placeholder, Status: Applied, Trigger: OnRepair, Span: sp, First: sum.First, Last: sum.Last,
		Tokens: placeholderTokens, Owed: sum.Owed, Declined: sum.Declined,
	}
}

// join adds to a set what was applied together with it.
func (set *Set) join(other Set) {
	set.Made = append(set.Made, other.Made...)
	set.Ended = append(set.Ended, other.Ended...)
	set.Over = append(set.Over, other.Over...)
	set.Hid = append(set.Hid, other.Hid...)
	set.Messages += other.Messages
}

// keepSet enters the set into the state.
func (d *cover) keepSet() {
	if len(d.set.Made) == 0 {
		return
	}
	d.set.Version = d.Version + 1
	sets := append(slices.Clip(d.Sets), d.set)
	d.Sets = sets[max(len(sets)-setsKept, 0):]
}
