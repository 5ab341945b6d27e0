package summarize

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
			p.clauses = append(p.clauses, clause{facts.Read(text, e.languages), evidenceKeys("x " + text)})
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

// isOfAnother reports whether the only message that a line cites has a fact of it only in clauses that say nothing else of the line,
// and another fact of its kind in a clause that says a lot of it. It returns that message; -1 if it is not so.
func (e *evidence) isOfAnother(c *claim, cited []int, has, other func(i int, f facts.Text) bool) (passage int) {
	const most, least = 0.4, 2
	if c.foreign || len(cited) != 1 {
		return -1
	}
	found, rival := false, false
	for _, clause := range e.clauses(cited[0]) {
		shared := clause.shared(c)
		if has(cited[0], clause.facts) {
			if shared > most {
				return -1
			}
			found = true
			continue
		}
		rival = rival || shared >= least && other(cited[0], clause.facts)
	}
	if !found || !rival {
		return -1
	}
	return cited[0]
}

// shared is the weight of the words that a clause shares with a line.
func (cl *clause) shared(c *claim) (weight float64) {
	for _, of := range c.keys {
		if at := slices.IndexFunc(cl.keys, func(k key) bool { return of.short == k.short || of.stem == k.stem }); at >= 0 && !of.number {
			weight += of.weight
		}
	}
	return weight
}

// dateOfAnother is isOfAnother for a date.
func (e *evidence) dateOfAnother(c *claim, d facts.Date, cited []int) int {
	meets := func(i int, o facts.Date) bool { return facts.Meet(d, e.passages[i].at, o, e.passages[i].at) }
	return e.isOfAnother(c, cited,
		func(i int, f facts.Text) bool {
			return slices.ContainsFunc(f.Dates, func(o facts.Date) bool { return !o.Soft && meets(i, o) })
		},
		func(i int, f facts.Text) bool {
			return slices.ContainsFunc(f.Dates, func(o facts.Date) bool {
				return !o.Soft && (o.Day != 0) == (d.Day != 0) && !slices.ContainsFunc(c.facts.Dates, func(of facts.Date) bool {
					return !of.Soft && facts.Meet(of, e.passages[i].at, o, e.passages[i].at)
				})
			})
		})
}

// numberOfAnother is isOfAnother for a number.
func (e *evidence) numberOfAnother(c *claim, n facts.Number, cited []int) int {
	return e.isOfAnother(c, cited,
		func(_ int, f facts.Text) bool {
			return slices.ContainsFunc(f.Numbers, func(m facts.Number) bool { return facts.Same(n, m) })
		},
		func(_ int, f facts.Text) bool {
			return slices.ContainsFunc(f.Numbers, func(m facts.Number) bool {
				return !m.Weak && !m.Dated && m.Unit == n.Unit && m.Ordinal == n.Ordinal && m.Code == n.Code && !e.isIn(c, m)
			})
		})
}
