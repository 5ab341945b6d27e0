package facts

import (
	"slices"
	"strings"

	"cairn/internal/words"
)

// withMinor adds the hundredths that follow an amount or length without their unit: three euros fifty, trois mètres cinquante. They
// end the clause, or are cents.
func (r *reader) withMinor(n Number, end int) (Number, int) {
	i := end
	if beforeMinor[r.token(i).text] && r.near(i) {
		i++
	}
	if !r.near(i) || len(n.Values) == 0 {
		return n, end
	}
	minor := Number{}
	next := i
	switch t := r.token(i); {
	case t.digits && len(t.text) == 2:
		minor, next = r.digitsAt(i)
	case !t.digits && !t.han:
		minor, next = r.wordsAt(i)
	}
	if next == i || len(minor.Values) == 0 || minor.Values[0] < 5 || minor.Values[0] > 99 || minor.Ordinal {
		return n, end
	}
	unit, _ := r.has(next, isUnit)
	cents := Unit(unit) == Cents
	if !cents && next < len(r.tokens) && r.near(next) && !metreAfter[r.token(next).text] {
		return n, end
	}
	if cents {
		next += max(r.width[next], 1)
	}
	n.Values = []float64{n.Values[0] + minor.Values[0]/100}
	return n, next
}

// Words between an amount and its cents, for metres, and after them.
var (
	beforeMinor = words.Set("y e con com und and et i и")
	metres      = words.Set("metre metres meter metro metros metri metr metry metra metrow метр метра метров")
	metreAfter  = words.Set("de di hoch lang breit high tall long wide")
)

// partOfUnit reads a half or a quarter of a unit of time, without a number: half an hour, une demi-heure, 半小时.
func (r *reader) partOfUnit(i int) (n Number, next int, ok bool) {
	k := i
	if some, is := r.has(k, isNumber); is && some <= 3 && quarters[r.token(k+1).text] && r.near(k+1) {
		return r.ofUnit(some/4, i, k+2)
	}
	if one, is := r.has(k, isNumber); is && one == 1 && r.near(k+1) { // eine halbe Stunde
		k++
	}
	if unit, is := r.has(k, isUnit); is && Unit(unit) == Hours && i == k { // dura hora y media
		if half, after := r.partAfter(k + 1); half > 0 && after == k+3 {
			return Number{Values: []float64{1 + half}, Unit: Hours}, after, true
		}
	}
	if r.token(k).text == "meio" && r.token(k+1).text == "dia" || r.token(k).text == "meia" && r.token(k+1).text == "noite" {
		return Number{Values: []float64{12 * 60}, Unit: Clock, Weak: true}, k + 2, true
	}
	if _, noon := r.has(k, isNoon); noon {
		return Number{Values: []float64{12 * 60}, Unit: Clock, Weak: true}, k + 1, true
	}
	if hours := partsOfHour[r.token(k).text]; hours != 0 {
		return Number{Values: []float64{hours}, Unit: Hours}, k + 1, true
	}
	part := 0.0
	if _, half := r.has(k, isHalf); half {
		part = 0.5
	}
	if _, quarter := r.has(k, isQuarter); quarter {
		part = 0.25
	}
	if part == 0 || r.dated[k] {
		return n, i, false
	}
	return r.ofUnit(part, i, k+max(r.width[k], 1))
}

// ofUnit reads the unit of a part that starts at i, after that part.
func (r *reader) ofUnit(part float64, i, after int) (n Number, next int, ok bool) {
	for range 2 {
		if partOf[r.token(after).text] && r.nearWord(after) {
			after++
		}
	}
	value, unit := r.has(after, isUnit)
	if !unit || !r.nearWord(after) || Unit(value) < Minutes || Unit(value) > Years {
		return n, i, false
	}
	return Number{Values: []float64{part}, Unit: Unit(value)}, after + max(r.width[after], 1), true
}

// partsOfHour are single words for parts of an hour.
var partsOfHour = map[string]float64{"полчаса": 0.5, "viertelstunde": 0.25, "dreiviertelstunde": 0.75}

// quarters are what a number counts in three quarters of an hour.
var quarters = words.Set("quarters quarts cuartos quarti quartos")

// partOf are the words between a half and its unit.
var partOf = words.Set("an a of de d di 个 個 un una")

// nearWord is near, or an apostrophe: un quart d'heure.
func (r *reader) nearWord(i int) bool {
	return r.near(i) || r.token(i).gap == "'" || r.token(i).gap == "’"
}

// minutesAt reads the minutes that follow an hour directly, in digits or Chinese characters.
func (r *reader) minutesAt(i int) (minutes float64, next int) {
	if t := r.token(i); !t.han || t.gap != "" {
		return r.digitsOnly(i)
	}
	n, next := r.hanAt(i)
	if next == i || n.Values[0] >= 60 {
		return 0, i
	}
	_, counted := r.has(next, isCounter)
	if r.token(next).text != "分" && (n.Values[0] < 10 || counted && r.token(next).gap == "") {
		return 0, i
	}
	return n.Values[0], next
}

// joinLengths joins what states one length of time: an hour and ten minutes.
func (r *reader) joinLengths(all []Number) []Number {
	for i := 1; i < len(all); i++ {
		a := all[i-1]
		b := all[i]
		if !r.adjoins(a, b) {
			continue
		}
		total := (a.Values[0]*base(a.Unit) + b.Values[0]*base(b.Unit)) / base(b.Unit)
		all[i-1] = Number{Text: a.Text + b.Text, Values: []float64{total}, Unit: b.Unit, from: a.from, to: b.to}
		all = slices.Delete(all, i, i+1)
	}
	return all
}

// adjoins reports whether a length of time follows another one, of a larger unit.
func (r *reader) adjoins(a, b Number) bool {
	if a.Dated || b.Dated || len(a.Values) == 0 || len(b.Values) == 0 || base(a.Unit)*base(b.Unit) <= 0 || b.from < a.to || b.from > a.to+1 || !r.near(b.from) || !r.near(a.to) {
		return false
	}
	x := base(a.Unit)
	y := base(b.Unit)
	if x < 0 {
		x = -x
		y = -y
	}
	_, join := r.has(a.to, joins)
	return x > y && (b.from == a.to || join || beforeMinor[r.tokens[a.to].text] || strings.HasPrefix(r.tokens[b.from].text, "و"))
}

// shareUnits gives the first number of a range the unit of the second: from 20 to 23 Uhr, five to six euros.
func (r *reader) shareUnits(all []Number) {
	for i := 1; i < len(all); i++ {
		a := &all[i-1]
		b := all[i]
		if a.Unit != None || a.Dated || a.Ordinal || len(a.Values) == 0 || b.Unit != Clock && b.Unit != Money && b.Unit != Percent {
			continue
		}
		dash := b.from == a.to && strings.Trim(r.token(b.from).gap, " -–—~〜") == "" && r.token(b.from).gap != "" && r.token(b.from).gap != " "
		if !dash && !(b.from == a.to+1 && until[r.token(a.to).text]) {
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
