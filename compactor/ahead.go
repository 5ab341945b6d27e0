package compactor

import (
	"slices"
	"sort"
)

// The view as it will be once all prepared summaries are applied. Plans are made on it, so that
// nothing is summarized twice.

// prospect is the part of that view that appended messages do not change, so that a check copies no
// messages, however many there are.
type prospect struct {
	revision int     // revision of the view it was built from
	rows     []int64 // the rows applied in it
	seen     int     // how many lines the view had
	head     Head
	past     past
	skip     int    // how many of the oldest lines leave
	rest     []line // replaces the lines behind them; nil: all of those stay
	tokens   int    // of all lines that leave
}

// ahead returns the view with everything prepared applied.
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

// prospect returns the view with rows applied. Usually they cover the oldest lines: then nothing is
// copied.
func (s view) prospect(rows []Compaction) prospect {
	p := prospect{revision: s.revision, rows: idsOf(rows), seen: len(s.lines), head: s.head}
	for _, row := range rows {
		p.head = withRow(p.head, row)
	}
	p.past = shownPast(p.head, s.shape)
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

// in returns the view with the prospect applied.
func (s view) in(p prospect) view {
	s = s.withNewHead()
	s.head, s.past, s.lineCost = p.head, p.past, s.lineCost-p.tokens
	if s.lines = s.lines[p.skip:]; p.rest != nil {
		s.lines = p.rest
	}
	return s
}

// with returns the view with rows applied.
func (s view) with(rows []Compaction) view {
	if len(rows) == 0 {
		return s
	}
	return s.in(s.prospect(rows))
}

// indexOf returns the index of the first line at or after seq.
func (s view) indexOf(seq int64) int {
	return sort.Search(len(s.lines), func(i int) bool { return s.lines[i].Seq >= seq })
}

// stackCost returns what counts against the stack's budget, in tokens.
func (s view) stackCost() int { return stackCost(s.head.Stack) + s.past.tokens }
