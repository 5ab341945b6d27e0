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

// numbers returns the numbers of the text.
func (r *reader) numbers() (all []Number) {
	for i := 0; i < len(r.tokens); {
		n, next := r.numberAt(i)
		if next == i {
			i++
			continue
		}
		n.from = i
		n.to = next
		last := r.token(i - 1)
		n.Code = r.tokens[i].digits && r.tokens[i].gap == "" && i > 0 && !last.han && !last.sign && !last.digits && !unicode.Is(unicode.Arabic, firstOf(last.text)) && last.text != "ـ"
		if _, counted := r.has(next, isCounter); counted && len(n.Values) > 0 && n.Values[0] == 1 { // 1個1,200円: for each
			n.Weak = true
		}
		if n.part > 0 {
			r.inNumber[i-n.part] = true
		}
		for k := i; k < next; k++ {
			n.Dated = n.Dated || r.dated[k]
			n.Day = n.Day || r.days[k]
			if gap := r.tokens[k].gap; k > i && gap != "" {
				n.Text += cmp.Or(strings.Join(strings.Fields(gap), " "), " ")
			}
			n.Text += r.tokens[k].text
			r.inNumber[k] = true
		}
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
	all = r.joinLengths(all)
	r.shareUnits(all)
	r.spell(all)
	return all
}

// numberAt reads the number that starts at a token, and what follows it: a scale, a unit. next is i if there is none.
func (r *reader) numberAt(i int) (n Number, next int) {
	if n, next, ok := r.partOfUnit(i); ok {
		return r.halvedAfterUnit(n, next)
	}
	switch t := r.token(i); {
	case t.digits:
		n, next = r.digitsAt(i)
	case t.han:
		n, next = r.hanAt(i)
	default:
		n, next = r.wordsAt(i)
		n.Unit = duals[r.token(i).text]
	}
	if next == i {
		return n, i
	}
	n, next = r.scaled(n, next)
	n, next = r.halved(n, i, next)
	n, next = r.united(n, i, next)
	n, next = r.halvedAfterUnit(n, next)
	if r.token(next).text == "度" && r.token(next+1).digits && r.token(next+2).text == "分" && len(n.Values) > 0 && len(r.token(next+1).text) == 1 { // 39度8分
		n.Values = []float64{n.Values[0] + float64(r.token(next + 1).text[0]-'0')/10}
		next = next + 3
	}
	if n.Unit == None && len(n.Values) > 0 && metres[r.token(next).text] { // trois mètres cinquante
		if whole, end := r.withMinor(n, next+1); end > next+1 {
			n = whole
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

// duals are the Arabic words for two of a unit of time.
var duals = map[string]Unit{
	"ساعتين": Hours, "ساعتان": Hours, "دقيقتين": Minutes, "دقيقتان": Minutes, "يومين": Days, "يومان": Days, "اسبوعين": Weeks, "اسبوعان": Weeks,
	"شهرين": Months, "شهران": Months, "سنتين": Years, "سنتان": Years, "عامين": Years,
}

// apart reports whether an hour with minutes is written with an h, as lengths of time are.
func (r *reader) apart(from, to int) bool {
	for k := from + 1; k < to; k++ {
		if value, ok := r.has(k, isUnit); ok && Unit(value) == Hours {
			return true
		}
	}
	return false
}

// mostScales is the most words for thousands, millions and so on in one number.
const mostScales = 4

// scaled multiplies a number by the words after it: million, 万.
func (r *reader) scaled(n Number, next int) (Number, int) {
	return r.scaledBelow(n, next, math.Inf(1))
}

// scaledBelow is scaled with words for less than a limit.
func (r *reader) scaledBelow(n Number, next int, limit float64) (Number, int) {
	for rounds := 0; rounds < mostScales && next < len(r.tokens) && len(n.Values) > 0 && n.Unit == None; rounds++ {
		scale, ok := r.scaleAt(next)
		if !ok || scale >= limit {
			break
		}
		values := make([]float64, len(n.Values))
		for k, v := range n.Values {
			values[k] = v * scale
		}
		if utf8.RuneCountInString(r.tokens[next].text) == 1 && !r.tokens[next].han { // m is for metres, too
			values = append(values, n.Values...)
		}
		n.Values = values
		n.Weak = false
		next += max(r.width[next], 1)
		if r.token(next).digits && r.tokens[next].gap == "" { // 1億2千万
			rest, after := r.digitsAt(next)
			rest, after = r.scaledBelow(rest, after, scale)
			if len(rest.Values) > 0 && rest.Values[0] < scale {
				n.Values = []float64{n.Values[0] + rest.Values[0]}
				next = after
			}
		}
	}
	if _, ok := r.has(next, isDozen); ok && r.near(next) && len(n.Values) > 0 {
		n.Values = append(slices.Clone(n.Values), 12*n.Values[0])
		next++
	}
	return n, next
}

// scaleAt returns by how much a word multiplies the number before it.
func (r *reader) scaleAt(i int) (scale float64, ok bool) {
	if i >= len(r.tokens) {
		return 0, false
	}
	t := r.tokens[i]
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
	scale, ok = r.has(i, isNumber)
	return scale, ok && scale >= least && r.near(i) && t.text != "k"
}

// united reads the unit of a number, after it or before it.
func (r *reader) united(n Number, from, next int) (Number, int) {
	if n.Unit != None || len(n.Values) == 0 {
		return n, next
	}
	after, ok := r.has(next, isUnit)
	if strings.HasPrefix(r.token(next).text, "الساع") { // "the hour" stands before its number
		ok = false
	}
	if ok && (r.near(next) || r.tokens[next].gap == "") {
		return r.unitAfter(n, Unit(after), next)
	}
	if tenths[r.token(next).text] && r.token(next).gap == "" && !notTenths[r.token(next+1).text] && n.Values[0] <= 10 {
		return Number{Values: []float64{10 * n.Values[0]}, Unit: Percent}, next + 1
	}
	if r.perCent(next) {
		n.Unit = Percent
		n.Weak = false
		return n, next + 2
	}
	if r.token(next).digits || !r.ordinalEnding(next) {
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
func (r *reader) perCent(i int) bool {
	return perHundred[r.token(i).text+" "+r.token(i+1).text]
}

var perHundred = map[string]bool{"per cent": true, "por ciento": true, "por cento": true, "per cento": true, "pour cent": true}

// unitBefore reads a unit that stands before its number: $5, %5, saat 5, 百分之五.
func (r *reader) unitBefore(n Number, from int) Number {
	at := r.before(from)
	value, ok := r.has(at, isUnit)
	if !ok || from == 0 || !r.near(from) {
		return n
	}
	switch unit := Unit(value); unit {
	case Money, Percent:
		if r.tokens[at].sign || r.tokens[at].han || r.tokens[at].text == "yuzde" {
			n.Unit = unit
		}
	case Clock, Hours:
		_, after := r.has(r.before(at), isNumber)
		if !after && !r.token(r.before(at)).digits && n.Values[0] <= 24 {
			n = hourOf(n)
		}
	}
	return n
}

// ordinalEnding reports whether a token is the ending of a number: 3rd, 3º, 3-го.
func (r *reader) ordinalEnding(i int) bool {
	t := r.token(i)
	return !t.digits && !t.sign && !t.han && len([]rune(t.text)) <= 3 && (t.gap == "" || t.gap == "-") && r.token(i-1).digits
}

func (r *reader) unitAfter(n Number, unit Unit, next int) (Number, int) {
	n.Unit = unit
	end := next + max(r.width[next], 1)
	switch unit {
	case Clock, Hours:
		minutes, after := r.minutesAt(end)
		switch {
		case after > end && minutes < 60 && n.Values[0] <= 24:
			if value, ok := r.has(after, isUnit); ok && Unit(value) == Minutes {
				after += max(r.width[after], 1)
			} else if r.token(after).text == "分" {
				after++
			}
			n.Unit = Clock
			n.Values = []float64{60*n.Values[0] + minutes}
			return n, after
		case unit == Clock || r.tokens[next].text == "h" && r.tokens[next].gap == "": // 14h may be either
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
