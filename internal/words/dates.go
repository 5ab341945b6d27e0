// Dates: the times that a text mentions.

package words

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Span is a period of time, without To itself.
type Span struct{ From, To time.Time }

// Dates returns the times that text mentions, in its order: days ("7 May 2023", "2023-05-07", "7.5.2023", "2023年5月7日", "the last day of
// 2023"), ranges of days ("3 to 9 May"), months, years, seasons, holidays ("at Christmas", "New Year's Eve 2023"), and those
// relative to now ("yesterday", "last week", "a few days ago"). Without a year, the latest one that is not after now is meant. All
// are in now's time zone. "Since" and "until" change nothing: the time that they name is meant. The languages are those of
// datewords.txt; seasons are those of the north.
func Dates(text string, now time.Time) []Span {
	d := dater{
		text: text, now: now, day: time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location()), tokens: dateTokens(text),
	}
	for d.at < len(d.tokens) {
		if !d.readNext() {
			d.at++
		}
	}
	return d.found
}

// dater parses dates from tokens.
type dater struct {
	text     string
	now, day time.Time // day: now's midnight
	tokens   []dateToken
	at       int
	found    []Span
}

// readNext parses the time that begins at the next token, if one does.
func (d *dater) readNext() bool {
	return d.readNumeric() || d.readNamed() || d.readHoliday() || d.readSeason() || d.readEdge() || d.readRelative() || d.readAgo()
}

func (d *dater) token(i int) dateToken {
	if i >= 0 && i < len(d.tokens) {
		return d.tokens[i]
	}
	return dateToken{number: -1}
}

// skip returns the first token from i on that has none of these meanings.
func (d *dater) skip(i int, kinds ...string) int {
	for slices.ContainsFunc(kinds, d.token(i).is) {
		i++
	}
	return i
}

// before returns the last token before i that has none of these meanings.
func (d *dater) before(i int, kinds ...string) int {
	i--
	for slices.ContainsFunc(kinds, d.token(i).is) {
		i--
	}
	return i
}

func isYear(t dateToken) bool { return t.digits == 4 && t.number >= 1900 && t.number < 2200 }
func isDay(t dateToken) bool {
	return t.digits > 0 && t.digits <= 2 && t.number >= 1 && t.number <= 31
}
func isMonth(t dateToken) bool { return isDay(t) && t.number <= 12 }

// readNumeric parses 2023-05-07, 2023/5/7, 2023年5月7日, 2023-05, 7.5.2023, 25/12/2023, 12/25/2023, 5月, Q1 2023, 2023.
func (d *dater) readNumeric() bool {
	a := d.token(d.at)
	b := d.token(d.at + 1)
	c := d.token(d.at + 2)
	slashes := a.next == '/' && b.next == '/' && isYear(c)
	switch {
	case isYear(a) && isMonth(b) && isDay(c) && (a.next == b.next && strings.ContainsRune("-/", a.next) || a.next == '年' && b.next == '月'):
		d.addDay(a.number, b.number, c.number)
		d.at += 3
	case isYear(a) && isMonth(b) && (a.next == '年' && b.next == '月' || a.next == '-' && b.digits == 2):
		d.addDay(a.number, b.number, 0)
		d.at += 2
	case isDay(a) && isMonth(b) && (isYear(c) && a.next == '.' && b.next == '.' || slashes && a.number > 12):
		d.addDay(c.number, b.number, a.number)
		d.at += 3
	case slashes && isMonth(a) && isDay(b) && b.number > 12:
		d.addDay(c.number, a.number, b.number)
		d.at += 3
	case isMonth(a) && a.next == '月' && isDay(b) && b.next == '日':
		d.addDay(0, a.number, b.number)
		d.at += 2
	case isMonth(a) && a.next == '月':
		d.addDay(0, a.number, 0)
		d.at++
	case a.word == "q" && a.next >= '1' && a.next <= '4' && b.digits == 1 && isYear(c):
		from := d.date(c.number, 3*b.number-2, 1)
		d.add(from, from.AddDate(0, 3, 0))
		d.at += 3
	case isYear(a):
		d.addYear(a.number)
		d.at++
	default:
		return false
	}
	return true
}

// readNamed parses a month by its name, with its surroundings: "7 May 2023", "the 7th of May", "May 7, 2023", "3 to 9 May", "in May".
func (d *dater) readNamed() bool {
	t := d.token(d.at)
	month, known := t.as("month")
	if !known {
		return false
	}
	first, last, next := d.daysOf()
	year := 0
	if after := d.skip(next, "of"); isYear(d.token(after)) {
		year = d.token(after).number
		next = after + 1
	}
	isWord := len(t.word) <= 3 || alsoWords[t.word]
	if first == 0 && year == 0 && isWord && !(t.capital && d.at > 0) && !d.token(d.at-1).is("lead") {
		return false
	}
	d.at = next
	d.addDay(year, month, first)
	if last > first {
		d.found[len(d.found)-1].To = d.found[len(d.found)-1].From.AddDate(0, 0, last-first+1)
	}
	return true
}

// daysOf parses the days beside the month at the next token, 0 for none, and returns the token after them.
func (d *dater) daysOf() (first, last, next int) {
	next = d.at + 1
	at := d.before(d.at, "of")
	if day := d.token(at); isDay(day) {
		return d.rangeTo(at).number, day.number, next
	}
	day := d.token(next)
	if !isDay(day) {
		return 0, 0, next
	}
	if end := d.token(next + 2); d.token(next+1).is("and") && d.token(next+1).word != "and" && isDay(end) {
		return day.number, end.number, next + 3
	}
	if end := d.token(next + 1); strings.ContainsRune("-–", day.next) && isDay(end) {
		return day.number, end.number, next + 2
	}
	return day.number, day.number, next + 1
}

// alsoWords are names of months that mean something else, besides the short ones.
var alsoWords = Set("march mars mart august sept ocak")

// rangeTo returns the first day of a range that ends with the day at a token, "from 3 to 9" or "3-9"; without one the day itself.
func (d *dater) rangeTo(at int) dateToken {
	day := d.token(at)
	if start := d.token(at - 1); isDay(start) && strings.ContainsRune("-–", start.next) {
		return start
	}
	middle := d.before(at, "article")
	start := d.token(middle - 1)
	if d.token(middle).is("and") && isDay(start) && d.token(d.before(middle-1, "article")).is("from") {
		return start
	}
	return day
}

// readEdge parses "the last day of 2023" and "the first day of March": a day of the time that follows.
func (d *dater) readEdge() bool {
	t := d.token(d.at)
	unit, _ := d.token(d.at + 1).as("unit")
	isFirst := t.is("first")
	if !isFirst && !t.is("last") || unit != 'd' {
		return false
	}
	start := d.at
	n := len(d.found)
	d.at = d.skip(d.at+2, "of", "article", "ofyear")
	if d.at == start+2 || !d.readNumeric() && !d.readNamed() {
		d.at = start
		return false
	}
	span := &d.found[n]
	if isFirst {
		span.To = span.From.AddDate(0, 0, 1)
	} else {
		span.From = span.To.AddDate(0, 0, -1)
	}
	return true
}

// addDay adds a day, or, if day is 0, a month; without a year, the latest one that is not after now.
func (d *dater) addDay(year, month, day int) {
	from := d.date(cmp.Or(year, d.now.Year()), month, max(day, 1))
	if year == 0 && from.After(d.now) {
		from = from.AddDate(-1, 0, 0)
	}
	to := from.AddDate(0, 0, 1)
	if day == 0 {
		to = from.AddDate(0, 1, 0)
	}
	d.add(from, to)
}

func (d *dater) addYear(year int) { d.add(d.date(year, 1, 1), d.date(year+1, 1, 1)) }

func (d *dater) date(year, month, day int) time.Time {
	return time.Date(year, time.Month(month), day, 0, 0, 0, 0, d.now.Location())
}

// addDays adds n days, starting from days after today.
func (d *dater) addDays(from, n int) { d.add(d.day.AddDate(0, 0, from), d.day.AddDate(0, 0, from+n)) }

func (d *dater) add(from, to time.Time) { d.found = append(d.found, Span{from, to}) }
