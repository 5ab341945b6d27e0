package facts

import (
	"strconv"
	"strings"

	"cairn/internal/words"
)

// weekdayAt reads a weekday.
func (r *reader) weekdayAt(i int) (weekday, next int, ok bool) {
	value, ok := r.has(i, isWeekday)
	if !ok {
		return 0, i, false
	}
	next = i + max(r.width[i], 1)
	if _, ordinal := r.has(i, isOrdinal); ordinal { // Portuguese: terça-feira, but a terça parte
		switch {
		case r.token(next).text == "feira":
			next++
		case counted[r.token(next).text], countsOff[r.token(i-1).text], value == 1 && !beforeWeekday[r.token(i-1).text]:
			return 0, i, false
		}
	}
	for r.token(next).text == "曜" || r.token(next).text == "日" && r.token(next-1).text == "曜" {
		next++
	}
	return int(value), next, true
}

// What stands around an ordinal that is no weekday in Portuguese, and before segunda-feira in short.
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
func (r *reader) dayAfter(i int) (Date, int) {
	for k := i; k <= i+3 && k < len(r.tokens) && len(r.tokens[k].gap) <= 3 && !strings.Contains(r.tokens[k].gap, "."); k++ {
		if d, next := r.plainDateAt(k); next > k {
			return d, next
		}
		if d, next := r.dayOfMonthAt(k); next > k && r.tokens[k].gap != "" && (!strings.HasPrefix(r.tokens[k].gap, ",") || len(r.things(next)) == 0) { // not: on Friday, 23 tests
			return d, next
		}
		if !toDay[r.tokens[k].text] {
			break
		}
	}
	return none, i
}

// dayOfMonthAt reads a day of the month in digits that is no time and counts nothing.
func (r *reader) dayOfMonthAt(i int) (Date, int) {
	t := r.token(i)
	value, _ := strconv.Atoi(t.text)
	if !t.digits || value < 1 || value > 31 {
		return none, i
	}
	n, next := r.numberAt(i)
	if n.Unit != None || next > i+1 && !n.Ordinal {
		return none, i
	}
	return Date{Weekday: -1, Day: value}, next
}
