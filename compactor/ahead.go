package compactor

import (
	"slices"
	"sort"
)

// ahead returns the view as it will be once all prepared summaries are applied. Plans are made on
// it, so that nothing is summarized twice.
func (c *Compactor) ahead() view { return c.h.view.with(c.prepared) }

// with returns the view as it will be once rows are applied. It copies no messages unless rows cover
// other messages than the oldest.
func (s view) with(rows []Compaction) view {
	if len(rows) == 0 {
		return s
	}
	s = s.withNewHead()
	for _, row := range rows {
		s.head = withRow(s.head, row)
	}
	if slices.ContainsFunc(rows, func(row Compaction) bool { return row.From < s.head.Start }) {
		s.past = shownPast(s.head, s.shape)
	}
	s.setLines(uncovered(s.lines, rows))
	return s
}

// uncovered returns the lines that no row covers.
func uncovered(lines []line, rows []Compaction) []line {
	for len(lines) > 0 && covered(rows, lines[0].Seq) {
		lines = lines[1:]
	}
	if len(lines) == 0 || !slices.ContainsFunc(rows, func(row Compaction) bool { return row.To >= lines[0].Seq }) {
		return lines
	}
	return slices.DeleteFunc(slices.Clone(lines), func(l line) bool { return covered(rows, l.Seq) })
}

func (s view) indexOf(seq int64) int {
	return sort.Search(len(s.lines), func(i int) bool { return s.lines[i].Seq >= seq })
}

// lineAt returns the line of the message seq; ok is false if it is not verbatim.
func (s view) lineAt(seq int64) (l line, ok bool) {
	if i := s.indexOf(seq); i < len(s.lines) && s.lines[i].Seq == seq {
		return s.lines[i], true
	}
	return l, false
}

// stackCost returns what counts against the stack's budget, in tokens.
func (s view) stackCost() int { return stackCost(s.head.Stack) + s.past.tokens }
