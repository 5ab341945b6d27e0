package facts

import (
	"math"

	"cairn/internal/words"
)

// rounded reports whether a word before a number, or right after it, says that it is rounded: about 1,600, more than £12k, 20分ほど.
func (r *numberReader) rounded(from, next int) bool {
	at := r.text.before(from)
	if at < from && r.text.token(at).sign {
		from = at
		at = r.text.before(at)
	}
	for range 2 { // cerca de, more than
		if from == 0 || !r.text.near(from) && r.text.token(from).gap != ". " {
			break
		}
		if _, ok := r.text.has(at, isAbout); ok {
			return true
		}
		from = at
		at = r.text.before(at)
	}
	for range 2 { // 20分ほど
		if _, ok := r.text.has(next, isAbout); ok && r.text.near(next) {
			return true
		}
		if !r.text.token(next).han {
			break
		}
		next = r.text.after(next)
	}
	return false
}

const (
	farthest     = 0.1 // of a number: how much a rounded one may differ from it
	farthestTime = 15  // minutes, of a time of day
)

// rounds reports whether a number that is stated as rounded may be another one, which is more exact.
func (n Number) rounds(exact Number) bool {
	if !n.Rounded || exact.Weak || n.Ordinal != exact.Ordinal || !Comparable(n, exact) || isMeasure(n.Unit) != isMeasure(exact.Unit) {
		return false
	}
	x := n.Amount()
	y := exact.Amount()
	if n.Unit == Clock || exact.Unit == Clock {
		return n.Unit == exact.Unit && math.Mod(x, farthestTime) == 0 && math.Abs(x-y) <= farthestTime
	}
	if in, ok := exact.In(n.Unit); ok && exact.Unit != n.Unit {
		y = in
	}
	step := lastDigit(x)
	return step > lastDigit(y) && math.Abs(x-y) < step && math.Abs(x-y) <= farthest*y
}

// isMeasure reports whether numbers with a unit differ from those without: 80 % is no rounded 86.
func isMeasure(u Unit) bool { return u != None && u != Money && u != Cents }

// lastDigit returns the value of the last digit of a number that is not zero: 100 of 1,600, and 0.1 of 7.4.
func lastDigit(x float64) float64 {
	const largest, smallest = 1e12, 1e-3
	for step := largest; step > smallest; step /= 10 {
		if steps := x / step; math.Round(steps) != 0 && math.Abs(steps-math.Round(steps)) < 1e-9 {
			return step
		}
	}
	return smallest
}

// denied reports whether a word for not is before a token.
func (r *numberReader) denied(i int) bool {
	before := r.text.token(i - 1)
	if before.text == "是" {
		return r.text.word(i-2) == "不"
	}
	return not[before.text] && r.text.near(i)
}

// not are the words for not that are before a number. Those that are an answer, too, are no such words: no 7:40.
var not = words.Set(words.Fold("not nicht pas non não nie не مو مش ليس وليس ومش"))
