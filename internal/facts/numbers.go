package facts

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/words"
)

// numberReader reads the numbers of a text, each with its scale, unit and half, and marks their tokens.
type numberReader struct {
	text     *wording
	dated    marks // tokens of dates
	days     marks // tokens that may be a day of the month
	inNumber marks // tokens of the numbers before
}

func newNumberReader(text *wording, dated, days marks) *numberReader {
	return &numberReader{text: text, dated: dated, days: days, inNumber: make(marks, len(text.tokens))}
}

// read returns the numbers of the text.
func (r *numberReader) read() (all []Number) {
	for i := 0; i < len(r.text.tokens); {
		n, next := r.numberAt(i)
		if next == i {
			i++
			continue
		}
		n.from = i
		n.to = next
		n.Code = r.followsLetters(i)
		if _, counted := r.text.has(next, isCounter); counted && len(n.Values) > 0 && n.Values[0] == 1 { // 1個1,200円: for each
			n.Weak = true
		}
		if n.part > 0 {
			r.inNumber[i-n.part] = true
		}
		for k := i; k < next; k++ {
			n.Dated = n.Dated || r.dated.at(k)
			n.Day = n.Day || r.days.at(k)
			if gap := r.text.tokens[k].gap; k > i && gap != "" {
				n.Text += cmp.Or(strings.Join(strings.Fields(gap), " "), " ")
			}
			n.Text += r.text.word(k)
		}
		r.inNumber.set(i, next)
		n.Rounded = r.rounded(i, next)
		n.Denied = r.denied(i)
		if n.Unit == None && !n.Ordinal {
			n.Of = r.things(next)
		}
		all = append(all, n)
		if n.Unit == Clock && len(n.Values) > 0 && r.apart(i, next) { // 3 h 40 is also a length of time
			n.Unit = Minutes
			n.Weak = true
			all = append(all, n)
		}
		i = next
	}
	pairs := neighbours{text: r.text, all: all}
	return pairs.joined()
}

// numberAt reads the number that starts at a token, and what follows it: a scale, a unit. next is i if there is none.
func (r *numberReader) numberAt(i int) (n Number, next int) {
	if n, next, ok := r.partOfUnit(i); ok {
		return r.halvedAfterUnit(n, next)
	}
	switch t := r.text.token(i); {
	case t.digits:
		n, next = r.text.digitsAt(i)
	case t.han:
		n, next = r.text.hanAt(i)
	default:
		n, next = r.text.wordsAt(i)
		n.Unit = duals[r.text.word(i)]
	}
	if next == i {
		return n, i
	}
	n, next = r.scaled(n, next)
	n, next = r.halved(n, i, next)
	n, next = r.united(n, i, next)
	n, next = r.halvedAfterUnit(n, next)
	n, next = r.withTenths(n, next)
	if n.Unit == None && len(n.Values) > 0 && metres[r.text.word(next)] { // trois mètres cinquante
		if exact, end := r.withMinor(n, next+1); end > next+1 {
			n = exact
			next = end
		}
	}
	if n.Unit == Clock {
		n.Ordinal = false
	} else if n.Unit != None { // €8.50 is no time
		n.Part = nil
	}
	return n, next
}

// followsLetters reports whether digits are written directly after a word: A4, v2.
func (r *numberReader) followsLetters(i int) bool {
	if t := r.text.token(i); i == 0 || !t.digits || t.gap != "" {
		return false
	}
	last := r.text.token(i - 1)
	return !last.han && !last.sign && !last.digits && !unicode.Is(unicode.Arabic, firstOf(last.text)) && last.text != "ـ"
}

// withTenths adds the tenths that follow a number of degrees: 39度8分.
func (r *numberReader) withTenths(n Number, next int) (Number, int) {
	tenths := r.text.token(next + 1)
	if len(n.Values) == 0 || r.text.word(next) != "度" || !tenths.digits || len(tenths.text) != 1 || r.text.word(next+2) != "分" {
		return n, next
	}
	n.Values = []float64{n.Values[0] + float64(tenths.text[0]-'0')/10}
	return n, next + 3
}

// duals are the Arabic words for two of a unit of time.
var duals = map[string]Unit{
	"ساعتين": Hours, "ساعتان": Hours, "دقيقتين": Minutes, "دقيقتان": Minutes, "يومين": Days, "يومان": Days, "اسبوعين": Weeks, "اسبوعان": Weeks,
	"شهرين": Months, "شهران": Months, "سنتين": Years, "سنتان": Years, "عامين": Years,
}

// apart reports whether an hour with minutes is written with an h, as lengths of time are.
func (r *numberReader) apart(from, to int) bool {
	for k := from + 1; k < to; k++ {
		if value, ok := r.text.has(k, isUnit); ok && Unit(value) == Hours {
			return true
		}
	}
	return false
}

// maxScales is the maximum number of words for thousands, millions and so on in one number.
const maxScales = 4

// scaled multiplies a number by the words after it: million, 万.
func (r *numberReader) scaled(n Number, next int) (Number, int) {
	return r.scaledBelow(n, next, math.Inf(1))
}

// scaledBelow is scaled with words for less than a limit.
func (r *numberReader) scaledBelow(n Number, next int, limit float64) (Number, int) {
	for rounds := 0; rounds < maxScales && next < len(r.text.tokens) && len(n.Values) > 0 && n.Unit == None; rounds++ {
		scale, ok := r.scaleAt(next)
		if !ok || scale >= limit {
			break
		}
		values := make([]float64, len(n.Values))
		for k, v := range n.Values {
			values[k] = v * scale
		}
		if utf8.RuneCountInString(r.text.word(next)) == 1 && !r.text.tokens[next].han { // m is for metres, too
			values = append(values, n.Values...)
		}
		n.Values = values
		n.Weak = false
		next = r.text.after(next)
		if r.text.token(next).digits && r.text.tokens[next].gap == "" { // 1億2千万
			rest, after := r.text.digitsAt(next)
			rest, after = r.scaledBelow(rest, after, scale)
			if len(rest.Values) > 0 && rest.Values[0] < scale {
				n.Values = []float64{n.Values[0] + rest.Values[0]}
				next = after
			}
		}
	}
	if _, ok := r.text.has(next, isDozen); ok && r.text.near(next) && len(n.Values) > 0 {
		n.Values = append(slices.Clone(n.Values), 12*n.Values[0])
		next++
	}
	return n, next
}

// scaleAt returns by how much a word multiplies the number before it.
func (r *numberReader) scaleAt(i int) (scale float64, ok bool) {
	if i >= len(r.text.tokens) {
		return 0, false
	}
	t := r.text.tokens[i]
	if t.gap == "" && !t.digits {
		switch t.text {
		case "k":
			return 1e3, true
		case "m":
			return 1e6, true
		}
	}
	least := 1000.0
	if t.han {
		least = 10
	}
	scale, ok = r.text.has(i, isNumber)
	return scale, ok && scale >= least && r.text.near(i) && t.text != "k"
}

// united reads the unit of a number, after it or before it.
func (r *numberReader) united(n Number, from, next int) (Number, int) {
	if n.Unit != None || len(n.Values) == 0 {
		return n, next
	}
	after, ok := r.text.has(next, isUnit)
	if strings.HasPrefix(r.text.word(next), "الساع") { // "the hour" is before its number
		ok = false
	}
	if ok && (r.text.near(next) || r.text.tokens[next].gap == "") {
		return r.unitAfter(n, Unit(after), next)
	}
	if tenths[r.text.word(next)] && r.text.token(next).gap == "" && !notTenths[r.text.word(next+1)] && n.Values[0] <= 10 {
		return Number{Values: []float64{10 * n.Values[0]}, Unit: Percent}, next + 1
	}
	if r.perCent(next) {
		n.Unit = Percent
		n.Weak = false
		return n, next + 2
	}
	if r.text.token(next).digits || !r.text.ordinalEnding(next) {
		return r.unitBefore(n, from), next
	}
	n.Ordinal = true
	return n, next + 1
}

// Characters for tenths, and those after one that is part of a word.
var (
	tenths    = words.Set("割 成")
	notTenths = words.Set("员 員 功 本 为 為 年 交 果 立 人")
)

// perCent reports whether two words mean percent: per cent, por ciento, pour cent.
func (r *numberReader) perCent(i int) bool {
	return perHundred[r.text.word(i)+" "+r.text.word(i+1)]
}

var perHundred = map[string]bool{"per cent": true, "por ciento": true, "por cento": true, "per cento": true, "pour cent": true}

// unitBefore reads a unit that is before its number: $5, %5, saat 5, 百分之五.
func (r *numberReader) unitBefore(n Number, from int) Number {
	at := r.text.before(from)
	value, ok := r.text.has(at, isUnit)
	if !ok || from == 0 || !r.text.near(from) {
		return n
	}
	switch unit := Unit(value); unit {
	case Money, Percent:
		if r.text.tokens[at].sign || r.text.tokens[at].han || r.text.word(at) == "yuzde" {
			n.Unit = unit
		}
	case Clock, Hours:
		_, after := r.text.has(r.text.before(at), isNumber)
		if !after && !r.text.token(r.text.before(at)).digits && n.Values[0] <= 24 {
			n = hourOf(n)
		}
	}
	return n
}

func (r *numberReader) unitAfter(n Number, unit Unit, next int) (Number, int) {
	n.Unit = unit
	end := r.text.after(next)
	switch unit {
	case Clock, Hours:
		minutes, after := r.minutesAt(end)
		switch {
		case after > end && minutes < 60 && n.Values[0] <= 24:
			if value, ok := r.text.has(after, isUnit); ok && Unit(value) == Minutes {
				after = r.text.after(after)
			} else if r.text.word(after) == "分" {
				after++
			}
			n.Unit = Clock
			n.Values = []float64{60*n.Values[0] + minutes}
			return n, after
		case unit == Clock || r.text.word(next) == "h" && r.text.tokens[next].gap == "": // 14h may be either
			if n.Values[0] <= 24 {
				n = hourOf(n)
			}
		}
	default:
		n.Weak = n.Weak && n.Values[0] <= 1
	}
	if unit == Money {
		return r.withMinor(n, end)
	}
	return n, end
}

// hourOf returns a time of day from its hour.
func hourOf(n Number) Number {
	values := make([]float64, len(n.Values))
	for i, v := range n.Values {
		values[i] = 60 * v
	}
	n.Values = values
	n.Unit = Clock
	n.Weak = false
	return n
}
