// The view as it will be once prepared summaries are applied. Plans are made on it, so that nothing
// is summarized twice. What a summary takes the place of is decided as State.Cover does; what is left of
// that is estimated, because only the store can count it.

package transcript

import (
	"cmp"
	"slices"
)

// Ahead is the part of such a view that appended messages do not change, so that a check copies no
// messages, however many there are. The zero value belongs to no view.
type Ahead struct {
	revision int     // of the view it was built from
	rows     []int64 // the rows applied in it
	seen     int     // how many messages the view had
	head     Head
	past     Past
	cut
}

// Ahead returns the view with rows applied, and what to pass as last the next time.
func (v View) Ahead(rows []Summary, last Ahead) (View, Ahead) {
	if len(rows) == 0 {
		return v, last
	}
	if !last.fits(v, rows) {
		last = aheadOf(v, rows)
	}
	return last.appliedTo(v), last
}

func aheadOf(v View, rows []Summary) Ahead {
	a := Ahead{revision: v.Revision, rows: IDs(rows), seen: len(v.Messages), head: v.Head, cut: cutOf(v.Messages, rows)}
	a.head.Stack = slices.Clone(a.head.Stack)
	for _, row := range rows {
		a.head = a.head.covering(row)
	}
	a.past = pastOf(a.head, v.Shape, v.shorten)
	return a
}

// fits reports whether it is what aheadOf returns for a view and rows.
func (a Ahead) fits(v View, rows []Summary) bool {
	return a.revision == v.Revision && (a.rest == nil || a.seen == len(v.Messages)) && slices.Equal(a.rows, IDs(rows))
}

// appliedTo returns the view with the rows applied.
func (a Ahead) appliedTo(v View) View {
	v = v.WithoutOldContexts()
	v.Head = a.head
	v.Past = a.past
	v.Messages = a.of(v.Messages)
	v.MessageCost = v.MessageCost - a.tokens
	return v
}

// covering returns the head with an applied row, in a stack that it may change.
func (h Head) covering(row Summary) Head {
	if row.From >= h.Start {
		h.Stack = insert(h.Stack, row)
		return h
	}
	h.Earlier = slices.Clone(h.Earlier)
	for i, s := range h.Earlier {
		if s.From <= row.From && row.To <= s.To {
			h.Earlier[i].Rows = insert(slices.Clone(s.Rows), row)
		}
	}
	return h
}

// PlaceholderCost is the cost of a placeholder's line, in tokens.
const PlaceholderCost = 24

// insert puts row into stack, which it changes, in place of what it covers. What is left of rows that
// it overlaps in part becomes placeholders.
func insert(stack []Summary, row Summary) []Summary {
	from, to := overlapping(stack, row.Span)
	in := []Summary{row.inPlaceOf(stack[from:to]...)}
	for _, old := range stack[from:to] {
		for _, part := range old.beyond(row) {
			part.ID = old.ID
			part.Cut = true
			part.Tokens = PlaceholderCost
			part.Messages = old.Messages
			part.FromTime = old.FromTime
			part.ToTime = old.ToTime
			in = append(in, part)
		}
	}
	slices.SortFunc(in, func(a, b Summary) int { return cmp.Compare(a.From, b.From) })
	return slices.Replace(stack, from, to, in...)
}

// cut is what leaves of some messages because rows cover it. Usually that is the oldest ones: then
// nothing is copied.
type cut struct {
	skip   int        // how many of the oldest messages leave
	rest   []Verbatim // replaces the messages behind them; nil: all of those stay
	tokens int        // of all messages that leave
}

func cutOf(messages []Verbatim, rows []Summary) (c cut) {
	for c.skip < len(messages) && covers(rows, messages[c.skip].Seq) {
		c.tokens += messages[c.skip].As.Tokens
		c.skip++
	}
	if c.skip == len(messages) || !slices.ContainsFunc(rows, func(row Summary) bool { return row.To >= messages[c.skip].Seq }) {
		return c
	}
	c.rest = make([]Verbatim, 0, len(messages)-c.skip)
	for _, m := range messages[c.skip:] {
		if covers(rows, m.Seq) {
			c.tokens += m.As.Tokens
		} else {
			c.rest = append(c.rest, m)
		}
	}
	return c
}

// of returns those of the messages, or of messages that begin with them, that stay.
func (c cut) of(messages []Verbatim) []Verbatim {
	if c.rest != nil {
		return c.rest
	}
	return messages[c.skip:]
}

// Uncovered returns the messages that no row covers, and the tokens of the others.
func Uncovered(messages []Verbatim, rows []Summary) (left []Verbatim, covered int) {
	c := cutOf(messages, rows)
	return c.of(messages), c.tokens
}

func covers(rows []Summary, seq int64) bool {
	return slices.ContainsFunc(rows, func(row Summary) bool { return row.Covers(seq) })
}
