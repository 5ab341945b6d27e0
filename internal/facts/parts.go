package facts

import "cairn/internal/words"

// withMinor adds the hundredths that follow an amount or length without their unit: three euros fifty, trois mètres cinquante. They
// end the clause, or are cents.
func (r *numberReader) withMinor(n Number, end int) (Number, int) {
	i := end
	if beforeMinor[r.text.word(i)] && r.text.near(i) {
		i++
	}
	if !r.text.near(i) || len(n.Values) == 0 {
		return n, end
	}
	minor := Number{}
	next := i
	switch t := r.text.token(i); {
	case t.digits && len(t.text) == 2:
		minor, next = r.text.digitsAt(i)
	case !t.digits && !t.han:
		minor, next = r.text.wordsAt(i)
	}
	if next == i || len(minor.Values) == 0 || minor.Values[0] < 5 || minor.Values[0] > 99 || minor.Ordinal {
		return n, end
	}
	unit, _ := r.text.has(next, isUnit)
	cents := Unit(unit) == Cents
	if !cents && next < len(r.text.tokens) && r.text.near(next) && !metreAfter[r.text.word(next)] {
		return n, end
	}
	if cents {
		next = r.text.after(next)
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
func (r *numberReader) partOfUnit(i int) (n Number, next int, ok bool) {
	k := i
	if some, is := r.text.has(k, isNumber); is && some <= 3 && quarters[r.text.word(k+1)] && r.text.near(k+1) {
		return r.ofUnit(some/4, i, k+2)
	}
	if one, is := r.text.has(k, isNumber); is && one == 1 && r.text.near(k+1) { // eine halbe Stunde
		k++
	}
	if unit, is := r.text.has(k, isUnit); is && Unit(unit) == Hours && i == k { // dura hora y media
		if half, after := r.partAfter(k + 1); half > 0 && after == k+3 {
			return Number{Values: []float64{1 + half}, Unit: Hours}, after, true
		}
	}
	if r.text.word(k) == "meio" && r.text.word(k+1) == "dia" || r.text.word(k) == "meia" && r.text.word(k+1) == "noite" {
		return Number{Values: []float64{12 * 60}, Unit: Clock, Weak: true}, k + 2, true
	}
	if _, noon := r.text.has(k, isNoon); noon {
		return Number{Values: []float64{12 * 60}, Unit: Clock, Weak: true}, k + 1, true
	}
	if hours := partsOfHour[r.text.word(k)]; hours != 0 {
		return Number{Values: []float64{hours}, Unit: Hours}, k + 1, true
	}
	part := 0.0
	if _, half := r.text.has(k, isHalf); half {
		part = 0.5
	}
	if _, quarter := r.text.has(k, isQuarter); quarter {
		part = 0.25
	}
	if part == 0 || r.dated.at(k) {
		return n, i, false
	}
	return r.ofUnit(part, i, r.text.after(k))
}

// ofUnit reads the unit of a part that starts at i, after that part.
func (r *numberReader) ofUnit(part float64, i, after int) (n Number, next int, ok bool) {
	for range 2 {
		if partOf[r.text.word(after)] && r.text.nearWord(after) {
			after++
		}
	}
	value, unit := r.text.has(after, isUnit)
	if !unit || !r.text.nearWord(after) || Unit(value) < Minutes || Unit(value) > Years {
		return n, i, false
	}
	return Number{Values: []float64{part}, Unit: Unit(value)}, r.text.after(after), true
}

// partsOfHour are single words for parts of an hour.
var partsOfHour = map[string]float64{"полчаса": 0.5, "viertelstunde": 0.25, "dreiviertelstunde": 0.75}

// quarters are what a number counts in three quarters of an hour.
var quarters = words.Set("quarters quarts cuartos quarti quartos")

// partOf are the words between a half and its unit.
var partOf = words.Set("an a of de d di 个 個 un una")

// minutesAt reads the minutes that follow an hour directly, in digits or Chinese characters.
func (r *numberReader) minutesAt(i int) (minutes float64, next int) {
	if t := r.text.token(i); !t.han || t.gap != "" {
		return r.text.digitsOnly(i)
	}
	n, next := r.text.hanAt(i)
	if next == i || n.Values[0] >= 60 {
		return 0, i
	}
	_, counted := r.text.has(next, isCounter)
	if r.text.word(next) != "分" && (n.Values[0] < 10 || counted && r.text.token(next).gap == "") {
		return 0, i
	}
	return n.Values[0], next
}
