package summarize

import (
	"fmt"
	"math"
	"slices"

	"cairn/internal/facts"
	"cairn/internal/words"
)

// checkNumbers looks for each number of the line in the messages that it cites and in what they add up to; then, unless they have
// another number that the line leaves out, in the messages around them and in others that say something of it.
func (e *evidence) checkNumbers(c *claim, cited, telling []int) (wrong string, found bool) {
	near := e.near(cited)
	found = true
	for _, n := range c.facts.Numbers {
		if n.Weak || n.Dated {
			continue
		}
		i, other := e.rival(c, n, cited)
		has := e.hasNumber(n, cited)
		if i < 0 && has {
			found = found && e.numberOfAnother(c, n, cited) < 0
			continue
		}
		repeats := e.repeats(c, cited)
		if e.elides(n, cited, near) || e.halves(n, cited) || !repeats && e.adds(c, n, cited, near, i >= 0) {
			continue
		}
		sure := !has && !(repeats && e.adds(c, n, cited, near, i >= 0))
		if i < 0 {
			i, other = e.otherNumber(c, n, telling)
			sure = sure && i >= 0 && (rivals(n, other) || c.counts() == 1 && e.onlyNumber(i))
		}
		if i >= 0 && !e.besideSays(c, i, func(k int) bool { return e.hasNumber(n, []int{k}) }) {
			if sure {
				return fmt.Sprintf("#%d has %s, not %s", e.passages[i].seqs[0], other.Text, n.Text), false
			}
			found = false
		}
		if !n.Ordinal && !e.hasNumber(n, near) && !e.elsewhere(c, e.differs(c, n, cited), func(i int) bool { return e.hasNumber(n, []int{i}) }) {
			found = false
		}
	}
	return "", found
}

// adds reports whether a number follows from those of the cited messages, or of one of them and one beside it.
func (e *evidence) adds(c *claim, n facts.Number, cited, near []int, hasRival bool) bool {
	return e.derives(c, n, cited, hasRival) || e.derivesBeside(c, n, cited, near, hasRival)
}

// derivesBeside reports whether a number is the sum or difference of one that a cited message has and one in a message around it,
// or the share of one that the other tells in percent. Round numbers would be so by chance.
func (e *evidence) derivesBeside(c *claim, n facts.Number, cited, near []int, hasRival bool) bool {
	const least = 100
	if len(n.Values) == 0 || n.Values[0] < least || n.Unit == facts.Clock {
		return false
	}
	round := n.Values[0]
	for round >= least {
		round /= 10
	}
	if math.Mod(round, 5) == 0 {
		return false
	}
	own, ownPercents := e.values(cited)
	others, percents := e.values(near)
	for _, a := range e.addends(c, n, cited, hasRival) {
		for _, b := range e.addends(c, n, near, hasRival) {
			if n.Values[0] == a+b || n.Values[0] == math.Abs(a-b) {
				return true
			}
		}
	}
	return sharesOf(n.Values[0], own, percents) || sharesOf(n.Values[0], others, ownPercents)
}

// values returns the numbers of passages, and those in percent as parts of one.
func (e *evidence) values(passages []int) (values, percents []float64) {
	for _, i := range passages {
		for _, m := range e.read(i).facts.Numbers {
			if !isValue(m) {
				continue
			}
			values = append(values, m.Amount())
			if m.Unit == facts.Percent {
				percents = append(percents, m.Values[0]/100)
			}
		}
	}
	return values, percents
}

// isValue reports whether a number can be part of a sum.
func isValue(m facts.Number) bool {
	return len(m.Values) > 0 && !m.Dated && (!m.Weak || m.Unit >= facts.Minutes || m.Values[0] != math.Trunc(m.Values[0]))
}

// addends returns the numbers of passages that may add up to n. If the passages count the same thing otherwise, these are of that
// thing, of one that the line names, or of none that is known.
func (e *evidence) addends(c *claim, n facts.Number, passages []int, hasRival bool) (values []float64) {
	for _, i := range passages {
		for _, m := range e.read(i).facts.Numbers {
			if isValue(m) && m.Unit != facts.Clock && len(m.Part) == 0 && (!hasRival || m.Unit == facts.None && (len(m.Of) == 0 || facts.SameThing(n, m) || c.names(m))) {
				values = append(values, m.Amount())
			}
		}
	}
	return values
}

// halves reports whether a number is half of one in the passages, if one of them speaks of halves.
func (e *evidence) halves(n facts.Number, passages []int) bool {
	if !slices.ContainsFunc(passages, func(i int) bool { return e.read(i).facts.Half }) {
		return false
	}
	values, _ := e.values(passages)
	return slices.ContainsFunc(values, func(v float64) bool { return slices.Contains(n.Values, v/2) })
}

// sharesOf reports whether want is a value, raised or reduced by a share, the share of it, or what it is the share of.
func sharesOf(want float64, values, shares []float64) bool {
	for _, a := range values {
		for _, share := range shares {
			if facts.Near(want, a*share) || facts.Near(want, a/share) || facts.Near(want, a*(1-share)) || facts.Near(want, a*(1+share)) {
				return true
			}
		}
	}
	return false
}

// elides reports whether a message has a number of thousands without saying so, as in an answer to one who does.
func (e *evidence) elides(n facts.Number, cited, near []int) bool {
	if len(n.Values) == 0 || n.Values[0] < 1000 || math.Mod(n.Values[0], 100) != 0 {
		return false
	}
	thousands := slices.ContainsFunc(near, func(i int) bool {
		return slices.ContainsFunc(e.read(i).facts.Numbers, func(m facts.Number) bool {
			return !m.Dated && len(m.Values) > 0 && m.Values[0] >= 1000 && math.Mod(m.Values[0], 1000) == 0
		})
	})
	return thousands && slices.ContainsFunc(cited, func(i int) bool {
		return slices.ContainsFunc(e.read(i).facts.Numbers, func(m facts.Number) bool {
			return !m.Dated && !m.Weak && (m.Unit == facts.None || m.Unit == facts.Money) && len(m.Values) > 0 && 1000*m.Values[0] == n.Values[0]
		})
	})
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
				passage, other = i, m
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
	for i := e.own; i < len(e.passages); i++ {
		if e.overlap(c, i).shared > 0 {
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
		if len(n.Values) > 0 && n.Values[0] == float64(p.at.Year()) {
			return true
		}
	}
	return false
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
	all := e.passages
	if onlyMessages {
		all = all[:e.own]
	}
	for i := range all {
		if e.overlap(c, i).shared > 0 && has(i) {
			return true
		}
	}
	return false
}

// derives reports whether a number is a sum, difference, product, quotient or count of what the cited messages have.
func (e *evidence) derives(c *claim, n facts.Number, cited []int, hasRival bool) bool {
	if len(n.Values) == 0 || n.Unit == facts.Clock {
		return false
	}
	values, percents := e.values(cited)
	addends := e.addends(c, n, cited, hasRival)
	total, thousands := 0.0, false
	for _, v := range values {
		total += v
		thousands = thousands || v >= 1000 && math.Mod(v, 1000) == 0
	}
	if thousands {
		for _, v := range values {
			if v < 1000 {
				values = append(values, 1000*v) // eighteen thousand, and nine more
				addends = append(addends, 1000*v)
			}
		}
	}
	if !hasRival && n.Values[0] == float64(len(cited)) && len(cited) > 1 || len(values) > 1 && (len(values) > 2 || !hasRival) && n.Values[0] == total {
		return true
	}
	wanted := append(slices.Clone(n.Values), e.inUnits(n, cited)...)
	if n.Unit == facts.Cents {
		wanted = []float64{n.Amount()}
	}
	for _, want := range wanted {
		for i, a := range addends {
			for _, b := range addends[i+1:] {
				if facts.Equal(want, a+b) || facts.Equal(want, math.Abs(a-b)) {
					return true
				}
			}
		}
		if sharesOf(want, values, percents) {
			return true
		}
		for i, a := range values {
			for _, b := range values[i+1:] {
				if facts.Equal(want, a*b) || !hasRival && (quotient(want, a, b) || quotient(want, b, a)) {
					return true
				}
			}
		}
	}
	return false
}

// inUnits returns a length of time in the units of those that passages have.
func (e *evidence) inUnits(n facts.Number, passages []int) (values []float64) {
	for _, i := range passages {
		for _, m := range e.read(i).facts.Numbers {
			if value, ok := n.In(m.Unit); ok && m.Unit != n.Unit {
				values = append(values, value)
			}
		}
	}
	return values
}

// quotient reports whether want is a/b, rounded.
func quotient(want, a, b float64) bool {
	return b > 1 && want != 0 && math.Abs(want-a/b) <= math.Max(0.005, 0.001*want)
}
