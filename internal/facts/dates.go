package facts

import (
	"strconv"
	"strings"
	"time"

	"cairn/internal/words"
)

// Date is a day, month or weekday that a text states.
type Date struct {
	Year, Month, Day int  // 0: not stated
	Weekday          int  // 0 for Sunday; -1: not stated
	Swapped          bool // day and month may be the other way round: 9/3
	Near             int  // days from the day of the message, if From and To are equal and nothing else is stated
	From, To         int  // days from that day, without To, of a vague time such as "next week", which is Soft
	Soft             bool
}

// IsNear reports whether the date is only a number of days from the day of the message, such as tomorrow.
func (d Date) IsNear() bool { return !d.Soft && d.Day == 0 && d.Month == 0 && d.Weekday < 0 }

// none is a date of which nothing is known.
var none = Date{Weekday: -1}

// Span is a range of days, without To, counted as day does.
type Span struct{ From, To int }

// Spans returns the days that the date may be if it is stated at a time. Of what repeats, such as weekdays, they are those near.
func (d Date) Spans(at time.Time) (spans []Span) {
	today := day(at)
	switch {
	case d.Soft:
		return []Span{{today + d.From, today + d.To}}
	case d.IsNear():
		return []Span{{today + d.Near, today + d.Near + 1}}
	case d.Day == 0 && d.Month == 0:
		for n := -nearWeekdays; n <= nearWeekdays; n++ {
			if weekday(today+n) == d.Weekday {
				spans = append(spans, Span{today + n, today + n + 1})
			}
		}
		return spans
	case d.Month == 0:
		return d.days(at, spans)
	}
	spans = d.inMonth(at, d.Month, d.Day, spans)
	if d.Swapped && d.Day <= 12 {
		spans = d.inMonth(at, d.Day, d.Month, spans)
	}
	return spans
}

// nearWeekdays is how far away a weekday is that a text states without a date, in days.
const nearWeekdays = 14

// days appends the days of a date that states only the day of the month.
func (d Date) days(at time.Time, spans []Span) []Span {
	for n := -2; n <= 2; n++ {
		month := time.Date(at.Year(), at.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
		spans = d.inMonth(month, int(month.Month()), d.Day, spans)
	}
	return spans
}

// inMonth appends a day of a month, or the month, in the years around a time if the date states none.
func (d Date) inMonth(at time.Time, month, dayOfMonth int, spans []Span) []Span {
	first, last := at.Year()-1, at.Year()+1
	if d.Year != 0 {
		first, last = d.Year, d.Year
	}
	for year := first; year <= last; year++ {
		from := time.Date(year, time.Month(month), max(dayOfMonth, 1), 0, 0, 0, 0, time.UTC)
		to := from.AddDate(0, 0, 1)
		if dayOfMonth == 0 {
			to = from.AddDate(0, 1, 0)
		}
		if from.Month() != time.Month(month) || d.Weekday >= 0 && dayOfMonth != 0 && int(from.Weekday()) != d.Weekday {
			continue
		}
		spans = append(spans, Span{day(from), day(to)})
	}
	return spans
}

func weekday(day int) int { return ((day+4)%7 + 7) % 7 } // day 0 is a Thursday

// Meet reports whether two dates, each stated at a time, may be one.
func Meet(a Date, atA time.Time, b Date, atB time.Time) bool {
	for _, x := range a.Spans(atA) {
		for _, y := range b.Spans(atB) {
			if x.From < y.To && y.From < x.To {
				return true
			}
		}
	}
	return false
}

// dates returns the dates of the text, and marks their tokens.
func (r *reader) dates() (all []Date) {
	for i := 0; i < len(r.tokens); {
		d, next := r.dateAt(i)
		if next == i {
			i++
			continue
		}
		for k := i; k < next; k++ {
			r.dated[k] = true
		}
		all = append(all, d)
		if first, ok := r.rangeStart(i); ok { // from the 16th to the 18th of May
			d.Day = first
			all = append(all, d)
		}
		i = next
	}
	return append(all, r.vague()...)
}

// dateAt reads the date that starts at a token, with its weekday before or after it.
func (r *reader) dateAt(i int) (Date, int) {
	if weekday, next, ok := r.weekdayAt(i); ok {
		d, end := r.dayAfter(next)
		d.Weekday = weekday
		if end == next {
			return d, next
		}
		return d, end
	}
	d, next := r.plainDateAt(i)
	if next > i && d.Day != 0 && len(r.token(next).gap) <= 4 && !strings.Contains(r.token(next).gap, ".") {
		if weekday, end, ok := r.weekdayAt(next); ok {
			d.Weekday, next = weekday, end
		}
	}
	return d, next
}

// weekdayAt reads a weekday.
func (r *reader) weekdayAt(i int) (weekday, next int, ok bool) {
	value, ok := r.has(i, isWeekday)
	if !ok {
		return 0, i, false
	}
	next = i + max(r.width[i], 1)
	if _, ordinal := r.has(i, isOrdinal); ordinal { // Portuguese: terça-feira, but a terça parte
		switch {
		case r.token(next).text == "feira":
			next++
		case counted[r.token(next).text], countsOff[r.token(i-1).text], value == 1 && !beforeWeekday[r.token(i-1).text]:
			return 0, i, false
		}
	}
	for r.token(next).text == "曜" || r.token(next).text == "日" && r.token(next-1).text == "曜" {
		next++
	}
	return int(value), next, true
}

// What stands around an ordinal that is no weekday in Portuguese, and before segunda-feira in short.
var (
	counted       = words.Set("vez parte pessoa edicao rodada etapa versao tentativa linha fase serie")
	countsOff     = words.Set("pela uma numa")
	beforeWeekday = words.Set("na ate de nesta proxima para pra toda ou desta da")
)

// toDay are the words between a weekday and its date.
var toDay = map[string]bool{
	"dia": true, "den": true, "der": true, "dem": true, "the": true, "le": true, "el": true, "il": true, "al": true, "o": true, "que": true, "vem": true, "proximo": true, "proxima": true, "gunu": true,
}

// dayAfter reads the date that follows a weekday.
func (r *reader) dayAfter(i int) (Date, int) {
	for k := i; k <= i+3 && k < len(r.tokens) && len(r.tokens[k].gap) <= 3 && !strings.Contains(r.tokens[k].gap, "."); k++ {
		if d, next := r.plainDateAt(k); next > k {
			return d, next
		}
		if d, next := r.dayOfMonthAt(k); next > k {
			return d, next
		}
		if !toDay[r.tokens[k].text] {
			break
		}
	}
	return none, i
}

// dayOfMonthAt reads a day of the month in digits that is no time and counts nothing.
func (r *reader) dayOfMonthAt(i int) (Date, int) {
	t := r.token(i)
	value, _ := strconv.Atoi(t.text)
	if !t.digits || value < 1 || value > 31 {
		return none, i
	}
	n, next := r.numberAt(i)
	if n.Unit != None || next > i+1 && !n.Ordinal {
		return none, i
	}
	return Date{Weekday: -1, Day: value}, next
}

// plainDateAt reads a date without its weekday, or a word such as tomorrow.
func (r *reader) plainDateAt(i int) (Date, int) {
	if near, ok := r.has(i, isNear); ok && !r.isMorning(i) {
		return Date{Weekday: -1, Near: r.further(i, int(near))}, i + max(r.width[i], 1)
	}
	if d, next := r.numericAt(i); next > i {
		return d, next
	}
	if d, next := r.hanDateAt(i); next > i {
		return d, next
	}
	if dayOfMonth, next, ok := r.dayNumberAt(i); ok {
		if month, after, ok := r.monthAt(next); ok {
			d := Date{Weekday: -1, Month: month, Day: dayOfMonth}
			d.Year, after = r.yearAt(after)
			return d, after
		}
	}
	month, next, ok := r.monthAt(i)
	if !ok {
		return none, i
	}
	d := Date{Weekday: -1, Month: month}
	if t := r.token(next); t.digits && len(t.text) <= 2 && (t.gap == " " || t.gap == ". ") {
		if on, after := r.dayOfMonthAt(next); after > next {
			d.Day, next = on.Day, after
		}
	}
	d.Year, next = r.yearAt(next)
	return d, next
}

// dayNumberAt reads a day of the month before its month: 9, 9th, 9., ninth.
func (r *reader) dayNumberAt(i int) (value, next int, ok bool) {
	if t := r.token(i); t.digits {
		value, _ = strconv.Atoi(t.text)
		next = i + 1
		if r.ordinalEnding(next) {
			if _, month := r.has(next, isMonth); !month {
				next++
			}
		}
	} else {
		n, after := r.wordsAt(i)
		if after == i || len(n.Values) == 0 {
			return 0, i, false
		}
		value, next = int(n.Values[0]), after
	}
	if ofMonth[r.token(next).text] && len(r.token(next).gap) <= 1 {
		next++
	}
	return value, next, value >= 1 && value <= 31
}

var ofMonth = map[string]bool{"of": true, "de": true, "di": true, "do": true, "del": true, "من": true}

// monthAt reads the name of a month.
func (r *reader) monthAt(i int) (month, next int, ok bool) {
	value, ok := r.has(i, isMonth)
	if !ok || strings.ContainsAny(r.token(i).gap, ",;:!?\n") && i > 0 && r.token(i-1).digits {
		return 0, i, false
	}
	if r.token(i).text == "كانون" && strings.HasPrefix(r.token(i+1).text, "ال") {
		return int(value), i + 2, true
	}
	return int(value), i + max(r.width[i], 1), true
}

// yearAt reads a year after a date; 0 if there is none.
func (r *reader) yearAt(i int) (year, next int) {
	next = i
	if ofMonth[r.token(i).text] {
		next++
	}
	t := r.token(next)
	value, _ := strconv.Atoi(t.text)
	if t.digits && isYear(value, t.text) && !strings.ContainsAny(t.gap, ".;:\n(") {
		return value, next + 1
	}
	return 0, i
}

func isYear(value int, text string) bool { return len(text) == 4 && value >= 1900 && value < 2200 }

// isMorning reports whether a word is the morning, not tomorrow: la mañana, am Morgen.
func (r *reader) isMorning(i int) bool {
	t, before := r.token(i), r.token(i-1).text
	return t.text == "manana" && (before == "la" || before == "esta") || t.text == "morgen" && t.capital && (before == "am" || before == "heute" || before == "jeden")
}

// further returns one day more for "the day after tomorrow", "pasado mañana", "avant-hier".
func (r *reader) further(i, near int) int {
	before := r.token(i - 1).text
	if before == "de" {
		before = r.token(i - 2).text
	}
	switch {
	case near == 1 && (before == "after" || before == "pasado" || before == "apres" || before == "dopo" || before == "depois" || before == "بعد"):
		return 2
	case near == -1 && (before == "before" || before == "avant" || before == "antes" || before == "altro" || before == "اول" || before == "قبل"):
		return -2
	}
	return near
}

// numericAt reads 2026-03-09, 9.3.2026, 3/9/26, 9/3, 9.3.
func (r *reader) numericAt(i int) (Date, int) {
	a, b, c := r.token(i), r.token(i+1), r.token(i+2)
	if !a.digits || !b.digits || len(b.gap) != 1 || !strings.Contains("-/.", b.gap) {
		return none, i
	}
	x, _ := strconv.Atoi(a.text)
	y, _ := strconv.Atoi(b.text)
	z, _ := strconv.Atoi(c.text)
	whole := c.digits && c.gap == b.gap
	switch {
	case whole && isYear(x, a.text) && y >= 1 && y <= 12 && z >= 1 && z <= 31:
		return Date{Weekday: -1, Year: x, Month: y, Day: z}, i + 3
	case whole && isYear(z, c.text), whole && len(c.text) == 2 && b.gap != "-":
		if z < 100 {
			z += 2000
		}
		if d, ok := dayAndMonth(x, y); ok {
			d.Year = z
			return d, i + 3
		}
	case whole || len(a.text) > 2 || len(b.text) > 2 || c.gap == "" && i+2 < len(r.tokens):
	case b.gap == "/" || b.gap == "." && strings.HasPrefix(c.gap, ".") && len(c.gap) > 1 && c.gap != ".\n":
		if d, ok := dayAndMonth(x, y); ok {
			return d, i + 2
		}
	}
	return none, i
}

// dayAndMonth returns a date from its day and month, in either order.
func dayAndMonth(x, y int) (Date, bool) {
	switch {
	case x < 1 || y < 1 || x > 31 || y > 31 || x > 12 && y > 12:
		return none, false
	case y > 12:
		x, y = y, x
	}
	return Date{Weekday: -1, Day: x, Month: y, Swapped: x <= 12}, true
}

// hanDateAt reads 2026年3月9日, 3月9号, 9日, 3月.
func (r *reader) hanDateAt(i int) (Date, int) {
	d, next := none, i
	for _, part := range []struct {
		marks string
		least int
		most  int
		to    *int
	}{{"年", 1900, 2199, &d.Year}, {"月", 1, 12, &d.Month}, {"日号號", 1, 31, &d.Day}} {
		value, after := r.wholeAt(next)
		mark := r.token(after)
		if after == next || !mark.han || mark.gap != "" || !strings.Contains(part.marks, mark.text) || value < part.least || value > part.most {
			continue
		}
		*part.to, next = value, after+1
	}
	if d.Month == 0 && d.Day == 0 || d.Day != 0 && strings.Contains("間间楼線线", r.token(next).text) && next < len(r.tokens) {
		return none, i
	}
	return d, next
}

// wholeAt reads a whole number without a unit.
func (r *reader) wholeAt(i int) (value, next int) {
	if t := r.token(i); t.digits {
		value, _ = strconv.Atoi(t.text)
		return value, i + 1
	}
	if n, next := r.hanAt(i); next > i {
		return int(n.Values[0]), next
	}
	return 0, i
}

// rangeStart returns the first day of a range that ends with the date at a token.
func (r *reader) rangeStart(i int) (value int, ok bool) {
	k := i - 1
	if t := r.token(i); t.digits && strings.Trim(t.gap, "-–—~ ") != "" || !t.digits {
		return 0, false
	}
	if t := r.token(k); !t.digits && len(t.text) <= 4 {
		k--
	}
	value, err := strconv.Atoi(r.token(k).text)
	return value, err == nil && r.token(k).digits && value >= 1 && value <= 31
}

// vague returns the times that words such as "next week" and "in three days" may mean.
func (r *reader) vague() (all []Date) {
	for i := range r.tokens {
		value, ok := r.has(i, isUnit)
		if !ok {
			continue
		}
		soft := Date{Weekday: -1, Soft: true}
		switch Unit(value) {
		case Weeks:
			soft.From, soft.To = -14, 22
		case weekend:
			soft.From, soft.To = -8, 15
		case Months:
			soft.From, soft.To = -62, 93
		default:
			continue
		}
		all = append(all, soft)
	}
	return all
}
