package judge

import (
	"math"
	"slices"

	"cairn/internal/facts"
)

// adds reports whether a number follows from those of the cited messages, or of one of them and one beside it.
func (x *numberCheck) adds(hasRival bool) bool {
	return x.derives(hasRival) || x.derivesBeside(hasRival)
}

// mayCompute reports whether a number may be computed in a way that code does not follow, so that another number in the messages does
// not refute it: the line has a word of sums or rates, it cites several messages with numbers, or some numbers there give it by chance.
func (x *numberCheck) mayCompute() bool {
	if x.claim.sums() || x.claim.divides() || x.adds(false) {
		return true
	}
	counting := 0
	for _, i := range x.cited {
		if slices.ContainsFunc(x.e.read(i).facts.Numbers, isValue) {
			counting++
		}
		if x.e.read(i).facts.Half {
			return true
		}
	}
	values, _ := x.e.values(x.cited)
	return counting > 1 || isProduct(x.n.Amount(), values, calendar)
}

// calendar is how many hours, days, weeks or months there are in longer times.
var calendar = []float64{24, 7, 30, 52, 12}

// derivesBeside reports whether a number is the sum or difference of one that a cited message has and one in a message around it,
// or the share of one that the other tells in percent. Round numbers would be so by chance.
func (x *numberCheck) derivesBeside(hasRival bool) bool {
	const least = 100
	if len(x.n.Values) == 0 || x.n.Values[0] < least || x.n.Unit == facts.Clock {
		return false
	}
	round := x.n.Values[0]
	for round >= least {
		round /= 10
	}
	if math.Mod(round, 5) == 0 {
		return false
	}
	values, valuePercents := x.e.values(x.cited)
	others, percents := x.e.values(x.near)
	for _, a := range x.addends(x.cited, hasRival) {
		for _, b := range x.addends(x.near, hasRival) {
			if x.n.Values[0] == a+b || x.n.Values[0] == math.Abs(a-b) {
				return true
			}
		}
	}
	return sharesOf(x.n.Values[0], values, percents) || sharesOf(x.n.Values[0], others, valuePercents)
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
	return len(m.Values) > 0 && !m.Dated && !m.Day && (!m.Weak || m.Unit >= facts.Minutes || m.Values[0] != math.Trunc(m.Values[0]))
}

// addends returns the numbers of passages that may add up to n, in its unit. If the passages count the same thing otherwise, these are
// of that thing, of one that the line names, or of none that is known.
func (x *numberCheck) addends(passages []int, hasRival bool) (values []float64) {
	for _, i := range passages {
		for _, m := range x.e.read(i).facts.Numbers {
			if !isValue(m) || m.Unit == facts.Clock || len(m.Part) > 0 {
				continue
			}
			if x.n.Unit == facts.None && (m.Unit == facts.Percent || m.Unit >= facts.Minutes) {
				continue
			}
			if hasRival && (m.Unit != facts.None || len(m.Of) > 0 && !facts.SameThing(x.n, m) && !x.claim.names(m)) {
				continue
			}
			value := m.Amount()
			if length, ok := m.In(x.n.Unit); ok {
				value = length
			}
			values = append(values, value)
		}
	}
	return values
}

// halves reports whether a number is half of one in the passages, if one of them speaks of halves.
func (x *numberCheck) halves() bool {
	if !slices.ContainsFunc(x.cited, func(i int) bool { return x.e.read(i).facts.Half }) {
		return false
	}
	values, _ := x.e.values(x.cited)
	return slices.ContainsFunc(values, func(v float64) bool { return slices.Contains(x.n.Values, v/2) })
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
func (x *numberCheck) elides() bool {
	if len(x.n.Values) == 0 || x.n.Values[0] < 1000 || math.Mod(x.n.Values[0], 100) != 0 {
		return false
	}
	thousands := slices.ContainsFunc(x.near, func(i int) bool {
		return slices.ContainsFunc(x.e.read(i).facts.Numbers, func(m facts.Number) bool {
			return !m.Dated && len(m.Values) > 0 && m.Values[0] >= 1000 && math.Mod(m.Values[0], 1000) == 0
		})
	})
	return thousands && slices.ContainsFunc(x.cited, func(i int) bool {
		return slices.ContainsFunc(x.e.read(i).facts.Numbers, func(m facts.Number) bool {
			return !m.Dated && !m.Weak && (m.Unit == facts.None || m.Unit == facts.Money) && len(m.Values) > 0 && 1000*m.Values[0] == x.n.Values[0]
		})
	})
}

// derives reports whether a number is a sum, difference, product, quotient or count of what the cited messages have.
func (x *numberCheck) derives(hasRival bool) bool {
	if len(x.n.Values) == 0 || x.n.Unit == facts.Clock {
		return false
	}
	values, percents := x.e.values(x.cited)
	plain := values
	if x.n.Unit != facts.None && x.n.Unit != facts.Percent {
		plain = slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return slices.Contains(percents, v/100) })
	}
	addends := x.addends(x.cited, hasRival)
	if slices.ContainsFunc(values, func(v float64) bool { return v >= 1000 && math.Mod(v, 1000) == 0 }) { // eighteen thousand, and nine more
		plain = withThousands(plain)
		addends = withThousands(addends)
	}
	if !hasRival && x.n.Values[0] == float64(len(x.cited)) && len(x.cited) > 1 || isTotal(x.n, plain, hasRival) {
		return true
	}
	wanted := append(slices.Clone(x.n.Values), x.inUnits()...)
	if x.n.Unit == facts.Cents {
		wanted = []float64{x.n.Amount()}
	}
	for _, want := range wanted {
		if isSum(want, addends, addends) || isProduct(want, plain, x.claim.others(x.n)) || x.n.Unit < facts.Minutes && sharesOf(want, values, percents) {
			return true
		}
		if !hasRival && isQuotient(want, plain) || isProduct(want, plain, plain) {
			return true
		}
	}
	return false
}

// others returns the values of the other numbers of the line.
func (c *claim) others(n facts.Number) (values []float64) {
	for _, m := range c.facts.Numbers {
		if isValue(m) && m.Text != n.Text {
			values = append(values, m.Amount())
		}
	}
	return values
}

// withThousands returns values, with the small ones also as thousands.
func withThousands(values []float64) []float64 {
	all := slices.Clone(values)
	for _, v := range values {
		if v < 1000 {
			all = append(all, 1000*v)
		}
	}
	return all
}

// isTotal reports whether a number is the sum of all values. Two of them add up by chance, if the messages count the same thing
// otherwise.
func isTotal(n facts.Number, values []float64, hasRival bool) bool {
	total := 0.0
	for _, v := range values {
		total += v
	}
	least := 2
	if hasRival {
		least = 3
	}
	return len(values) >= least && n.Values[0] == total
}

// isSum reports whether want is the sum or difference of one of a and another one of b.
func isSum(want float64, a, b []float64) bool {
	for i, x := range a {
		for k, y := range b {
			if i != k && (facts.Equal(want, x+y) || facts.Equal(want, math.Abs(x-y))) {
				return true
			}
		}
	}
	return false
}

// isProduct reports whether want is the product of one of a and another one of b.
func isProduct(want float64, a, b []float64) bool {
	for i, x := range a {
		for k, y := range b {
			if (i != k || x != y) && facts.Equal(want, x*y) {
				return true
			}
		}
	}
	return false
}

// isQuotient reports whether want is one of the values, divided by another one.
func isQuotient(want float64, values []float64) bool {
	for i, x := range values {
		for k, y := range values {
			if i != k && quotient(want, x, y) {
				return true
			}
		}
	}
	return false
}

// isRate reports whether a number of percent is the share of one value of the passages in another one, rounded: 62 of 95 are 65 %.
func (x *numberCheck) isRate() bool {
	if x.n.Unit != facts.Percent || len(x.n.Values) == 0 {
		return false
	}
	values, _ := x.e.values(x.cited)
	return slices.ContainsFunc(values, func(part float64) bool {
		return slices.ContainsFunc(values, func(total float64) bool {
			return part > 0 && part < total && math.Abs(x.n.Values[0]-100*part/total) <= 0.5
		})
	})
}

// inUnits returns a length of time in the units of those that passages have.
func (x *numberCheck) inUnits() (values []float64) {
	for _, i := range x.cited {
		for _, m := range x.e.read(i).facts.Numbers {
			if value, ok := x.n.In(m.Unit); ok && m.Unit != x.n.Unit {
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
