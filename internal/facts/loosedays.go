package facts

import (
	"strconv"
	"strings"

	"cairn/internal/words"
)

// loose returns the days of a month that a text may state without their month: the 18th, el 13, am 22., 18-го, 18'inde.
func (r *dateReader) loose() (all []Date) {
	for i := range r.text.tokens {
		if r.dated.at(i) || i > 0 && r.text.tokens[i-1].digits && r.text.near(i) {
			continue
		}
		if value := r.looseAt(i); value != 0 {
			r.days[i] = true
			all = append(all, Date{Weekday: -1, Day: value, Loose: true})
		}
	}
	return all
}

// looseAt returns the day of the month at a token; 0 if there is none.
func (r *dateReader) looseAt(i int) int {
	t := r.text.tokens[i]
	if !t.digits {
		return r.looseWord(i)
	}
	value, _ := strconv.Atoi(t.text)
	if value < 1 || value > 31 || len(t.text) > 2 {
		return 0
	}
	next := r.text.token(i + 1)
	before := r.text.token(i - 1)
	if next.digits && separatorOf(next.gap) != 0 || next.sign || next.han {
		return 0
	}
	ending := ""
	if r.text.ordinalEnding(i+1) || next.gap == "'" || next.gap == "’" {
		ending = next.text
	}
	switch {
	case inMonth[ending]:
		if value <= 3 && !r.alone(i+2) {
			return 0
		}
		return value
	case next.text == "числа":
		return value
	case ending != "":
		return 0
	case beforeDay[before.text] && strings.Trim(t.gap, " '’") == "" && r.measuresNothing(i):
		return value
	}
	return 0
}

// inMonth are endings of days of the month: 18th, 18-го, 18-go, 18'inde.
var inMonth = words.Set("th st nd rd го е go ego tego szego inde sinde unda sinda ine sine una sina inden sinden undan sindan")

// beforeDay are the articles and prepositions before a day of the month. Singular ones are before no other number but one.
var beforeDay = words.Set("el al del le au du il dal dia dnia am zum vom bis ab يوم")

// measuresNothing reports whether no unit, scale or noun in the plural can follow the number at a token.
func (r *dateReader) measuresNothing(i int) bool {
	n, next := r.numbers.numberAt(i)
	if n.Unit != None || next > i+1 {
		return false
	}
	if before := r.text.word(i - 1); before == "bis" || before == "ab" {
		return strings.HasPrefix(r.text.token(next).gap, ".")
	}
	return true
}

// alone reports whether no noun follows at a token: the 3rd of, but not the 3rd floor.
func (r *dateReader) alone(i int) bool {
	return i >= len(r.text.tokens) || !r.text.near(i) || r.text.isCommon(r.text.word(i))
}

// looseWord returns the day that an ordinal in the genitive of Russian or Polish may be: двадцать пятого, osiemnastego.
func (r *dateReader) looseWord(i int) int {
	const least = 4 // smaller ones count other things
	word := r.text.word(i)
	if _, ordinal := r.text.has(i, isOrdinal); !ordinal || !strings.HasSuffix(word, "ого") && !strings.HasSuffix(word, "ego") {
		return 0
	}
	from := i
	if tens, ok := r.text.has(i-1, isNumber); ok && tens >= 20 && tens <= 30 && r.text.near(i) {
		from--
	}
	if tens, ok := r.text.has(i-1, isOrdinal); ok && tens >= 20 && tens <= 30 && r.text.near(i) {
		from--
	}
	n, next := r.text.wordsAt(from)
	if next != i+1 || len(n.Values) == 0 || n.Values[0] < least || n.Values[0] > 31 {
		return 0
	}
	if next < len(r.text.tokens) && r.text.word(next) == "" {
		return 0
	}
	return int(n.Values[0])
}
