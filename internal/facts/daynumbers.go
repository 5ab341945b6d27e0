package facts

import (
	"strconv"
	"strings"
)

// numericAt reads 2026-03-09, 9.3.2026, 3/9/26, 9/3, 9.3.
func (r *dateReader) numericAt(i int) (Date, int) {
	a := r.text.token(i)
	b := r.text.token(i + 1)
	c := r.text.token(i + 2)
	if !a.digits || !b.digits || len(b.gap) != 1 || !strings.Contains("-/.", b.gap) {
		return none, i
	}
	x, _ := strconv.Atoi(a.text)
	y, _ := strconv.Atoi(b.text)
	z, _ := strconv.Atoi(c.text)
	isDate := c.digits && c.gap == b.gap
	switch {
	case isDate && isYear(x, a.text) && y >= 1 && y <= 12 && z >= 1 && z <= 31:
		return Date{Weekday: -1, Year: x, Month: y, Day: z}, i + 3
	case isDate && isYear(z, c.text), isDate && len(c.text) == 2 && b.gap != "-":
		if z < 100 {
			z += 2000
		}
		if d, ok := dayAndMonth(x, y); ok {
			d.Year = z
			return d, i + 3
		}
	case isDate || len(a.text) > 2 || len(b.text) > 2 || c.gap == "" && i+2 < len(r.text.tokens):
	case b.gap == "/" || b.gap == "." && strings.HasPrefix(c.gap, ".") && len(c.gap) > 1 && c.gap != ".\n":
		if d, ok := dayAndMonth(x, y); ok {
			return d, i + 2
		}
	}
	return none, i
}

// dayAndMonth returns a date from its day and month, in either order.
func dayAndMonth(x, y int) (Date, bool) {
	switch {
	case x < 1 || y < 1 || x > 31 || y > 31 || x > 12 && y > 12:
		return none, false
	case y > 12:
		x, y = y, x
	}
	return Date{Weekday: -1, Day: x, Month: y, Swapped: x <= 12}, true
}

// hanDateAt reads 2026年3月9日, 3月9号, 9日, 3月.
func (r *dateReader) hanDateAt(i int) (Date, int) {
	d := none
	next := i
	for _, part := range []struct {
		marks string
		min   int
		max   int
		to    *int
	}{{"年", 1900, 2199, &d.Year}, {"月", 1, 12, &d.Month}, {"日号號", 1, 31, &d.Day}} {
		value, after := r.integerAt(next)
		mark := r.text.token(after)
		if after == next || !mark.han || mark.gap != "" || !strings.Contains(part.marks, mark.text) || value < part.min || value > part.max {
			continue
		}
		*part.to = value
		next = after + 1
	}
	if d.Month == 0 && d.Day == 0 || d.Day != 0 && strings.Contains("間间楼線线", r.text.word(next)) && next < len(r.text.tokens) {
		return none, i
	}
	return d, next
}

// integerAt reads an integer without a unit.
func (r *dateReader) integerAt(i int) (value, next int) {
	if t := r.text.token(i); t.digits {
		value, _ = strconv.Atoi(t.text)
		return value, i + 1
	}
	if n, next := r.text.hanAt(i); next > i {
		return int(n.Values[0]), next
	}
	return 0, i
}

// rangeStart returns the first day of a range that ends with the date at a token.
func (r *dateReader) rangeStart(i int) (value int, ok bool) {
	k := i - 1
	if t := r.text.token(i); t.digits && strings.Trim(t.gap, "-–—~ ") != "" || !t.digits {
		return 0, false
	}
	if t := r.text.token(k); !t.digits && len(t.text) <= 4 {
		k--
	}
	value, err := strconv.Atoi(r.text.word(k))
	return value, err == nil && r.text.token(k).digits && value >= 1 && value <= 31
}
