package facts

import (
	"slices"
	"strings"

	"cairn/internal/words"
)

// halved adds a half or a quarter that is written beside a number: eight and a half, halb neun, quarter to five.
func (r *numberReader) halved(n Number, from, next int) (Number, int) {
	if len(n.Values) == 0 {
		return n, next
	}
	value := n.Values[0]
	if after, at := r.partAfter(next); after != 0 {
		if at > next+1 || strings.HasPrefix(r.text.word(next), "bucuk") { // six and a half is not six
			n.Values = nil
		}
		n.Values = append([]float64{value + after}, n.Values...)
		n.Ordinal = false
		n.Weak = false
		return r.scaled(n, at)
	}
	return r.partBefore(n, from), next
}

// partBefore adds the half or quarter that is before a number, and takes it away where half nine is half past eight.
func (r *numberReader) partBefore(n Number, from int) Number {
	less := false
	for k := from - 1; k >= max(from-3, 0); k-- {
		if strings.ContainsAny(r.text.tokens[k+1].gap, ",.;\n") || r.inNumber.at(k) {
			break
		}
		_, half := r.text.has(k, isHalf)
		_, quarter := r.text.has(k, isQuarter)
		between := r.text.word(k + 1)
		beside := k == from-1 || k == from-2 && (isLess[between] || isMore[between] || beforeHour[between])
		switch {
		case half && !beside && !r.text.isOne(k+1):
			return n
		case half:
			n.part = from - k
			return r.withHalfBefore(n, beside)
		case quarter:
			return r.withQuarterBefore(n, k, from, less)
		}
		less = less || isLess[r.text.word(k)] || isLess[r.text.word(k-1)]
		if len(r.text.word(k)) > 6 {
			break
		}
	}
	return n
}

// withHalfBefore adds the half before a number. Directly beside, the number is an hour, and nothing else; of thousands and more it is
// one half.
func (r *numberReader) withHalfBefore(n Number, beside bool) Number {
	value := n.Values[0]
	others := n.Values
	if value >= 100 {
		n.Values = []float64{value / 2}
		return n
	}
	if beside {
		others = nil
	}
	n.Ordinal = false
	if !r.text.halfBefore() {
		n.Values = append([]float64{value + 0.5}, others...)
		return n
	}
	n.Values = append([]float64{value - 0.5}, others...)
	n.Weak = false
	return n
}

// withQuarterBefore adds the quarter at k before a number; less tells that a word such as "to" is between.
func (r *numberReader) withQuarterBefore(n Number, k, from int, less bool) Number {
	value := n.Values[0]
	others := n.Values
	between := r.text.word(k + 1)
	if k == from-2 && (isLess[between] || isMore[between] || beforeHour[between]) { // the number is an hour
		others = nil
	}
	switch {
	case less:
		n.Values = append([]float64{value - 0.25}, others...)
	case k < from-1:
		n.Values = append([]float64{value + 0.25}, others...)
	case lessFirst[r.text.word(k-1)] || minutesTo[r.text.word(k-1)]: // без четверти три
		n.Values = []float64{value - 0.25}
	case r.text.halfBefore(): // Viertel fünf, drei Viertel fünf, четверть пятого
		part := value - 0.75
		if three, ok := r.text.has(k-1, isNumber); ok && three == 3 {
			part = value - 0.25
		}
		n.Values = []float64{part}
		n.Ordinal = false
		n.Weak = false
	default:
		n.Values = append(slices.Clone(others), value-0.75, value-0.25, value+0.25)
	}
	return n
}

// beforeHour are the words between a half and its hour: wpół do trzeciej.
var beforeHour = words.Set("do na на")

// withHalf are the words between a number and its half that join no two numbers.
var withHalf = words.Set("i z с и ve 个 個")

// lessLast are the Turkish words for the minutes before an hour.
var lessLast = words.Set("kala var")

// isMore are the words for the minutes after an hour.
var isMore = words.Set("past after nach po")

// isLess are the words for the minutes before an hour.
var isLess = words.Set("to vor menos moins meno para za без kala var الا")

// partAfter returns the half or quarter that follows a number, negative if it is subtracted; 0 if there is none.
func (r *numberReader) partAfter(i int) (part float64, next int) {
	sign := 1.0
	for k := i; k < min(i+4, len(r.text.tokens)); k = r.text.after(k) {
		_, half := r.text.has(k, isHalf)
		_, quarter := r.text.has(k, isQuarter)
		switch {
		case strings.ContainsAny(r.text.tokens[k].gap, ",.;:\n"):
			return 0, i
		case half:
			return sign * 0.5, r.text.after(k)
		case quarter:
			end := r.text.after(k)
			if _, hour := r.text.has(end, isNumber); hour && k == i && r.text.halfBefore() && r.text.near(end) { // drei Viertel fünf
				return 0, i
			}
			if lessLast[r.text.word(end)] { // sekize çeyrek kala
				return -0.25, end + 1
			}
			return sign * 0.25, end
		}
		one, number := r.text.has(k, isNumber)
		_, join := r.text.has(k, joins)
		less := isLess[r.text.word(k)]
		if less {
			sign = -1
		}
		if !join && !less && !(number && one == 1) && !withHalf[r.text.word(k)] && !(k > i && len(r.text.word(k)) <= 2) {
			break
		}
	}
	return 0, i
}

// halvedAfterUnit adds a half or a quarter after an hour: cinq heures et quart, 三点半.
func (r *numberReader) halvedAfterUnit(n Number, next int) (Number, int) {
	if n.Unit != Clock && n.Unit != Hours || len(n.Values) == 0 {
		return n, next
	}
	part, after := r.partAfter(next)
	if quarters, at := r.text.hanAt(next); part == 0 && at == next+1 && r.text.word(at) == "刻" && quarters.Values[0] <= 3 { // 七点三刻
		part = quarters.Values[0] / 4
		after = at + 1
	}
	if part == 0 {
		return n, next
	}
	if n.Unit == Clock {
		part *= 60
	}
	n.Values = []float64{n.Values[0] + part}
	n.Weak = false
	return n, after
}
