package compactor

import (
	"slices"
	"sort"
)

// The view as it will be when everything that is prepared has been applied: plans are made
// on it, so that nothing is summarized twice.

// prospect is that view, as far as it does not change when messages are appended: so a
// check copies none of them, however many there are.
type prospect struct {
	revision int     // of the view it was made of
	rows     []int64 // that are applied in it
	seen     int     // how many lines the view had
	head     Head
	past     past
	skip     int    // how many lines leave, from the oldest on
	rest     []line // in place of what is behind them; nil: nothing of it leaves
	tokens   int    // of all lines that leave
}

// ahead is the view once everything that is prepared has been applied.
func (c *Compactor) ahead() view {
	s := c.h.view
	if len(c.prepared) == 0 {
		return s
	}
	if p := c.prospect; p.revision != s.revision || p.rest != nil && p.seen != len(s.lines) || !slices.Equal(p.rows, idsOf(c.prepared)) {
		c.prospect = s.prospect(c.prepared)
	}
	return s.in(c.prospect)
}

// prospect is what rows make of the view. Usually they cover the oldest lines: then
// nothing is copied.
func (s view) prospect(rows []Compaction) prospect {
	p := prospect{revision: s.revision, rows: idsOf(rows), seen: len(s.lines), head: s.head}
	for _, row := range rows {
		p.head = p.head.with(row)
	}
	p.past = p.head.past(s.shape)
	for p.skip < len(s.lines) && covered(rows, s.lines[p.skip].Seq) {
		p.tokens += s.lines[p.skip].tokens
		p.skip++
	}
	if p.skip == len(s.lines) || !slices.ContainsFunc(rows, func(row Compaction) bool { return row.To >= s.lines[p.skip].Seq }) {
		return p
	}
	p.rest = make([]line, 0, len(s.lines)-p.skip)
	for _, l := range s.lines[p.skip:] {
		if covered(rows, l.Seq) {
			p.tokens += l.tokens
		} else {
			p.rest = append(p.rest, l)
		}
	}
	return p
}

// in is the view in a prospect of it.
func (s view) in(p prospect) view {
	s = s.withNewHead()
	s.head, s.past, s.lineCost = p.head, p.past, s.lineCost-p.tokens
	if s.lines = s.lines[p.skip:]; p.rest != nil {
		s.lines = p.rest
	}
	return s
}

// with is the view once rows were applied.
func (s view) with(rows []Compaction) view {
	if len(rows) == 0 {
		return s
	}
	return s.in(s.prospect(rows))
}

// indexOf is where the first line of seq or behind it stands.
func (s view) indexOf(seq int64) int {
	return sort.Search(len(s.lines), func(i int) bool { return s.lines[i].Seq >= seq })
}

// stackCost is what counts in the stack's budget, in tokens.
func (s view) stackCost() int { return stackCost(s.head.Stack) + s.past.tokens }
