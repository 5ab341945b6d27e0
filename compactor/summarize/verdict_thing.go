package summarize

import (
	"slices"

	"cairn/internal/facts"
)

// rival returns a number of the cited messages that counts the same thing as n in the line, where the line should have it: they
// do not say n of that thing, and the line does not have their number.
func (e *evidence) rival(c *claim, n facts.Number, cited []int) (passage int, other facts.Number) {
	if len(n.Of) == 0 {
		return -1, other
	}
	passage = -1
	for _, i := range cited {
		if e.read(i).facts.Cut {
			return -1, other
		}
		for _, m := range e.passages[i].facts.Numbers {
			switch {
			case facts.Same(n, m) && counts(m) && (len(m.Of) == 0 || facts.SameThing(n, m)):
				return -1, other
			case passage < 0 && counts(m) && !m.Weak && m.Ordinal == n.Ordinal && facts.CountAlike(n, m) && !e.isIn(c, m):
				passage, other = i, m
			}
		}
	}
	return passage, other
}

// counts reports whether a number counts things: it is no part of a date or name.
func counts(n facts.Number) bool { return !n.Dated && !n.Code && n.Unit == facts.None }

// names reports whether the line has a word for what a number counts.
func (c *claim) names(n facts.Number) bool {
	return slices.ContainsFunc(n.Of, func(thing string) bool {
		return slices.ContainsFunc(evidenceKeys("x "+thing), func(k key) bool {
			return slices.ContainsFunc(c.keys, func(of key) bool { return of.short == k.short || of.stem == k.stem })
		})
	})
}

// byLeader returns those of the passages whose author the line begins with.
func (e *evidence) byLeader(c *claim, passages []int) []int {
	return slices.DeleteFunc(slices.Clone(passages), func(i int) bool {
		return !c.leads || len(c.people) == 0 || e.passages[i].author != c.people[0]
	})
}

// besideSays reports whether what was shown beside the span says a fact of the line, though a message of the span that it cites
// has another one: it says as much of the line as that message does.
func (e *evidence) besideSays(c *claim, passage int, has func(int) bool) bool {
	least := e.overlap(c, passage).words
	return slices.ContainsFunc(e.beside(c), func(i int) bool { return e.overlap(c, i).words >= least && has(i) })
}
