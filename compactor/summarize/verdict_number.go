package summarize

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cairn/internal/facts"
)

// checkNumbers looks for each number of the line in the messages that it cites and in what they add up to; then, unless they have
// another number that the line leaves out, in the messages around them and in others that say something of it.
func (e *evidence) checkNumbers(c *claim, cited, telling []int) (wrong string, found bool) {
	near := e.near(cited)
	found = true
	for _, n := range c.facts.Numbers {
		if n.Weak || n.Dated || e.hasNumber(n, cited) || e.derives(n, cited) || e.halves(n, cited) || e.elides(n, cited, near) || e.derivesBeside(n, cited, near) {
			continue
		}
		if i, other := e.otherNumber(c, n, telling); i >= 0 && !e.hasNumber(n, e.beside(c)) {
			return fmt.Sprintf("#%d has %s, not %s", e.passages[i].seqs[0], other.Text, n.Text), false
		}
		if !n.Ordinal && !e.hasNumber(n, near) && !e.elsewhere(c, func(i int) bool { return e.hasNumber(n, []int{i}) }) && !e.lists(n, cited) {
			found = false
		}
	}
	return "", found
}

// derivesBeside reports whether a number is the sum or difference of one that a cited message has and one in a message around it,
// or the share of one that the other tells in percent. Round numbers would be so by chance.
func (e *evidence) derivesBeside(n facts.Number, cited, near []int) bool {
	const least = 100
	if len(n.Values) == 0 || n.Values[0] < least {
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
	for _, a := range own {
		for _, b := range others {
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
			if len(m.Values) == 0 || m.Dated || m.Weak && m.Unit != facts.Minutes && m.Values[0] == math.Trunc(m.Values[0]) {
				continue
			}
			values = append(values, m.Values[0])
			if m.Unit == facts.Percent {
				percents = append(percents, m.Values[0]/100)
			}
		}
	}
	return values, percents
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
	if len(n.Values) == 0 || n.Values[0] < 1000 || math.Mod(n.Values[0], 1000) != 0 {
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

// otherNumber returns a number of the messages that the line should have instead of n, if it has none of them.
func (e *evidence) otherNumber(c *claim, n facts.Number, telling []int) (passage int, other facts.Number) {
	for _, i := range telling {
		if e.read(i).facts.Cut {
			continue
		}
		for _, m := range e.read(i).facts.Numbers {
			if !m.Weak && !m.Dated && m.Ordinal == n.Ordinal && m.Code == n.Code && facts.Comparable(n, m) && !e.isIn(c, m) {
				return i, m
			}
		}
	}
	return -1, other
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
	return slices.ContainsFunc(c.facts.Numbers, func(n facts.Number) bool { return facts.Same(n, m) })
}

func (e *evidence) hasNumber(n facts.Number, passages []int) bool {
	for _, i := range passages {
		p := e.read(i)
		if slices.ContainsFunc(p.facts.Numbers, func(m facts.Number) bool { return facts.Same(n, m) || timeInWords(n, p.facts.Numbers) }) {
			return true
		}
		if len(n.Values) > 0 && n.Values[0] == float64(p.at.Year()) || meansYear(p, n) {
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

// meansYear reports whether a number may be the year of a time that a passage states without it: last year, two years ago.
func meansYear(p *passage, n facts.Number) bool {
	if n.Unit != facts.None || n.Ordinal || len(n.Values) == 0 {
		return false
	}
	from := time.Date(int(n.Values[0]), 1, 1, 0, 0, 0, 0, time.UTC)
	year := facts.DaysFrom(from, from.AddDate(1, 0, 0))
	return slices.ContainsFunc(softDates(p), func(o facts.Date) bool {
		return slices.ContainsFunc(o.Spans(p.at), year.Meets)
	})
}

// timeInWords reports whether a time of day may be told by an hour and minutes before or after it: ten past three.
func timeInWords(n facts.Number, said []facts.Number) bool {
	if n.Unit != facts.Clock || len(n.Values) == 0 {
		return false
	}
	hour, minute := int(n.Values[0])/60%12, int(n.Values[0])%60
	has := func(value int) bool {
		return slices.ContainsFunc(said, func(m facts.Number) bool {
			return len(m.Values) > 0 && ((m.Unit == facts.None || m.Unit == facts.Minutes) && m.Values[0] == float64(value) ||
				m.Unit == facts.Clock && m.Values[0] == float64(60*value))
		})
	}
	return minute != 0 && (has(minute) && (has(hour) || has(hour+12)) || has(60-minute) && (has(hour+1) || has(hour+13)))
}

// elsewhere reports whether a message that the line does not cite, but that shares a word with it, has something.
func (e *evidence) elsewhere(c *claim, has func(int) bool) bool {
	for i := range e.passages {
		if e.overlap(c, i).shared > 0 && has(i) {
			return true
		}
	}
	return false
}

// derives reports whether a number is a sum, difference, product, quotient or count of what the cited messages have.
func (e *evidence) derives(n facts.Number, cited []int) bool {
	if len(n.Values) == 0 || n.Unit == facts.Clock {
		return false
	}
	values, percents := e.values(cited)
	total, thousands := 0.0, false
	for _, v := range values {
		total += v
		thousands = thousands || v >= 1000 && math.Mod(v, 1000) == 0
	}
	if thousands {
		for _, v := range values {
			if v < 1000 {
				values = append(values, 1000*v) // eighteen thousand, and nine more
			}
		}
	}
	if n.Values[0] == float64(len(cited)) && len(cited) > 1 || len(values) > 1 && n.Values[0] == total {
		return true
	}
	for _, want := range n.Values {
		if sharesOf(want, values, percents) {
			return true
		}
		for i, a := range values {
			for _, b := range values[i+1:] {
				if want == a+b || want == math.Abs(a-b) || want == a*b || quotient(want, a, b) || quotient(want, b, a) {
					return true
				}
			}
		}
	}
	return false
}

// quotient reports whether want is a/b, rounded.
func quotient(want, a, b float64) bool {
	return b > 1 && want != 0 && math.Abs(want-a/b) <= math.Max(0.005, 0.001*want)
}
