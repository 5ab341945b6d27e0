package summarize

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cairn/internal/facts"
	"cairn/internal/words"
)

// checkNumbers looks for each number of the line in the messages that it cites and in what they add up to; then, unless they have
// another number that the line leaves out, in the messages around them and in others that say something of it.
func (e *evidence) checkNumbers(c *claim, cited, telling []int) (wrong string, found bool) {
	near := e.near(cited)
	found = true
	for _, n := range c.facts.Numbers {
		if n.Weak && !n.Dated && n.Amount() > 1 && !e.hasNumber(n, cited) { // sei biglietti, which is six, but sei is also "you are"
			i, _ := e.rival(c, n, cited)
			found = found && i < 0
		}
		if n.Weak || n.Dated {
			continue
		}
		i, other := e.rival(c, n, cited)
		has := e.hasNumber(n, cited)
		if i < 0 && has {
			found = found && e.numberOfAnother(c, n, cited) < 0 && !e.isReplaced(c, n, cited) && !e.isDenied(c, n, cited)
			continue
		}
		repeats := e.repeats(c, cited)
		if e.elides(n, cited, near) || e.halves(n, cited) || e.isRate(n, cited) || !repeats && e.adds(c, n, cited, near, i >= 0) {
			continue
		}
		certain := !has && !e.mayCompute(c, n, cited, near)
		if i < 0 {
			i, other = e.otherNumber(c, n, telling)
			certain = certain && i >= 0 && (rivals(n, other) || c.counts() == 1 && e.onlyNumber(i))
		}
		if i >= 0 && !e.besideSays(c, i, func(k int) bool { return e.hasNumber(n, []int{k}) }) {
			if certain && !e.otherRates(c, i) {
				return fmt.Sprintf("#%d has %s, not %s", e.passages[i].seqs[0], other.Text, n.Text), false
			}
			found = false
		}
		if !n.Ordinal && !e.hasNumber(n, near) && !e.elsewhere(c, e.differs(c, n, cited), func(i int) bool { return e.hasNumber(n, []int{i}) }) && !e.lists(n, cited) {
			found = false
		}
	}
	return "", found
}

// isReplaced reports whether the last cited message that counts the same has another number than the line, which has that of an
// earlier one: a hundred shirts, and then sixty.
func (e *evidence) isReplaced(c *claim, n facts.Number, cited []int) bool {
	if len(cited) < 2 || n.Denied || c.sums() {
		return false
	}
	last := cited[len(cited)-1]
	if e.hasNumber(n, []int{last}) {
		return false
	}
	return slices.ContainsFunc(e.read(last).facts.Numbers, func(m facts.Number) bool {
		return isValue(m) && m.Unit == n.Unit && !m.Ordinal && !e.isIn(c, m) && (n.Unit != facts.None || len(m.Of) == 0 || facts.SameThing(n, m))
	})
}

// isDenied reports whether the cited messages have a number of the line only after a word for not: 64, not 46.
func (e *evidence) isDenied(c *claim, n facts.Number, cited []int) bool {
	if c.counts() > 1 { // it may deny it, too
		return false
	}
	denied := false
	for _, i := range cited {
		p := e.read(i)
		for _, m := range p.facts.Numbers {
			if !facts.Same(n, m) {
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

// otherNumber returns a number of the messages that the line should have instead of n, if it has none of them: the one most like n.
func (e *evidence) otherNumber(c *claim, n facts.Number, telling []int) (passage int, other facts.Number) {
	passage = -1
	for _, i := range telling {
		if e.read(i).facts.Cut {
			continue
		}
		for _, m := range e.read(i).facts.Numbers {
			if !m.Weak && !m.Dated && !(m.Day && (n.Unit != facts.None || len(n.Of) > 0)) && m.Ordinal == n.Ordinal && m.Code == n.Code && facts.Comparable(n, m) && !e.isIn(c, m) && (passage < 0 || rivals(n, m) && !rivals(n, other)) {
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
func (e *evidence) beside(c *claim) (all []int) {
	for i, o := range e.overlaps(c) {
		if i >= e.own && o.shared > 0 {
			all = append(all, i)
		}
	}
	return all
}

// isIn reports whether the line has a number of a message.
func (e *evidence) isIn(c *claim, m facts.Number) bool {
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

// lists reports whether a passage lists as many things, with or without a word such as "and" before the last one.
func (e *evidence) lists(n facts.Number, passages []int) bool {
	const fewest, most = 3, 12
	return len(n.Values) > 0 && n.Values[0] >= fewest && n.Values[0] <= most && slices.ContainsFunc(passages, func(i int) bool {
		text := e.passages[i].text
		apart := float64(strings.Count(text, ",") + strings.Count(text, "、") + strings.Count(text, "，") + 1)
		return n.Values[0] == apart || n.Values[0] == apart+1
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
func (e *evidence) differs(c *claim, n facts.Number, cited []int) bool {
	i, _ := e.otherNumber(c, n, e.inSpan(cited))
	return i >= 0
}

// inSpan returns those of the passages that are of the span.
func (e *evidence) inSpan(passages []int) []int {
	return slices.DeleteFunc(slices.Clone(passages), func(i int) bool { return i >= e.own })
}

// elsewhere reports whether a message that the line does not cite, but that shares a word with it, has something. What was shown
// beside the span counts unless only messages do.
func (e *evidence) elsewhere(c *claim, onlyMessages bool, has func(int) bool) bool {
	all := e.overlaps(c)
	if onlyMessages {
		all = all[:e.own]
	}
	for i, o := range all {
		if o.shared > 0 && has(i) {
			return true
		}
	}
	return false
}
