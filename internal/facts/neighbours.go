package facts

import (
	"math"
	"slices"
	"strings"

	"cairn/internal/words"
)

// neighbours are the numbers of a text, of which one and the next may state something together: a length of time, the ends of a
// range, a time of day.
type neighbours struct {
	text *wording
	all  []Number
}

// joined returns the numbers with what they state together.
func (r *neighbours) joined() []Number {
	r.joinLengths()
	r.shareUnits()
	r.spell()
	return r.all
}

// joinLengths joins what states one length of time: an hour and ten minutes.
func (r *neighbours) joinLengths() {
	for i := 1; i < len(r.all); i++ {
		a := r.all[i-1]
		b := r.all[i]
		if !r.adjoins(a, b) {
			continue
		}
		total := (a.Values[0]*base(a.Unit) + b.Values[0]*base(b.Unit)) / base(b.Unit)
		r.all[i-1] = Number{Text: a.Text + b.Text, Values: []float64{total}, Unit: b.Unit, from: a.from, to: b.to}
		r.all = slices.Delete(r.all, i, i+1)
	}
}

// adjoins reports whether a length of time follows another one, of a larger unit.
func (r *neighbours) adjoins(a, b Number) bool {
	if a.Dated || b.Dated || len(a.Values) == 0 || len(b.Values) == 0 || base(a.Unit)*base(b.Unit) <= 0 {
		return false
	}
	if b.from < a.to || b.from > a.to+1 || !r.text.near(b.from) || !r.text.near(a.to) {
		return false
	}
	x := base(a.Unit)
	y := base(b.Unit)
	if x < 0 {
		x = -x
		y = -y
	}
	_, join := r.text.has(a.to, joins)
	join = join || beforeMinor[r.text.word(a.to)] || strings.HasPrefix(r.text.word(b.from), "و")
	return x > y && (b.from == a.to || join)
}

// shareUnits gives the first number of a range the unit of the second: from 20 to 23 Uhr, five to six euros.
func (r *neighbours) shareUnits() {
	for i := 1; i < len(r.all); i++ {
		a := &r.all[i-1]
		b := r.all[i]
		if a.Unit != None || a.Dated || a.Ordinal || len(a.Values) == 0 || b.Unit != Clock && b.Unit != Money && b.Unit != Percent {
			continue
		}
		gap := r.text.token(b.from).gap
		dash := b.from == a.to && strings.Trim(gap, " -–—~〜") == "" && gap != "" && gap != " "
		if !dash && !(b.from == a.to+1 && until[r.text.word(a.to)]) {
			continue
		}
		switch {
		case b.Unit != Clock:
			a.Unit = b.Unit
			a.Of = nil
		case a.Values[0] <= 24:
			*a = hourOf(*a)
			a.Of = nil
		}
	}
}

// until are the words between the ends of a range.
var until = words.Set("to till until bis a al до do 到 至 الى")

// Words between minutes and their hour, and between an hour and its minutes.
var (
	minutesAfter = words.Set("past after nach po")
	minutesTo    = words.Set("to vor para till")
	hourLess     = words.Set("menos moins meno الا")
	lessFirst    = words.Set("без za")
)

// spell finds the times of day that two numbers state together, such as ten past three, las siete y veinte, без десяти четыре.
// Each of them may be something else, so they stay, and know the time of which they may be part.
func (r *neighbours) spell() {
	for i := 1; i < len(r.all); i++ {
		a := &r.all[i-1]
		b := &r.all[i]
		if time, ok := r.spelled(*a, *b); ok {
			a.Part = append(a.Part, time)
			b.Part = append(b.Part, time)
		}
	}
}

// spelled returns the time of day that two numbers state, in minutes after midnight.
func (r *neighbours) spelled(a, b Number) (time float64, ok bool) {
	const maxBetween = 3
	if b.from-a.to > maxBetween || b.from < a.to || len(a.Values) == 0 || len(b.Values) == 0 || a.Dated || b.Dated {
		return 0, false
	}
	between := ""
	joined := b.from == a.to
	for k := a.to; k <= b.from; k++ {
		if !r.text.near(k) {
			return 0, false
		}
		if k < b.from {
			_, join := r.text.has(k, joins)
			joined = joined || join
			if word := r.text.word(k); minutesAfter[word] || minutesTo[word] || hourLess[word] {
				between = word
			}
		}
	}
	hourA, isHourA := hourIn(a)
	hourB, isHourB := hourIn(b)
	minutesA := a.Values[0]
	minutesB := b.Values[0]
	areMinutesA := minuteIn(a)
	areMinutesB := minuteIn(b)
	switch {
	case minutesAfter[between]:
		return 60*hourB + minutesA, isHourB && areMinutesA
	case minutesTo[between]:
		return 60*hourB - minutesA, isHourB && areMinutesA
	case hourLess[between]:
		return 60*hourA - minutesB, isHourA && areMinutesB
	case lessFirst[r.text.word(a.from-1)]:
		return 60*hourB - minutesA, isHourB && areMinutesA
	case a.Unit == Minutes && b.Ordinal && b.from == a.to: // десять минут четвертого
		return 60*(hourB-1) + minutesA, isHourB && areMinutesA
	case b.from == a.to && strings.HasPrefix(r.text.word(b.to), "gec"):
		return 60*hourA + minutesB, isHourA && areMinutesB
	case b.from == a.to && lessLast[r.text.word(b.to)]:
		return 60*hourA - minutesB, isHourA && areMinutesB
	}
	joined = joined || b.from == a.to && (a.Unit == Hours || a.Unit == Clock) || strings.HasPrefix(r.text.word(b.from), "و")
	return 60*hourA + minutesB, joined && isHourA && areMinutesB && !r.text.tokens[a.from].digits && !r.text.tokens[b.from].digits
}

// hourIn returns the hour that a number may be.
func hourIn(n Number) (hour float64, ok bool) {
	hour = n.Values[0]
	switch n.Unit {
	case Clock:
		hour /= 60
	case None, Hours:
	default:
		return 0, false
	}
	return hour, hour == math.Trunc(hour) && hour >= 1 && hour <= 24
}

// minuteIn reports whether a number may be minutes of an hour.
func minuteIn(n Number) bool {
	v := n.Values[0]
	return (n.Unit == None || n.Unit == Minutes) && !n.Ordinal && v == math.Trunc(v) && v >= 1 && v < 60
}
