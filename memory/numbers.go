// Numbers: whether a memory has one that the messages it comes from contradict.

package memory

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/chat"
	"cairn/internal/lazy"
	"cairn/internal/words"
)

// strangeNumber returns a number of content that is neither in text, which contains own, nor follows from what is there; "" if
// there is none. Where own has no digits it returns none: nothing contradicts.
func strangeNumber(content, own, text string, said []chat.Message) string {
	if len(numbersIn(own)) == 0 {
		return ""
	}
	has := append(numbersIn(text), writtenIn(text)...)
	days := datesOf(content, text, said)
	for _, n := range numbersIn(content) {
		if !slices.Contains(has, n) && !derived(n, has, text) && !days.has(n) {
			return strconv.Itoa(n)
		}
	}
	return ""
}

// number matches a number and what multiplies it, without those of messages, as #12.
var number = lazy.Pattern(`(#?)(\d+(?:[.,]\d+)*)(?: ?(k\b|m\b|thousand\b|tausend\b|mil\b|million(?:s|en)?\b|mio\b|万|萬|千))?`)

var factors = map[string]int{"k": 1000, "thousand": 1000, "tausend": 1000, "mil": 1000, "千": 1000, "万": 10_000, "萬": 10_000}

// numbersIn returns the numbers of a text by their digits, as a whole: 1,200.50 is 120050.
func numbersIn(text string) (all []int) {
	for _, m := range number().FindAllStringSubmatch(strings.Map(asciiDigit, strings.ToLower(text)), -1) {
		if m[1] != "" {
			continue
		}
		parts := strings.FieldsFunc(m[2], func(r rune) bool { return r == '.' || r == ',' })
		n, err := strconv.Atoi(strings.Join(parts, ""))
		if err != nil { // too long to be an amount
			continue
		}
		all = append(all, n)
		if last := parts[len(parts)-1]; len(parts) > 1 && strings.Trim(last, "0") == "" {
			whole, _ := strconv.Atoi(strings.Join(parts[:len(parts)-1], ""))
			all = append(all, whole)
		}
		if factor := factors[m[3]]; factor > 0 {
			all = append(all, n*factor)
		} else if strings.HasPrefix(m[3], "m") {
			all = append(all, n*1_000_000)
		}
	}
	return all
}

func asciiDigit(r rune) rune {
	if '０' <= r && r <= '９' {
		return r - '０' + '0'
	}
	return r
}

// written are written-out numbers, in order; 0 is any number.
var written = lazy.Pattern(`\b(?:` + strings.Join(writtenOut, `|`) + `)\b|[一二三四五六七八九十百千万两]`)

var writtenOut = []string{
	"half|quarter|dozens?|couple|hundreds?|thousands?|millions?|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|\\w*zig|\\w*hundert\\w*|halb|viertel|dutzend|cent|vingt|trente|mille|demi|cien|mil|media|veinte|treinta|vinte|trinta|meia",
	"one|ein|eine|einen|un|une|uno|una|um|uma", "two|zwei|deux|dos|dois|duas|due|both", "three|drei|trois|tres|três|tre",
	"four|vier|quatre|cuatro|quatro|quattro", "five|fünf|cinq|cinco|cinque", "six|sechs|seis|sei", "seven|sieben|sept|siete|sete|sette",
	"eight|acht|huit|ocho|oito|otto", "nine|neun|neuf|nueve|nove", "ten|zehn|dix|diez|dez|dieci", "eleven|elf|onze|once|undici", "twelve|zwölf|douze|doce|doze|dodici",
}

// anyNumber stands for a written-out number that is not read.
const anyNumber = -1

func writtenIn(text string) (all []int) {
	for _, found := range written().FindAllString(strings.ToLower(text), -1) {
		n := slices.IndexFunc(writtenOut, func(forms string) bool { return slices.Contains(strings.Split(forms, "|"), found) })
		if n <= 0 {
			n = anyNumber
		}
		all = append(all, n)
	}
	return all
}

// derived reports whether a number follows from others: as a sum, difference or product, as an hour of the afternoon, or as how
// many things a text lists.
func derived(n int, has []int, text string) bool {
	if n <= 1 || slices.Contains(has, anyNumber) {
		return true
	}
	const most = 40
	has = has[:min(len(has), most)]
	total := 0
	for i, a := range has {
		if total += a; a <= 12 && n == a+12 || a > 12 && a <= 24 && n == a-12 {
			return true
		}
		for _, b := range has[i+1:] {
			if n == a+b || n == a-b || n == b-a || n == a*b {
				return true
			}
		}
	}
	listed := strings.Count(text, ",") + strings.Count(text, "、") + strings.Count(text, " and ") + strings.Count(text, " und ") + 1
	return n == total || n >= 3 && n == listed
}

// dates are what a text says about days.
type dates struct {
	days     []int // the numbers of its dates, and of the days on which it was said
	relative bool  // it may give any date in other words
}

func datesOf(content, text string, said []chat.Message) (d dates) {
	relative, years := aboutDay().MatchString(strings.ToLower(text)), year().MatchString(text)
	for _, m := range said {
		hasDate := year().MatchString(content) || len(words.Dates(content, m.Time)) > 0
		d.relative = d.relative || relative && hasDate
		if hasDate {
			d.days = append(d.days, int(m.Time.Month()), m.Time.Day())
		}
		if !years {
			d.days = append(d.days, m.Time.Year()-1, m.Time.Year(), m.Time.Year()+1)
		}
		for _, span := range words.Dates(text, m.Time) {
			for _, day := range []time.Time{span.From, span.To, span.To.AddDate(0, 0, -1)} {
				d.days = append(d.days, day.Year(), int(day.Month()), day.Day())
			}
		}
		for _, n := range numbersIn(text) { // an age, or how long ago
			d.days = append(d.days, m.Time.Year()-n, m.Time.Year()+n)
		}
	}
	return d
}

// has reports whether a number may be of such a date.
func (d dates) has(n int) bool {
	isYear := 1900 <= n && n < 2200
	return (n <= 31 || isYear) && (d.relative || slices.Contains(d.days, n))
}

var (
	year = lazy.Pattern(`\b(?:19|20|21)\d\d\b`)

	// aboutDay matches words for a day that depends on when they are said, and for how long something has lasted or will.
	aboutDay = lazy.Pattern(`\b(?:today|tonight|tomorrow|yesterday|next|last|past|this|ago|in \w+ (?:day|week|month|year)s?|(?:mon|tues|wednes|thurs|fri|satur|sun)day|weekend|` +
		`heute|morgen|gestern|nächste\w*|letzte\w*|vorige\w*|kommende\w*|vor|\w+(?:tag|woch)s?|` +
		`hier|demain|aujourd|prochaine?|dernière?|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|` +
		`hoy|mañana|ayer|próxim[oa]|pasad[oa]|lunes|martes|miércoles|jueves|viernes|sábado|domingo|` +
		`hoje|amanhã|ontem|passad[oa]|segunda|terça|quarta|quinta|sexta)\b|` +
		`今天|明天|昨天|后天|下周|上周|周[一二三四五六日]|星期|今日|明日|昨日|来週|先週|[月火水木金土日]曜|сегодня|завтра|вчера|неделе|내일|오늘|어제|주`)
)

// citation matches the number of a message in a summary.
var citation = regexp.MustCompile(`#(\d+)`)
