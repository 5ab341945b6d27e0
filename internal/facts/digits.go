package facts

import (
	"math"
	"strconv"
	"strings"
)

// digitsAt reads digits with their separators: 1,200.50, 1 200, 14:30, 1.2.3.
func (w *wording) digitsAt(i int) (Number, int) {
	groups := []string{w.word(i)}
	separators := ""
	next := i + 1
	for next < len(w.tokens) && w.tokens[next].digits && len(groups) < 8 {
		separator := separatorOf(w.tokens[next].gap)
		if separator == 0 || separator == ' ' && (len(w.word(next)) != 3 || len(groups[len(groups)-1]) > 3 || strings.Trim(separators, " ") != "") {
			break
		}
		if separators == ":" || separator == ':' && separators != "" {
			break
		}
		groups = append(groups, w.word(next))
		separators = separators + string(separator)
		next++
	}
	if len(groups) == 2 && separators == ":" {
		if values := clock(groups[0], groups[1]); values != nil {
			return Number{Values: values, Unit: Clock}, next
		}
		groups = groups[:1]
		separators = ""
		next = i + 1
	}
	values := decimals(groups, separators)
	if separators == "." {
		for _, minutes := range clock(groups[0], groups[1]) { // 8.30
			values = append(values, minutes/60, math.Mod(minutes+720, 1440)/60)
		}
		return Number{Values: values, Part: clock(groups[0], groups[1])}, next
	}
	return Number{Values: values}, next
}

// separatorOf returns the sign between two runs of digits that may be one number; 0 if they are two.
func separatorOf(gap string) byte {
	switch gap {
	case ".":
		return '.'
	case ",", "،", "٫":
		return ','
	case "'", "’", "٬", "_":
		return '\''
	case " ", "\u00a0", "\u202f", "\u2009":
		return ' '
	case ":":
		return ':'
	}
	return 0
}

func clock(hours, minutes string) []float64 {
	h, _ := strconv.Atoi(hours)
	m, _ := strconv.Atoi(minutes)
	if len(hours) > 2 || len(minutes) != 2 || h > 24 || m > 59 {
		return nil
	}
	return []float64{float64(60*h + m)}
}

// maxDigits is how many digits a number has at most: longer ones are names of things, and compared as text.
const maxDigits = 15

// decimals returns what groups of digits may mean; nothing for a version. A single separator before three digits is for
// thousands in one country and for decimals in another.
func decimals(groups []string, separators string) []float64 {
	last := len(groups) - 1
	if len(strings.Join(groups, "")) > maxDigits {
		return nil
	}
	threes := len(groups[0]) <= 3
	for _, g := range groups[1:] {
		threes = threes && len(g) == 3
	}
	integer := func(groups []string) float64 {
		value, _ := strconv.ParseFloat(strings.Join(groups, ""), 64)
		return value
	}
	decimal := func() float64 {
		value, _ := strconv.ParseFloat(strings.Join(groups[:last], "")+"."+groups[last], 64)
		return value
	}
	same := strings.Count(separators, separators[:min(1, len(separators))]) == len(separators)
	switch {
	case last == 0:
		return []float64{integer(groups)}
	case last == 1 && threes && separators[0] != ' ' && separators[0] != '\'':
		return []float64{integer(groups), decimal()}
	case same && threes, separators[0] == ',' && same && len(groups[last]) == 3 && last > 1: // 1,20,000 in India
		return []float64{integer(groups)}
	case last == 1, !same && separators[last-1] != separators[0]:
		return []float64{decimal()}
	}
	return nil
}

// maxHan is the maximum number of Chinese characters of one number.
const maxHan = 24

// hanAt reads a number in Chinese characters.
func (w *wording) hanAt(i int) (n Number, next int) {
	var total, section, digit, scale float64
	var positional strings.Builder
	for next = i; next < min(i+maxHan, len(w.tokens)) && w.tokens[next].han && (next == i || w.tokens[next].gap == ""); next = w.after(next) {
		value, ok := w.has(next, isNumber)
		if !ok {
			break
		}
		switch {
		case value < 10:
			if positional.Len() == next-i {
				positional.WriteString(strconv.Itoa(int(value)))
			}
			digit = value
			if value == 0 {
				scale = 0
			}
		case value < 10_000:
			section = section + max(digit, 1)*value
			digit = 0
			scale = value
		default:
			total = total + max(section+digit, 1)*value
			section = 0
			digit = 0
			scale = value
		}
	}
	if next == i {
		return n, i
	}
	value := total + section + digit
	values := []float64{value}
	if scale >= 100 && digit != 0 { // 一百二 is 120
		values = []float64{value - digit + digit*scale/10, value}
	}
	if positional.Len() == next-i && next-i > 1 {
		value, _ = strconv.ParseFloat(positional.String(), 64)
		values = []float64{value}
	}
	_, counted := w.has(next, isCounter)
	_, measured := w.has(next, isUnit)
	n = Number{Values: values, Ordinal: w.word(i-1) == "第", Weak: !counted && !measured && next-i < 2 || value <= 1}
	n.Weak = n.Weak || n.Ordinal && value <= 2
	return n, next
}

// digitsOnly returns one or two digits that follow directly.
func (w *wording) digitsOnly(i int) (value float64, next int) {
	if t := w.token(i); t.digits && len(t.text) <= 2 && (t.gap == "" || t.gap == " ") {
		value, _ = strconv.ParseFloat(t.text, 64)
		return value, i + 1
	}
	return 0, i
}
