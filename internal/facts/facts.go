// Package facts reads the numbers and dates that a text states, in digits of any script or in words of twelve languages. Its
// results serve to compare two texts, so it returns every reading of an ambiguous value: "1.200" is 1200 and 1.2. All of it is
// pure and takes linear time; it accepts any input.
package facts

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Unit is what a number counts, as far as texts with different units can be told apart.
type Unit uint8

// The units. None is also that of all other things.
const (
	None Unit = iota
	Money
	Cents // a hundredth of Money
	Percent
	Clock // a time of day, in minutes after midnight
	Minutes
	Hours
	Days
	Weeks
	Months
	Years
	weekend
)

// Number is a number that a text states.
type Number struct {
	Text    string    // as written, folded
	Values  []float64 // what it may be, the likeliest first; none for a version such as 1.2.3
	Unit    Unit
	Ordinal bool      // third, 3rd
	Weak    bool      // it may be no number: an article, or a character that is part of another word
	Dated   bool      // it is part of a date
	Day     bool      // it may be a day of the month
	Code    bool      // it follows letters: A4, v2
	Rounded bool      // a word says so: about, nearly, over
	Denied  bool      // a word for not is before it: 64, not 46
	Of      []string  // words after it that may say what it counts, folded
	Part    []float64 // times of day of which it may be a part: ten past three; in minutes after midnight

	from, to int // its tokens
	part     int // how many tokens before it its half is; 0: it has none
}

// Text is a text with its facts.
type Text struct {
	Numbers []Number
	Dates   []Date
	You     bool   // it speaks to somebody
	Bot     bool   // it names an assistant or a bot, without its name
	Asks    bool   // it has a word for a request or a decision
	Half    bool   // it has a word for half
	Rates   []Unit // units of time without a number: a month, im Jahr
	Cut     bool   // it is longer than what is read of it
}

// Read returns the facts of a text in any of the languages.
func Read(text string, languages []string) Text {
	w := wordingOf(text, languages)
	dates := newDateReader(w)
	found := Text{Cut: len(w.tokens) >= maxTokens, Dates: dates.read()}
	numbers := newNumberReader(w, dates.dated, dates.days)
	found.Numbers = numbers.read()
	for i := range w.tokens {
		counted := numbers.inNumber.at(i)
		for _, s := range w.senses[i] {
			found.You = found.You || s.kind == isYou
			found.Bot = found.Bot || s.kind == isAssistant
			found.Half = found.Half || s.kind == isHalfOf || s.kind == isHalf && !counted
			if s.kind == isUnit && Unit(s.value) >= Days && Unit(s.value) <= Years && !counted && !slices.Contains(found.Rates, Unit(s.value)) {
				found.Rates = append(found.Rates, Unit(s.value))
			}
			found.Asks = found.Asks || s.kind == isRequest
		}
	}
	return found
}

// Same reports whether two numbers may be the same: a reading of one equals a reading of the other, in the same unit if both have
// one. A time of day equals its hour, on either half of the day. The first may be the second, rounded, if a word says so.
func Same(a, b Number) bool {
	if a.Code && inWords(b) || b.Code && inWords(a) { // A3 is not three
		return false
	}
	if len(a.Values) == 0 || len(b.Values) == 0 {
		return a.Text == b.Text
	}
	if a.rounds(b) {
		return true
	}
	if same, known := sameSpelled(a, b); known {
		return same
	}
	if sameLength(a, b) || sameLength(b, a) || halfDayApart(a, b) {
		return true
	}
	if a.Unit == Clock || b.Unit == Clock {
		return sameTime(a, b)
	}
	if a.Unit == Months && b.Unit != Months {
		a, b = b, a
	}
	if b.Unit == Months && (a.Unit == Days || a.Unit == Weeks) { // a month has four weeks, or 30 days
		days := a.Values[0] * base(a.Unit) / base(Days)
		return days >= 28*b.Values[0] && days <= 31*b.Values[0]
	}
	if !Comparable(a, b) {
		return false
	}
	if a.Unit+b.Unit == Money+Cents {
		return slices.ContainsFunc(b.Values, func(y float64) bool { return Equal(a.Amount(), Number{Values: []float64{y}, Unit: b.Unit}.Amount()) })
	}
	units := base(a.Unit) != 0 && base(b.Unit) != 0
	for _, x := range a.Values {
		for _, y := range b.Values {
			if units {
				if Equal(x*base(a.Unit), y*base(b.Unit)) {
					return true
				}
			} else if Equal(x, y) {
				return true
			}
		}
	}
	return false
}

// inWords reports whether a number is written out.
func inWords(n Number) bool {
	return !strings.ContainsFunc(n.Text, unicode.IsDigit)
}

// Comparable reports whether two numbers may count the same thing.
func Comparable(a, b Number) bool {
	if (a.Unit == Clock) != (b.Unit == Clock) {
		hour := a
		if a.Unit == Clock {
			hour = b
		}
		return hour.Unit == None && len(hour.Values) > 0 && hour.Values[0] <= 24
	}
	if a.Unit+b.Unit == Money+Cents && a.Unit != None && b.Unit != None {
		return true
	}
	return a.Unit == b.Unit || a.Unit == None || b.Unit == None || base(a.Unit)*base(b.Unit) > 0
}

// Amount returns the likeliest value, of cents as hundredths; 0 if there is none.
func (n Number) Amount() float64 {
	if len(n.Values) == 0 {
		return 0
	}
	if n.Unit == Cents {
		return n.Values[0] / 100
	}
	return n.Values[0]
}

// In returns the likeliest value of a length of time in another unit; ok is false for what has no common measure.
func (n Number) In(unit Unit) (value float64, ok bool) {
	if len(n.Values) == 0 || base(n.Unit)*base(unit) <= 0 {
		return 0, false
	}
	return n.Values[0] * base(n.Unit) / base(unit), true
}

// base returns the length of a unit of time in minutes, or negative, in months; 0 for another unit.
func base(u Unit) float64 {
	switch u {
	case Minutes:
		return 1
	case Hours:
		return 60
	case Days:
		return 24 * 60
	case Weeks:
		return 7 * 24 * 60
	case Months:
		return -1
	case Years:
		return -12
	}
	return 0
}

// Near reports whether a computed number is another one, rounded.
func Near(x, y float64) bool { return math.Abs(x-y) <= 0.5 && x >= 50 || math.Abs(x-y) <= 0.005 }

// Equal reports whether two values are equal but for the error of computing.
func Equal(x, y float64) bool {
	return math.Abs(x-y) <= 1e-9*math.Max(math.Abs(x), math.Abs(y))
}

// day counts days, in UTC, from a fixed one: two times of one date give the same.
func day(t time.Time) int { return dayOf(t.Date()) }

func dayOf(year int, month time.Month, dayOfMonth int) int {
	const seconds = 24 * 60 * 60
	return int(time.Date(year, month, dayOfMonth, 0, 0, 0, 0, time.UTC).Unix() / seconds)
}

// Counted returns the dates that a number of days, weeks, months or years may mean: in three days, three days ago.
func Counted(n Number) (all []Date) {
	length := 0.0
	margin := 0.0
	switch n.Unit {
	case Days:
		length = 1
	case Weeks:
		length = 7
		margin = 3
	case Months:
		length = 30.44
		margin = 15
	case Years:
		length = 365.25
		margin = 183
	}
	if length == 0 || len(n.Values) == 0 || n.Values[0] > 1000 {
		return nil
	}
	for _, days := range []float64{n.Values[0] * length, -n.Values[0] * length} {
		all = append(all, Date{Weekday: -1, Soft: true, From: int(days - margin), To: int(days+margin) + 1})
	}
	return all
}

// Word is what a single word may be.
type Word struct {
	Title bool // is before or after a name: Mrs, さん
	Asks  bool // asks for something, or decides it: wants, decided
	Bot   bool // an assistant or a bot
	Known bool // it is in the table of one of the languages
}

// Look returns what a word may be in any of the languages.
func Look(word string, languages []string) (is Word) {
	folded := fold(word)
	for _, l := range lexicons() {
		if !slices.Contains(languages, l.code) || folded == "" {
			continue
		}
		is.Known = is.Known || slices.Contains(l.common, folded)
		for _, s := range l.senses(token{text: folded, accents: folded, capital: true}) {
			is.Known = true
			is.Title = is.Title || s.kind == isTitle
			is.Asks = is.Asks || s.kind == isRequest
			is.Bot = is.Bot || s.kind == isAssistant
		}
	}
	return is
}

// Titles returns the words in one of the languages that are after a name without a space, such as さん.
func Titles(languages []string) (all []string) {
	for _, l := range lexicons() {
		if l.code != "ja" && l.code != "zh" || !slices.Contains(languages, l.code) {
			continue
		}
		for word, senses := range l.exact {
			if slices.ContainsFunc(senses, func(s sense) bool { return s.kind == isTitle }) {
				all = append(all, word)
			}
		}
	}
	return all
}
