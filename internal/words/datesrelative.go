// Times relative to now, and times that come every year: "last week", "two days ago", "in the spring", "at Christmas".

package words

import (
	"time"
	"unicode"
	"unicode/utf8"
)

// readRelative parses "yesterday", "last week", "last Friday", "this month", "the last two weeks".
func (d *dater) readRelative() bool {
	t := d.token(d.at)
	next := d.token(d.at + 1)
	for _, kind := range []string{"near", "lastperiod", "thisperiod", "hier"} {
		value, ok := t.as(kind)
		if !ok || kind == "hier" && !d.isFrench() {
			continue
		}
		switch kind {
		case "lastperiod":
			d.addLast(value)
		case "thisperiod":
			d.addThis(value)
		default:
			d.addDays(value, 1)
		}
		d.at++
		return true
	}
	unit, isUnit := next.as("unit")
	switch {
	case t.is("last") && isUnit:
		d.addLast(unit)
	case t.is("last") && d.addWeekday(next), next.is("after") && d.addWeekday(t):
	case t.is("this") && isUnit:
		d.addThis(unit)
	case next.is("after") && t.is("unit"):
		unit, _ = t.as("unit")
		d.addLast(unit)
	default:
		return d.readLastFew() || d.readLatest()
	}
	d.at += 2
	return true
}

// readLatest parses "on Tuesday" and "over the weekend": the last one that has begun.
func (d *dater) readLatest() bool {
	t := d.token(d.at)
	unit, _ := t.as("unit")
	isWeekend := unit == 'e'
	if !isWeekend && !t.is("weekday") || !d.token(d.before(d.at, "article")).is("lead") {
		return false
	}
	switch day := d.day.Weekday(); {
	case !isWeekend:
		d.addWeekday(t)
	case day == time.Saturday || day == time.Sunday:
		d.addThis('e')
	default:
		d.addLast('e')
	}
	d.at++
	return true
}

// isFrench reports whether "hier" means yesterday: in German it means here.
func (d *dater) isFrench() bool {
	if d.token(d.at+1).is("unit") || len(d.tokens) == 1 {
		return true
	}
	at, _, _ := languageOf(d.text)
	return at >= 0 && languages[at].code == "fr"
}

// addLast adds the previous day, week, weekend, month or year.
func (d *dater) addLast(unit int) {
	monday := -(int(d.day.Weekday()) + 6) % 7
	first := d.day.AddDate(0, 0, 1-d.day.Day())
	switch unit {
	case 'd':
		d.addDays(-1, 1)
	case 'w':
		d.addDays(monday-7, 7)
	case 'e':
		d.addDays(monday-2, 2)
	case 'm':
		d.add(first.AddDate(0, -1, 0), first)
	case 'y':
		d.addYear(d.now.Year() - 1)
	}
}

// addThis adds the current day, week, weekend, month or year.
func (d *dater) addThis(unit int) {
	monday := -(int(d.day.Weekday()) + 6) % 7
	switch unit {
	case 'd':
		d.addDays(0, 1)
	case 'w':
		d.addDays(monday, 7)
	case 'e':
		d.addDays(monday+5, 2)
	case 'm':
		first := d.day.AddDate(0, 0, 1-d.day.Day())
		d.add(first, first.AddDate(0, 1, 0))
	case 'y':
		d.addYear(d.now.Year())
	}
}

// addWeekday adds the last day of a name before today.
func (d *dater) addWeekday(t dateToken) bool {
	weekday, ok := t.as("weekday")
	if ok {
		back := (int(d.day.Weekday())-weekday+6)%7 + 1
		d.addDays(-back, 1)
	}
	return ok
}

// lengths are those of the units, and the margins of "two weeks ago" in days, because people round.
var lengths = map[int]struct{ months, days, margin int }{'d': {0, 1, 0}, 'w': {0, 7, 3}, 'm': {1, 0, 15}, 'y': {12, 0, 183}}

const maxCount = 1000 // "10000 days ago" is no time that somebody asks for

// count parses a number before a unit, "two", "3", "a few", and returns the token after it. vague: it is no number.
func (d *dater) count(at int) (n, next int, vague bool) {
	t := d.token(at)
	if t.number > 0 && t.number <= maxCount {
		return t.number, at + 1, false
	}
	n, vague = t.as("vague")
	if !vague {
		n, _ = t.as("number")
	}
	next = at + 1
	if vague { // "a couple of days"
		next = d.skip(next, "of")
	}
	return n, next, vague
}

// readLastFew parses "the last two weeks" and "les trois derniers mois": up to now.
func (d *dater) readLastFew() bool {
	isLast := d.token(d.at).is("last")
	start := d.at
	if isLast {
		start++
	}
	n, at, _ := d.count(start)
	if !isLast && d.token(at).is("after") {
		isLast = true
		at++
	}
	unit, _ := d.token(at).as("unit")
	length, known := lengths[unit]
	if n == 0 || !isLast || !known {
		return false
	}
	d.add(d.day.AddDate(0, -n*length.months, -n*length.days), d.day.AddDate(0, 0, 1))
	d.at = at + 1
	return true
}

// readAgo parses "3 weeks ago", "vor drei Tagen", "hace unos días", "三天前".
func (d *dater) readAgo() bool {
	at := d.at
	since := d.token(at).is("since")
	if since {
		at = d.skip(at+1, "about")
	}
	n, next, vague := d.count(at)
	if r, _ := utf8.DecodeRuneInString(d.token(at).word); n == 0 && unicode.Is(unicode.Cyrillic, r) { // "год назад" is one year
		n = 1
		next = at
	}
	unit, ok := d.token(next).as("agounit")
	end := next + 1
	if !ok {
		unit, ok = d.token(next).as("unit")
		ok = ok && (since || d.token(end).is("ago"))
		if !since {
			end++
		}
	}
	length, known := lengths[unit]
	if n == 0 || !ok || !known {
		return false
	}
	from := d.day.AddDate(0, -n*length.months, -n*length.days)
	margin := length.margin
	if vague {
		margin = (n*length.days + 30*n*length.months) / 2
	}
	d.add(from.AddDate(0, 0, -margin), from.AddDate(0, 0, margin+1))
	d.at = end
	return true
}

// readSeason parses "in the spring", "last summer", "autumn of 2024". Alone the words mean other things too.
func (d *dater) readSeason() bool {
	t := d.token(d.at)
	month, ok := t.as("season")
	isSure := false
	if !ok {
		month, isSure = t.as("inseason")
	}
	if !ok && !isSure {
		return false
	}
	before := d.token(d.before(d.at, "article"))
	isLast := d.token(d.at - 1).is("last")
	next := d.at + 1
	if d.token(next).is("after") {
		isLast = true
		next++
	}
	year := d.token(d.skip(next, "of"))
	switch {
	case isYear(year):
		from := d.date(year.number, month, 1)
		d.add(from, from.AddDate(0, 3, 0))
		d.at = d.skip(next, "of") + 1
		return true
	case !isSure && !isLast && !before.is("lead") && !before.is("this"):
		return false
	}
	from := d.date(d.now.Year(), month, 1)
	for from.After(d.now) || isLast && from.AddDate(0, 3, 0).After(d.now) {
		from = from.AddDate(-1, 0, 0)
	}
	d.add(from, from.AddDate(0, 3, 0))
	d.at = next
	return true
}

// readHoliday parses "at Christmas", "New Year's Eve 2023", "before New Year": the week before it, too.
func (d *dater) readHoliday() bool {
	holiday, ok := d.token(d.at).as("holiday")
	if !ok {
		return false
	}
	isBefore := d.token(d.before(d.at, "article")).is("before")
	d.at++
	at := d.skip(d.at, "of")
	span := holidayIn(holiday, d.now.Year(), d.now.Location())
	switch year := d.token(at); {
	case isYear(year):
		span = holidayIn(holiday, year.number, d.now.Location())
		d.at = at + 1
	case span.From.After(d.now):
		span = holidayIn(holiday, d.now.Year()-1, d.now.Location())
	}
	if isBefore {
		span.From = span.From.AddDate(0, 0, -7)
	}
	d.add(span.From, span.To)
	return true
}

// holidayIn returns when a holiday, by its number in datewords.txt, is in a year.
func holidayIn(holiday, year int, zone *time.Location) Span {
	days := func(month time.Month, day, n int) Span {
		from := time.Date(year, month, day, 0, 0, 0, 0, zone)
		return Span{from, from.AddDate(0, 0, n)}
	}
	switch holiday {
	case 1: // New Year's Eve
		return days(time.December, 31, 1)
	case 2: // New Year
		return days(time.January, 1, 1)
	case 3: // Christmas Eve
		return days(time.December, 24, 1)
	case 4: // Christmas
		return days(time.December, 24, 3)
	case 5: // Easter, from Good Friday to Monday
		month, day := easter(year)
		return days(month, day-2, 4)
	case 6: // Holy Week
		month, day := easter(year)
		return days(month, day-7, 9)
	case 7: // Halloween
		return days(time.October, 31, 1)
	case 8: // Valentine's Day
		return days(time.February, 14, 1)
	}
	first := time.Date(year, time.November, 1, 0, 0, 0, 0, zone) // Thanksgiving: the fourth Thursday
	return days(time.November, 22+(int(time.Thursday-first.Weekday())+7)%7, 1)
}

// easter returns the Sunday of the western churches, by the algorithm of Meeus, Jones and Butcher.
func easter(year int) (time.Month, int) {
	a := year % 19
	b, c := year/100, year%100
	h := (19*a + b - b/4 - (b-(b+8)/25+1)/3 + 15) % 30
	l := (32 + 2*(b%4) + 2*(c/4) - h - c%4) % 7
	m := (a + 11*h + 22*l) / 451
	n := h + l - 7*m + 114
	return time.Month(n / 31), n%31 + 1
}
