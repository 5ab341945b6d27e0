package judge

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cairn/internal/facts"
	"cairn/internal/words"
)

// numberCheck compares one number of a claim with the messages that the claim cites.
type numberCheck struct {
	*comparison
	n     facts.Number
	cited []int // passages
	near  []int // these, and those around them
}

func (x *comparison) number(n facts.Number, cited, near []int) *numberCheck {
	return &numberCheck{x, n, cited, near}
}

// checkNumbers looks for each number of the line in the messages that it cites and in what they add up to; then, unless they have
// another number that the line leaves out, in the messages around them and in others that say something of it.
func (x *comparison) checkNumbers(cited, telling []int) (wrong string, found bool) {
	near := x.e.near(cited)
	found = true
	for _, n := range x.claim.facts.Numbers {
		number := x.number(n, cited, near)
		if n.Weak && !n.Dated && n.Amount() > 1 && !x.e.hasNumber(n, cited) { // sei biglietti, which is six, but sei is also "you are"
			i, _ := number.rival()
			found = found && i < 0
		}
		if n.Weak || n.Dated {
			continue
		}
		why, ok := number.check(telling)
		if why != "" {
			return why, false
		}
		found = found && ok
	}
	return "", found
}

// check looks for the number.
func (x *numberCheck) check(telling []int) (wrong string, found bool) {
	i, other := x.rival()
	has := x.e.hasNumber(x.n, x.cited)
	if i < 0 && has {
		return "", x.ofAnother() < 0 && !x.isReplaced() && !x.isDenied()
	}
	if x.elides() || x.halves() || x.isRate() || !x.repeats(x.cited) && x.adds(i >= 0) {
		return "", true
	}
	certain := !has && !x.mayCompute()
	if i < 0 {
		i, other = x.other(telling)
		certain = certain && i >= 0 && (rivals(x.n, other) || x.claim.counts() == 1 && x.e.onlyNumber(i))
	}
	found = true
	if i >= 0 && !x.besideSays(i, x.isAt) {
		if certain && !x.otherRates(i) {
			return fmt.Sprintf("#%d has %s, not %s", x.e.passages[i].seqs[0], other.Text, x.n.Text), false
		}
		found = false
	}
	if !x.n.Ordinal && !x.e.hasNumber(x.n, x.near) && !x.elsewhere(x.differs(), x.isAt) && !x.isListed() {
		found = false
	}
	return "", found
}

// isAt reports whether a passage has the number.
func (x *numberCheck) isAt(i int) bool { return x.e.hasNumber(x.n, []int{i}) }

// isReplaced reports whether the last cited message that counts the same has another number than the line, which has that of an
// earlier one: a hundred shirts, and then sixty.
func (x *numberCheck) isReplaced() bool {
	if len(x.cited) < 2 || x.n.Denied || x.claim.sums() {
		return false
	}
	last := x.cited[len(x.cited)-1]
	if x.e.hasNumber(x.n, []int{last}) {
		return false
	}
	return slices.ContainsFunc(x.e.read(last).facts.Numbers, func(m facts.Number) bool {
		return isValue(m) && m.Unit == x.n.Unit && !m.Ordinal && !x.claim.has(m) && (x.n.Unit != facts.None || len(m.Of) == 0 || facts.SameThing(x.n, m))
	})
}

// isDenied reports whether the cited messages have a number of the line only after a word for not: 64, not 46.
func (x *numberCheck) isDenied() bool {
	if x.claim.counts() > 1 { // it may deny it, too
		return false
	}
	denied := false
	for _, i := range x.cited {
		p := x.e.read(i)
		for _, m := range p.facts.Numbers {
			if !facts.Same(x.n, m) {
				continue
			}
			if !m.Denied {
				return false
			}
			denied = true
		}
	}
	return denied
}

// other returns a number of the messages that the line should have instead of n, if it has none of them: the one most like n.
func (x *numberCheck) other(telling []int) (passage int, other facts.Number) {
	passage = -1
	for _, i := range telling {
		if x.e.read(i).facts.Cut {
			continue
		}
		for _, m := range x.e.read(i).facts.Numbers {
			if !m.Weak && !m.Dated && !(m.Day && (x.n.Unit != facts.None || len(x.n.Of) > 0)) && m.Ordinal == x.n.Ordinal && m.Code == x.n.Code && facts.Comparable(x.n, m) && !x.claim.has(m) && (passage < 0 || rivals(x.n, m) && !rivals(x.n, other)) {
				passage = i
				other = m
			}
		}
	}
	return passage, other
}

// onlyNumber reports whether a message has only one number.
func (e *evidence) onlyNumber(i int) bool {
	n := 0
	for _, m := range e.read(i).facts.Numbers {
		if !m.Dated {
			n++
		}
	}
	return n == 1
}

// beside returns the passages that are no part of the span and say something of a line.
func (x *comparison) beside() (all []int) {
	for i, o := range x.overlaps() {
		if i >= x.e.spanEnd && o.shared > 0 {
			all = append(all, i)
		}
	}
	return all
}

// has reports whether the line has a number of a message.
func (c *claim) has(m facts.Number) bool {
	return slices.ContainsFunc(c.facts.Numbers, func(n facts.Number) bool {
		return facts.Same(n, m) && !(n.Weak && words.IsUnspaced(firstRune(n.Text))) // a character of a name
	})
}

func (e *evidence) hasNumber(n facts.Number, passages []int) bool {
	for _, i := range passages {
		p := e.read(i)
		if slices.ContainsFunc(p.facts.Numbers, func(m facts.Number) bool { return facts.Same(n, m) }) {
			return true
		}
		if meansYear(p, n) {
			return true
		}
	}
	return false
}

// isListed reports whether a cited passage lists as many things, with or without a word such as "and" before the last one.
func (x *numberCheck) isListed() bool {
	const minListed, maxListed = 3, 12
	return len(x.n.Values) > 0 && x.n.Values[0] >= minListed && x.n.Values[0] <= maxListed && slices.ContainsFunc(x.cited, func(i int) bool {
		text := x.e.passages[i].text
		apart := float64(strings.Count(text, ",") + strings.Count(text, "、") + strings.Count(text, "，") + 1)
		return x.n.Values[0] == apart || x.n.Values[0] == apart+1
	})
}

// meansYear reports whether a number may be the year in which a passage was written, or of a time that it states without the year:
// last year, two years ago.
func meansYear(p *passage, n facts.Number) bool {
	if len(n.Values) == 0 {
		return false
	}
	switch away := math.Abs(n.Values[0] - float64(p.at.Year())); {
	case away == 0, away == 1 && slices.Contains(p.facts.Rates, facts.Years):
		return true
	case n.Unit != facts.None, n.Ordinal:
		return false
	}
	from := time.Date(int(n.Values[0]), 1, 1, 0, 0, 0, 0, time.UTC)
	year := facts.DaysFrom(from, from.AddDate(1, 0, 0))
	return slices.ContainsFunc(softDates(p), func(o facts.Date) bool {
		return slices.ContainsFunc(o.Spans(p.at), year.Meets)
	})
}

// differs reports whether a message of the span that the line cites has a number that may be meant by n, and is another one.
func (x *numberCheck) differs() bool {
	i, _ := x.other(x.e.inSpan(x.cited))
	return i >= 0
}

// inSpan returns those of the passages that are of the span.
func (e *evidence) inSpan(passages []int) []int {
	return slices.DeleteFunc(slices.Clone(passages), func(i int) bool { return i >= e.spanEnd })
}

// elsewhere reports whether a message that the line does not cite, but that shares a word with it, has something. What was shown
// beside the span counts unless only messages do.
func (x *comparison) elsewhere(onlyMessages bool, has func(int) bool) bool {
	all := x.overlaps()
	if onlyMessages {
		all = all[:x.e.spanEnd]
	}
	for i, o := range all {
		if o.shared > 0 && has(i) {
			return true
		}
	}
	return false
}
