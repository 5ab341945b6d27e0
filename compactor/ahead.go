package compactor

import (
	"slices"

	"cairn/transcript"
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
	cut
}

// ahead returns the view with everything prepared applied.
func (c *Compactor) ahead() view {
	s := c.h.view
	if len(c.prepared) == 0 {
		return s
	}
	if p := c.prospect; p.revision != s.revision || p.rest != nil && p.seen != len(s.lines) || !slices.Equal(p.rows, transcript.IDs(c.prepared)) {
		c.prospect = s.prospect(c.prepared)
	}
	return s.in(c.prospect)
}

func (s view) prospect(rows []Summary) prospect {
	p := prospect{revision: s.revision, rows: transcript.IDs(rows), seen: len(s.lines), head: s.head, cut: cutOf(s.lines, rows)}
	p.head.Stack = slices.Clone(p.head.Stack)
	for _, row := range rows {
		p.head = withRow(p.head, row)
	}
	p.past = shownPast(p.head, s.shape)
	return p
}

func (s view) in(p prospect) view {
	s = s.withNewHead()
	s.head = p.head
	s.past = p.past
	s.lines = p.of(s.lines)
	s.lineCost = s.lineCost - p.tokens
	return s
}

func (s view) with(rows []Summary) view {
	if len(rows) == 0 {
		return s
	}
	return s.in(s.prospect(rows))
}

// cut is what leaves of some lines because rows cover it. Usually that is the oldest ones: then
// nothing is copied.
type cut struct {
	skip   int    // how many of the oldest lines leave
	rest   []line // replaces the lines behind them; nil: all of those stay
	tokens int    // of all lines that leave
}

func cutOf(lines []line, rows []Summary) (c cut) {
	for c.skip < len(lines) && covered(rows, lines[c.skip].Seq) {
		c.tokens += lines[c.skip].tokens
		c.skip++
	}
	if c.skip == len(lines) || !slices.ContainsFunc(rows, func(row Summary) bool { return row.To >= lines[c.skip].Seq }) {
		return c
	}
	c.rest = make([]line, 0, len(lines)-c.skip)
	for _, l := range lines[c.skip:] {
		if covered(rows, l.Seq) {
			c.tokens += l.tokens
		} else {
			c.rest = append(c.rest, l)
		}
	}
	return c
}

// of returns those of the lines, or of lines that begin with them, that stay.
func (c cut) of(lines []line) []line {
	if c.rest != nil {
		return c.rest
	}
	return lines[c.skip:]
}

// stackCost returns what counts against the stack's budget, in tokens.
func (s view) stackCost() int { return stackCost(s.head.Stack) + s.past.tokens }
