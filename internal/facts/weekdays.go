package facts

import (
	"strconv"
	"strings"

	"cairn/internal/words"
)

// weekdayAt reads a weekday.
func (r *dateReader) weekdayAt(i int) (weekday, next int, ok bool) {
	value, ok := r.text.has(i, isWeekday)
	if !ok {
		return 0, i, false
	}
	next = r.text.after(i)
	if _, ordinal := r.text.has(i, isOrdinal); ordinal { // Portuguese: terça-feira, but a terça parte
		switch {
		case r.text.word(next) == "feira":
			next++
		case counted[r.text.word(next)], countsOff[r.text.word(i-1)], value == 1 && !beforeWeekday[r.text.word(i-1)]:
			return 0, i, false
		}
	}
	for r.text.word(next) == "曜" || r.text.word(next) == "日" && r.text.word(next-1) == "曜" {
		next++
	}
	return int(value), next, true
}

// What is around an ordinal that is no weekday in Portuguese, and before segunda-feira in short.
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
func (r *dateReader) dayAfter(i int) (Date, int) {
	for k := i; k <= i+3 && k < len(r.text.tokens); k++ {
		gap := r.text.tokens[k].gap
		if len(gap) > 3 || strings.Contains(gap, ".") {
			break
		}
		if d, next := r.plainDateAt(k); next > k {
			return d, next
		}
		d, next := r.dayOfMonthAt(k)
		counts := strings.HasPrefix(gap, ",") && len(r.numbers.things(next)) > 0 // on Friday, 23 tests
		if next > k && gap != "" && !counts {
			return d, next
		}
		if !toDay[r.text.word(k)] {
			break
		}
	}
	return none, i
}

// dayOfMonthAt reads a day of the month in digits that is no time and counts nothing.
func (r *dateReader) dayOfMonthAt(i int) (Date, int) {
	t := r.text.token(i)
	value, _ := strconv.Atoi(t.text)
	if !t.digits || value < 1 || value > 31 {
		return none, i
	}
	n, next := r.numbers.numberAt(i)
	if n.Unit != None || next > i+1 && !n.Ordinal {
		return none, i
	}
	return Date{Weekday: -1, Day: value}, next
}
