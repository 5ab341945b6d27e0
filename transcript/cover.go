package transcript

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"
)

// Stretch is the content of a span.
type Stretch struct {
	Messages    int       // deleted ones not counted
	First, Last time.Time // when the first and the last of them were sent
}

// Cover applies prepared summaries: each replaces its span. Leaves come first, the oldest span
// first, then rollups in the order given.
//
// A leaf is applied if nothing covers its messages, or only summaries that need repair: it
// replaces those, and their parts beyond the span stay behind placeholders. A rollup is applied
// if the summaries below it are its children, or placeholders, which it has read from their
// messages; they are rolled up. A repair of a rollup replaces it and takes over its
// children, which stay rolled up. What can no longer be applied becomes stale. A summary that would hide messages while older ones are
// verbatim waits, and so do rollups of it: the prompt stays in order. A summary keeps the lines that people wrote
// in those that it takes the place of, and which they removed.
//
// clearTo, if greater than ClearedTo, replaces it in the same change. count counts the messages of
// such a part, which a State does not contain.
func (s *State) Cover(ids []int64, clearTo int64, count func(Span) Stretch) (c Change, stale, wait []int64) {
	d := &cover{draft: s.draft(), count: count}
	for _, row := range s.inOrder(ids) {
		id := row.ID
		waits := slices.ContainsFunc(row.Children, func(child int64) bool { return slices.Contains(wait, child) })
		switch {
		case waits || d.outOfOrder(row):
			wait = append(wait, id)
		case !d.apply(row):
			d.put(row.retire(Stale))
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
	return d.headChange(), stale, wait
}

// inOrder returns the prepared summaries with ids, in the order in which to apply them.
func (s *State) inOrder(ids []int64) (rows []Summary) {
	for _, id := range ids {
		if i := indexOf(s.Prepared, id); i >= 0 {
			rows = append(rows, s.Prepared[i])
		}
	}
	place := func(row Summary) int64 {
		if row.Kind == Leaf {
			return row.From
		}
		return math.MaxInt64
	}
	slices.SortStableFunc(rows, func(a, b Summary) int { return cmp.Compare(place(a), place(b)) })
	return rows
}

// cover is a draft in which summaries are applied.
type cover struct {
	*draft
	count   func(Span) Stretch
	applied bool // at least one was applied
}

// outOfOrder reports whether a leaf would hide messages while an older one is verbatim.
func (d *cover) outOfOrder(row Summary) bool {
	return row.Kind == Leaf && len(d.Messages.In(row.Span)) > 0 && d.Messages[0].Seq < row.From
}

// apply replaces a span with its summary, and reports whether it could.
func (d *cover) apply(row Summary) (ok bool) {
	below := slices.Clone(d.covering(row.Span))
	verbatim := len(d.Messages.In(row.Span))
	if !d.inOneSession(row.Span) || len(below) == 0 && (verbatim == 0 || row.Trigger == OnRepair) {
		return false
	}
	as := Replaced
	parts := []Summary(nil)
	if row.Kind == Rollup && row.Trigger != OnRepair {
		as = RolledUp
		row, ok = rollUp(row, below)
		ok = ok && verbatim == 0
	} else {
		row, parts, ok = row.replaces(below, verbatim, d.count)
	}
	if !ok {
		return false
	}
	for _, old := range below {
		old.State = as
		d.put(old)
	}
	for _, part := range parts {
		d.add(part)
	}
	row = row.inPlaceOf(below...)
	row.State = Applied
	d.put(row)
	d.applied = true
	if row.Trigger == OnAggressive || row.Trigger == OnManual {
		d.Spared = Span{}
	}
	return true
}

// rollUp returns the rollup of the rows below it; ok is false if it has not read all of them.
func rollUp(row Summary, below []Summary) (rollup Summary, ok bool) {
	rollup = row
	rollup.Children = nil
	rollup.Messages = 0
	for _, child := range below {
		read := child.Kind == Placeholder || slices.Contains(row.Children, child.ID)
		if !read || !child.Within(row.Span) {
			return row, false
		}
		rollup.Children = append(rollup.Children, child.ID)
		rollup.Messages += child.Messages
	}
	return rollup, true
}

// replaces returns what becomes of a summary, and the placeholders that are left of those below it,
// if it replaces them and hides that many verbatim messages.
func (sum Summary) replaces(below []Summary, verbatim int, count func(Span) Stretch) (row Summary, parts []Summary, ok bool) {
	if slices.ContainsFunc(below, func(old Summary) bool { return !old.NeedsRepair() }) {
		return sum, nil, false
	}
	if sum.Kind == Rollup {
		if len(below) != 1 || !below[0].IsRollup() || below[0].Span != sum.Span {
			return sum, nil, false
		}
		sum.Children = below[0].Children
	}
	sum.Messages = verbatim
	for _, old := range below {
		sum.Messages += old.Messages
		for _, part := range old.beyond(sum) {
			in := count(part.Span)
			if in.Messages == 0 { // all of them were deleted
				continue
			}
			sum.Messages -= in.Messages
			part.Messages = in.Messages
			part.FromTime = in.First
			part.ToTime = in.Last
			parts = append(parts, part)
		}
	}
	return sum, parts, true
}

// What follows is the same for State.Cover and View.Ahead, which knows no count.

// overlapping returns the range of the rows, which are in order, that overlap a span.
func overlapping(rows []Summary, sp Span) (from, to int) {
	from = sort.Search(len(rows), func(i int) bool { return rows[i].To >= sp.From })
	to = from
	for to < len(rows) && rows[to].From <= sp.To {
		to++
	}
	return from, to
}

// beyond returns placeholders over the parts of a summary that stay hidden when another one takes its place.
func (sum Summary) beyond(other Summary) (parts []Summary) {
	for _, gap := range sum.Gaps([]Summary{other}) {
		parts = append(parts, Summary{
			Kind: Placeholder, By: Nobody, State: Applied, Trigger: OnRepair, Span: gap,
			AwaitsModel: sum.AwaitsModel, Declined: sum.Declined, DroppedLines: Removed(sum),
		})
	}
	return parts
}

// inPlaceOf returns the summary with what people did in those that it takes the place of: lines that they wrote, and which
// they removed.
func (sum Summary) inPlaceOf(below ...Summary) Summary {
	sum = sum.Keeping(below...)
	return sum.Dropping(Removed(below...)...)
}
