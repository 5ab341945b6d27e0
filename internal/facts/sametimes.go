package facts

import "math"

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

// sameTime compares times of day, of which at least one has minutes: three, half past two and 14:30 are 180, 150 and 870.
func sameTime(a, b Number) bool {
	for _, x := range minutes(a) {
		for _, y := range minutes(b) {
			if Equal(math.Mod(x, 720), math.Mod(y, 720)) {
				return true
			}
		}
	}
	return false
}

func minutes(n Number) (all []float64) {
	for _, v := range n.Values {
		switch {
		case n.Unit == Clock:
			all = append(all, v)
		case v >= 0 && v <= 24 && (n.Unit == None || n.Unit == Hours):
			all = append(all, v*60)
		}
	}
	return all
}
