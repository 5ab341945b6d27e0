package facts

import (
	"slices"
	"strconv"
	"strings"
)

// dateReader reads the dates of a text, and marks their tokens.
type dateReader struct {
	text    *wording
	numbers *numberReader // reads the number that may be a day; no token is marked for it
	dated   marks         // tokens of dates
	days    marks         // tokens that may be a day of the month
}

func newDateReader(text *wording) *dateReader {
	return &dateReader{
		text:    text,
		numbers: &numberReader{text: text},
		dated:   make(marks, len(text.tokens)),
		days:    make(marks, len(text.tokens)),
	}
}

// read returns the dates of the text.
func (r *dateReader) read() (all []Date) {
	for i := 0; i < len(r.text.tokens); {
		d, next := r.dateAt(i)
		if next == i {
			i++
			continue
		}
		r.dated.set(i, next)
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
func (r *dateReader) dateAt(i int) (Date, int) {
	if weekday, next, ok := r.weekdayAt(i); ok {
		d, end := r.dayAfter(next)
		d.Weekday = weekday
		if end == next {
			return d, next
		}
		return d, end
	}
	d, next := r.plainDateAt(i)
	if next > i && d.Day != 0 && len(r.text.token(next).gap) <= 4 && !strings.Contains(r.text.token(next).gap, ".") {
		if weekday, end, ok := r.weekdayAt(next); ok {
			d.Weekday = weekday
			next = end
		}
	}
	return d, next
}

// plainDateAt reads a date without its weekday, or a word such as tomorrow.
func (r *dateReader) plainDateAt(i int) (Date, int) {
	if near, ok := r.text.has(i, isNear); ok && !r.isMorning(i) {
		return Date{Weekday: -1, Near: r.further(i, int(near))}, r.text.after(i)
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
	if t := r.text.token(next); t.digits && len(t.text) <= 2 && (t.gap == " " || t.gap == ". ") {
		if on, after := r.dayOfMonthAt(next); after > next {
			d.Day = on.Day
			next = after
		}
	}
	d.Year, next = r.yearAt(next)
	return d, next
}

// dayNumberAt reads a day of the month before its month: 9, 9th, 9., ninth.
func (r *dateReader) dayNumberAt(i int) (value, next int, ok bool) {
	if t := r.text.token(i); t.digits {
		value, _ = strconv.Atoi(t.text)
		next = i + 1
		if r.text.ordinalEnding(next) {
			if _, month := r.text.has(next, isMonth); !month {
				next++
			}
		}
	} else {
		n, after := r.text.wordsAt(i)
		if after == i || len(n.Values) == 0 {
			return 0, i, false
		}
		value = int(n.Values[0])
		next = after
	}
	if ofMonth[r.text.word(next)] && len(r.text.token(next).gap) <= 1 {
		next++
	}
	return value, next, value >= 1 && value <= 31
}

var ofMonth = map[string]bool{"of": true, "de": true, "di": true, "do": true, "del": true, "من": true}

// monthAt reads the name of a month.
func (r *dateReader) monthAt(i int) (month, next int, ok bool) {
	value, ok := r.text.has(i, isMonth)
	if !ok || strings.ContainsAny(r.text.token(i).gap, ",;:!?\n") && i > 0 && r.text.token(i-1).digits {
		return 0, i, false
	}
	if r.text.word(i) == "كانون" && strings.HasPrefix(r.text.word(i+1), "ال") {
		return int(value), i + 2, true
	}
	return int(value), r.text.after(i), true
}

// yearAt reads a year after a date; 0 if there is none.
func (r *dateReader) yearAt(i int) (year, next int) {
	next = i
	if ofMonth[r.text.word(i)] {
		next++
	}
	t := r.text.token(next)
	value, _ := strconv.Atoi(t.text)
	if t.digits && isYear(value, t.text) && !strings.ContainsAny(t.gap, ".;:\n(") {
		return value, next + 1
	}
	return 0, i
}

func isYear(value int, text string) bool { return len(text) == 4 && value >= 1900 && value < 2200 }

// isMorning reports whether a word is the morning, not tomorrow: la mañana, am Morgen.
func (r *dateReader) isMorning(i int) bool {
	t := r.text.token(i)
	before := r.text.word(i - 1)
	return t.text == "manana" && (before == "la" || before == "esta") || t.text == "morgen" && t.capital && (before == "am" || before == "heute" || before == "jeden")
}

// further returns one day more for "the day after tomorrow", "pasado mañana", "avant-hier".
func (r *dateReader) further(i, near int) int {
	before := r.text.word(i - 1)
	if before == "de" {
		before = r.text.word(i - 2)
	}
	switch {
	case near == 1 && (before == "after" || before == "pasado" || before == "apres" || before == "dopo" || before == "depois" || before == "بعد"):
		return 2
	case near == -1 && (before == "before" || before == "avant" || before == "antes" || before == "altro" || before == "اول" || before == "قبل"):
		return -2
	}
	return near
}
