package facts

import (
	"slices"
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
