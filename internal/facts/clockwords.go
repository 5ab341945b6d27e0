package facts

import (
	"math"
	"strings"

	"cairn/internal/words"
)

// Words between minutes and their hour, and between an hour and its minutes.
var (
	minutesAfter = words.Set("past after nach po")
	minutesTo    = words.Set("to vor para till")
	hourLess     = words.Set("menos moins meno الا")
	lessFirst    = words.Set("без za")
)

// spell finds the times of day that two numbers state together, such as ten past three, las siete y veinte, без десяти четыре.
// Each of them may be something else, so they stay, and know the time of which they may be part.
func (r *reader) spell(all []Number) {
	for i := 1; i < len(all); i++ {
		a := &all[i-1]
		b := &all[i]
		if time, ok := r.spelled(*a, *b); ok {
			a.Part = append(a.Part, time)
			b.Part = append(b.Part, time)
		}
	}
}

// spelled returns the time of day that two numbers state, in minutes after midnight.
func (r *reader) spelled(a, b Number) (time float64, ok bool) {
	const mostBetween = 3
	if b.from-a.to > mostBetween || b.from < a.to || len(a.Values) == 0 || len(b.Values) == 0 || a.Dated || b.Dated {
		return 0, false
	}
	between := ""
	joined := b.from == a.to
	for k := a.to; k <= b.from; k++ {
		if !r.near(k) {
			return 0, false
		}
		if k < b.from {
			_, join := r.has(k, joins)
			joined = joined || join
			if word := r.tokens[k].text; minutesAfter[word] || minutesTo[word] || hourLess[word] {
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
	case lessFirst[r.token(a.from-1).text]:
		return 60*hourB - minutesA, isHourB && areMinutesA
	case a.Unit == Minutes && b.Ordinal && b.from == a.to: // десять минут четвертого
		return 60*(hourB-1) + minutesA, isHourB && areMinutesA
	case b.from == a.to && strings.HasPrefix(r.token(b.to).text, "gec"):
		return 60*hourA + minutesB, isHourA && areMinutesB
	case b.from == a.to && lessLast[r.token(b.to).text]:
		return 60*hourA - minutesB, isHourA && areMinutesB
	}
	joined = joined || b.from == a.to && (a.Unit == Hours || a.Unit == Clock) || strings.HasPrefix(r.tokens[b.from].text, "و")
	return 60*hourA + minutesB, joined && isHourA && areMinutesB && !r.tokens[a.from].digits && !r.tokens[b.from].digits
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

// times returns the times of day that a number states, or of which it may be part.
func (n Number) times() []float64 {
	if n.Unit == Clock {
		return n.Values
	}
	return n.Part
}

// sameSpelled reports whether two numbers state a time in any form; known is false unless one of them is part of one.
func sameSpelled(a, b Number) (same, known bool) {
	x := a.times()
	y := b.times()
	if len(a.Part)+len(b.Part) == 0 || len(x) == 0 || len(y) == 0 {
		return false, false
	}
	for _, s := range x {
		for _, t := range y {
			same = same || Equal(math.Mod(s+720, 720), math.Mod(t+720, 720))
		}
	}
	return same, same || len(a.Part) > 0 && len(b.Part) > 0
}

// sameLength reports whether a length of time is that of hours and minutes in words: due ore e dieci.
func sameLength(length, part Number) bool {
	minutes, ok := length.In(Minutes)
	if !ok {
		return false
	}
	for _, time := range part.Part {
		if Equal(time, minutes) {
			return true
		}
	}
	return false
}

// halfDayApart reports whether two numbers may be one hour, as in seven and 19.
func halfDayApart(a, b Number) bool {
	if a.Unit != None || b.Unit != None || len(a.Of)+len(b.Of) > 0 || a.Ordinal || b.Ordinal || a.Code || b.Code {
		return false
	}
	x := max(a.Values[0], b.Values[0])
	y := min(a.Values[0], b.Values[0])
	return x <= 24 && y >= 1 && x-y == 12
}
