// Dates: the times that a text mentions.

package words

import (
	"cmp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Span is a period of time, without To itself.
type Span struct{ From, To time.Time }

// Dates returns the times that text mentions, in its order: days ("7 May 2023", "May 7th", "2023-05-07", "7.5.2023",
// "2023年5月7日"), months, years, and those relative to now, such as "yesterday", "last week", "two months ago". A month or day
// without a year is the latest one that is not after now. All are in now's time zone. The languages are English and German.
func Dates(text string, now time.Time) []Span {
	d := dater{now: now, day: time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location()), tokens: dateTokens(text)}
	for d.at < len(d.tokens) {
		if !d.readNumeric() && !d.readNamed() && !d.readRelative() {
			d.at++
		}
	}
	return d.found
}

// dater parses dates from tokens.
type dater struct {
	now, day time.Time // day: now's midnight
	tokens   []dateToken
	at       int
	found    []Span
}

// dateToken is a word or a number.
type dateToken struct {
	word    string // folded; "" for a number
	number  int    // -1 for a word
	digits  int    // number of digits
	capital bool   // the word is capitalized
	next    rune   // the character right after it
}

// dateTokens splits text into words and numbers; "7th" and "7日" are numbers.
func dateTokens(text string) []dateToken {
	const maxTokens = 512
	var tokens []dateToken
	runes := []rune(text[:min(len(text), 1<<14)])
	for i := 0; i < len(runes) && len(tokens) < maxTokens; {
		start := i
		switch r := runes[i]; {
		case '0' <= r && r <= '9':
			for i < len(runes) && '0' <= runes[i] && runes[i] <= '9' {
				i++
			}
			t := dateToken{number: -1, digits: i - start}
			if t.digits <= 4 {
				t.number, _ = strconv.Atoi(string(runes[start:i]))
			}
			if i+1 < len(runes) && isOrdinal(runes[i:]) {
				i += 2
			}
			if i < len(runes) {
				t.next = runes[i]
			}
			tokens = append(tokens, t)
		case unicode.IsLetter(r) && !IsUnspaced(r):
			var word []byte
			for i < len(runes) && (unicode.IsLetter(runes[i]) || unicode.IsMark(runes[i])) && !IsUnspaced(runes[i]) {
				if len(word) < MaxTerm {
					word = appendFolded(word, runes[i])
				}
				i++
			}
			tokens = append(tokens, dateToken{word: string(word), number: -1, capital: unicode.IsUpper(r)})
		default:
			i++
		}
	}
	return tokens
}

// isOrdinal reports whether rest starts with the ending of an ordinal number: 1st, 22nd.
func isOrdinal(rest []rune) bool {
	switch strings.ToLower(string(rest[:2])) {
	case "st", "nd", "rd", "th":
		return len(rest) == 2 || !unicode.IsLetter(rest[2])
	}
	return false
}

func (d *dater) token(i int) dateToken {
	if i >= 0 && i < len(d.tokens) {
		return d.tokens[i]
	}
	return dateToken{number: -1}
}

func isYear(t dateToken) bool { return t.digits == 4 && t.number >= 1900 && t.number < 2200 }
func isDay(t dateToken) bool {
	return t.digits > 0 && t.digits <= 2 && t.number >= 1 && t.number <= 31
}
func isMonth(t dateToken) bool { return isDay(t) && t.number <= 12 }

// readNumeric parses 2023-05-07, 2023/5/7, 2023年5月7日, 2023-05, 7.5.2023, 2023.
func (d *dater) readNumeric() bool {
	a := d.token(d.at)
	b := d.token(d.at + 1)
	c := d.token(d.at + 2)
	switch {
	case isYear(a) && isMonth(b) && isDay(c) && (a.next == b.next && strings.ContainsRune("-/", a.next) || a.next == '年' && b.next == '月'):
		d.addDay(a.number, b.number, c.number)
		d.at += 3
	case isYear(a) && isMonth(b) && (a.next == '年' && b.next == '月' || a.next == '-' && b.digits == 2):
		d.addDay(a.number, b.number, 0)
		d.at += 2
	case isDay(a) && isMonth(b) && isYear(c) && a.next == '.' && b.next == '.':
		d.addDay(c.number, b.number, a.number)
		d.at += 3
	case isMonth(a) && a.next == '月' && isDay(b) && b.next == '日':
		d.addDay(0, a.number, b.number)
		d.at += 2
	case isYear(a):
		d.add(d.date(a.number, 1, 1), d.date(a.number+1, 1, 1))
		d.at++
	default:
		return false
	}
	return true
}

// readNamed parses a month by its name, with its surroundings: "7 May 2023", "the 7th of May", "May 7, 2023", "in May".
func (d *dater) readNamed() bool {
	t := d.token(d.at)
	month, known := monthNames[t.word]
	if !known {
		return false
	}
	day := 0
	year := 0
	before := d.token(d.at - 1)
	if before.word == "of" {
		before = d.token(d.at - 2)
	}
	next := d.at + 1
	if isDay(before) {
		day = before.number
	} else if isDay(d.token(next)) && !isYear(d.token(next)) {
		day = d.token(next).number
		next++
	}
	if isYear(d.token(next)) {
		year = d.token(next).number
		next++
	}
	if day == 0 && year == 0 && (len(t.word) == 3 || t.word == "march") && !(t.capital && d.at > 0) && !leadsToMonth[d.token(d.at-1).word] {
		return false // "may", "march" and others are also ordinary words
	}
	d.at = next
	d.addDay(year, month, day)
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

func (d *dater) date(year, month, day int) time.Time {
	return time.Date(year, time.Month(month), day, 0, 0, 0, 0, d.now.Location())
}

// addDays adds n days, starting from days after today.
func (d *dater) addDays(from, n int) { d.add(d.day.AddDate(0, 0, from), d.day.AddDate(0, 0, from+n)) }

func (d *dater) add(from, to time.Time) { d.found = append(d.found, Span{from, to}) }

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
	is, known := lengths[units[unit]]
	if known {
		at := d.day.AddDate(0, -n*is.months, -n*is.days)
		d.add(at.AddDate(0, 0, -is.margin), at.AddDate(0, 0, is.margin+1))
	}
	return known
}

// lengths are those of the units, and the margins in days.
var lengths = map[int]struct{ months, days, margin int }{'d': {0, 1, 0}, 'w': {0, 7, 3}, 'm': {1, 0, 15}, 'y': {12, 0, 183}}

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
