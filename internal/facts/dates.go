package facts

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Date is a day, month or weekday that a text states.
type Date struct {
	Year, Month, Day int  // 0: not stated
	Weekday          int  // 0 for Sunday; -1: not stated
	Swapped          bool // day and month may be the other way round: 9/3
	Near             int  // days from the day of the message, if From and To are equal and nothing else is stated
	From, To         int  // days from that day, without To, of a vague time such as "next week", which is Soft
	Soft             bool
	Loose            bool // a day without its month, or something else: the 18th
}

// IsNear reports whether the date is only a number of days from the day of the message, such as tomorrow.
func (d Date) IsNear() bool { return !d.Soft && d.Day == 0 && d.Month == 0 && d.Weekday < 0 }

// none is a date of which nothing is known.
var none = Date{Weekday: -1}

// Span is a range of days, without To, counted as day does.
type Span struct{ From, To int }

// DaysFrom returns the days from a time until another one.
func DaysFrom(from, to time.Time) Span { return Span{day(from), day(to)} }

// Meets reports whether two spans have a day in common.
func (s Span) Meets(o Span) bool { return s.From < o.To && o.From < s.To }

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
	spans = d.inMonth(at, time.Month(d.Month), d.Day, spans)
	if d.Swapped && d.Day <= 12 {
		spans = d.inMonth(at, time.Month(d.Day), d.Month, spans)
	}
	return spans
}

// nearWeekdays is how far away a weekday is that a text states without a date, in days.
const nearWeekdays = 14

// days appends the days of a date that states only the day of the month: the last and the next such day, or those of some months
// if it states the weekday, too.
func (d Date) days(at time.Time, spans []Span) []Span {
	const longest = 31
	today := day(at)
	for n := -2; n <= 2; n++ {
		month := time.Date(at.Year(), at.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
		for _, span := range d.inMonth(month, month.Month(), d.Day, nil) {
			if d.Weekday >= 0 || span.From >= today-longest && span.From <= today+longest {
				spans = append(spans, span)
			}
		}
	}
	return spans
}

// inMonth appends a day of a month, or the month, in the years around a time if the date states none.
func (d Date) inMonth(at time.Time, month time.Month, dayOfMonth int, spans []Span) []Span {
	first := at.Year() - 1
	last := at.Year() + 1
	if d.Year != 0 {
		first = d.Year
		last = d.Year
	}
	for year := first; year <= last; year++ {
		from := dayOf(year, month, max(dayOfMonth, 1))
		next := dayOf(year, month+1, 1)
		to := from + 1
		if dayOfMonth == 0 {
			to = next
		}
		if from >= next || d.Weekday >= 0 && dayOfMonth != 0 && weekday(from) != d.Weekday { // such as 31 April
			continue
		}
		spans = append(spans, Span{from, to})
	}
	return spans
}

func weekday(day int) int { return ((day+4)%7 + 7) % 7 } // day 0 is a Thursday

// Meet reports whether two dates, each stated at a time, may be one. The first may state only the weekday of the second.
func Meet(a Date, atA time.Time, b Date, atB time.Time) bool {
	if a == b && atA.Equal(atB) { // such as 31 April, which is no day
		return true
	}
	if a.onWeekday(b, atB) {
		return true
	}
	others := b.Spans(atB)
	return slices.ContainsFunc(a.Spans(atA), func(x Span) bool { return slices.ContainsFunc(others, x.Meets) })
}

// onWeekday reports whether a date states only the weekday of another one, stated at a time.
func (d Date) onWeekday(other Date, at time.Time) bool {
	if d.Soft || d.Weekday < 0 || d.Day != 0 || d.Month != 0 || other.Day == 0 || other.Month == 0 {
		return false
	}
	for _, span := range other.Spans(at) {
		if near := span.From - day(at); near > -nearYear && near < nearYear && weekday(span.From) == d.Weekday {
			return true
		}
	}
	return false
}

// nearYear is how far away a date without its year is likely, in days.
const nearYear = 183

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
	return slices.Concat(all, r.vague(), r.loose())
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
			d.Weekday = weekday
			next = end
		}
	}
	return d, next
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
			d.Day = on.Day
			next = after
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
		value = int(n.Values[0])
		next = after
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
	t := r.token(i)
	before := r.token(i - 1).text
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
