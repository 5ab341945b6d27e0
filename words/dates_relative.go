// Relative dates, such as "three weeks ago", and the names of days, months and units.

package words

import (
	"strings"
)

// readRelative parses a time relative to now: "yesterday", "last week", "3 weeks ago", "vor drei Tagen".
func (d *dater) readRelative() bool {
	word := d.token(d.at).word
	if days, known := nearDays[word]; known {
		d.addDays(days, 1)
		d.at++
		return true
	}
	if lasts[word] && d.last(d.token(d.at+1).word) {
		d.at += 2
		return true
	}
	at := d.at
	german := word == "vor"
	if german {
		at++
	}
	n := d.token(at).number
	if n < 0 {
		n = counts[d.token(at).word]
	}
	if n <= 0 || n > 1000 || !german && d.token(at+2).word != "ago" || !d.ago(d.token(at+1).word, n) {
		return false
	}
	d.at = at + 2
	return true
}

// last adds the previous day, week, weekend, month, year or weekday.
func (d *dater) last(unit string) bool {
	monday := -(int(d.day.Weekday()) + 6) % 7
	first := d.day.AddDate(0, 0, 1-d.day.Day())
	switch units[unit] {
	case 'd':
		d.addDays(-1, 1)
	case 'w':
		d.addDays(monday-7, 7)
	case 'e': // weekend
		d.addDays(monday-2, 2)
	case 'm':
		d.add(first.AddDate(0, -1, 0), first)
	case 'y':
		d.add(d.date(d.now.Year()-1, 1, 1), d.date(d.now.Year(), 1, 1))
	default:
		weekday, known := weekdays[unit]
		if !known {
			return false
		}
		back := (int(d.day.Weekday())-weekday+6)%7 + 1
		d.addDays(-back, 1)
	}
	return true
}

// ago adds the day, week, month or year n units ago, with a margin, because people round.
func (d *dater) ago(unit string, n int) bool {
	switch units[unit] {
	case 'd':
		d.addDays(-n, 1)
	case 'w':
		d.addDays(-7*n-3, 7)
	case 'm':
		d.add(d.day.AddDate(0, -n, -15), d.day.AddDate(0, -n, 16))
	case 'y':
		d.add(d.day.AddDate(-n, -6, 0), d.day.AddDate(-n, 6, 1))
	default:
		return false
	}
	return true
}

var (
	nearDays     = readNumbers("yesterday gestern today heute", -1, -1, 0, 0)
	lasts        = Set("last past previous letzte letzten letztes letzter vorige vorigen voriges")
	leadsToMonth = Set("in on of since until till by during last this early late mid before after im seit bis anfang ende")
)

var monthNames = readNumbers(`january jan januar janner februar february feb marz march mar april apr may mai june jun juni july jul juli
august aug september sep sept october oct oktober november nov december dec dezember`,
	1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 9, 9, 9, 10, 10, 10, 11, 11, 12, 12, 12)

var weekdays = readNumbers("sunday monday tuesday wednesday thursday friday saturday sonntag montag dienstag mittwoch donnerstag freitag samstag",
	0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6)

var counts = readNumbers("a an one two three four five six seven eight nine ten einem einer zwei drei vier funf sechs",
	1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 1, 2, 3, 4, 5, 6)

var units = readNumbers(`day days night tag tagen nacht week weeks woche wochen weekend wochenende
month months monat monaten year years jahr jahren`,
	'd', 'd', 'd', 'd', 'd', 'd', 'w', 'w', 'w', 'w', 'e', 'e', 'm', 'm', 'm', 'm', 'y', 'y', 'y', 'y')

// readNumbers maps each word of list to its number.
func readNumbers(list string, numbers ...int) map[string]int {
	m := make(map[string]int)
	for i, word := range strings.Fields(list) {
		m[word] = numbers[i]
	}
	return m
}
