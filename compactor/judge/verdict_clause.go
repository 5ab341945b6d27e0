package judge

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/facts"
)

// clause is a part of a message between two signs.
type clause struct {
	facts facts.Text
	keys  []key
}

// clauses returns the clauses of a passage that has more than one number or date.
func (e *evidence) clauses(i int) []clause {
	p := e.read(i)
	if p.clauses == nil && len(p.facts.Numbers)+len(p.facts.Dates) > 1 {
		for _, text := range clausesOf(p.text) {
			p.clauses = append(p.clauses, clause{facts.Read(text, e.cast.languages), evidenceKeys("x " + text)})
		}
	}
	return p.clauses
}

// clausesOf splits a text at its punctuation, but not within numbers.
func clausesOf(text string) (all []string) {
	start := 0
	for at, r := range text {
		next, _ := utf8.DecodeRuneInString(text[at+utf8.RuneLen(r):])
		ends := strings.ContainsRune("\n;!?、，。；！？،؛؟…—", r) || strings.ContainsRune(",.:–", r) && !unicode.IsDigit(next)
		if ends && at > start {
			all = append(all, text[start:at])
			start = at
		}
	}
	return append(all, text[start:])
}

// isOfAnother reports whether the only message that a line cites has a fact of it in a clause that shares no word with the line which
// another clause, with another fact of its kind, does not share, while that one shares some alone: two words, or one if the line
// adds none to those of the message. It returns that message; -1 if it is not so.
func (x *comparison) isOfAnother(cited []int, has, other func(i int, f facts.Text) bool) (passage int) {
	if x.claim.foreign || len(cited) != 1 || x.claim.adds() {
		return -1
	}
	least := 2.0
	if x.addsNothing(cited[0]) {
		least = 0.9
	}
	var ofFact, ofOther []clause
	for _, clause := range x.e.clauses(cited[0]) {
		switch {
		case has(cited[0], clause.facts):
			ofFact = append(ofFact, clause)
		case other(cited[0], clause.facts):
			ofOther = append(ofOther, clause)
		}
	}
	if len(ofFact) == 0 || !slices.ContainsFunc(ofOther, func(of clause) bool {
		return x.claim.sharedBut(ofFact, []clause{of}) <= maxOfFact && x.claim.sharedBut([]clause{of}, ofFact) >= least
	}) {
		return -1
	}
	return cited[0]
}

// maxOfFact is the weight of the words that a line may share with the clause of a fact though it is about another clause.
const maxOfFact = 0.4

// sharedBut is the weight of the words that a line shares with clauses but not with others.
func (c *claim) sharedBut(clauses, others []clause) (weight float64) {
	for _, of := range c.keys {
		has := func(cl clause) bool {
			return slices.ContainsFunc(cl.keys, func(k key) bool { return of.short == k.short || of.stem == k.stem })
		}
		if !of.number && !c.tellsNothing(of) && slices.ContainsFunc(clauses, has) && !slices.ContainsFunc(others, has) {
			weight += of.weight
		}
	}
	return weight
}

// ofAnother is isOfAnother for a date.
func (x *dateCheck) ofAnother() int {
	meets := func(i int, o facts.Date) bool { return facts.Meet(x.d, x.e.passages[i].at, o, x.e.passages[i].at) }
	return x.isOfAnother(x.cited,
		func(i int, f facts.Text) bool {
			return slices.ContainsFunc(f.Dates, func(o facts.Date) bool { return !o.Soft && meets(i, o) })
		},
		func(i int, f facts.Text) bool {
			return slices.ContainsFunc(f.Dates, func(o facts.Date) bool {
				return !o.Soft && (o.Day != 0) == (x.d.Day != 0) && !slices.ContainsFunc(x.claim.facts.Dates, func(of facts.Date) bool {
					return !of.Soft && facts.Meet(of, x.e.passages[i].at, o, x.e.passages[i].at)
				})
			})
		})
}

// ofAnother is isOfAnother for a number.
func (x *numberCheck) ofAnother() int {
	return x.isOfAnother(x.cited,
		func(_ int, f facts.Text) bool {
			return slices.ContainsFunc(f.Numbers, func(m facts.Number) bool { return facts.Same(x.n, m) })
		},
		func(_ int, f facts.Text) bool {
			return slices.ContainsFunc(f.Numbers, func(m facts.Number) bool {
				return !m.Weak && !m.Dated && m.Unit == x.n.Unit && m.Ordinal == x.n.Ordinal && m.Code == x.n.Code && !x.claim.has(m)
			})
		})
}
