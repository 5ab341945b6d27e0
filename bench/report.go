package main

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// mostRows is how many rows a table has at most: JSON has the rest.
const mostRows = 100

// report is a result as people read it: values by their names in JSON, lists as tables, and the targets.
func (s *screen) report(r result) string {
	var b strings.Builder
	s.describe(&b, reflect.ValueOf(r))
	fmt.Fprintln(&b)
	for _, g := range r.goals() {
		verdict := s.paint(green, "met")
		if !g.Met {
			verdict = s.paint(red, "missed")
		}
		fmt.Fprintf(&b, "%-56s%8.2f   must %g: %s\n", g.Name, g.Value, g.Must, verdict)
	}
	return b.String()
}

// describe writes the values of a struct, and below them its lists.
func (s *screen) describe(b *strings.Builder, v reflect.Value) {
	var values [][]string
	var lists []property
	for _, p := range properties("", v) {
		if kind := p.value.Kind(); kind == reflect.Slice || kind == reflect.Map {
			lists = append(lists, p)
		} else if text := p.text(); text != "" {
			values = append(values, []string{p.name, text})
		}
	}
	b.WriteString(s.grid(values))
	for _, p := range lists {
		n := p.value.Len()
		if n > 0 {
			fmt.Fprintf(b, "\n%s\n", s.paint(bold, p.name))
		}
		switch {
		case p.value.Kind() == reflect.Map:
			var rows [][]string
			for _, key := range p.value.MapKeys() {
				rows = append(rows, []string{fmt.Sprint(key), fmt.Sprint(p.value.MapIndex(key))})
			}
			slices.SortFunc(rows, func(x, y []string) int { return strings.Compare(x[0], y[0]) })
			b.WriteString(s.grid(rows))
		case n > mostRows:
			fmt.Fprintf(b, "%d, which --json shows\n", n)
		case p.value.Type().Elem().Kind() == reflect.Struct:
			s.table(b, p.value)
		default:
			for i := range n {
				fmt.Fprintln(b, s.paint(red, fmt.Sprint(p.value.Index(i))))
			}
		}
	}
}

// table writes a list of structs as a table, and below it the texts in their lists; structs with
// tables of their own follow each other.
func (s *screen) table(b *strings.Builder, list reflect.Value) {
	var rows [][]string
	notes := ""
	for i := range list.Len() {
		var heading, row []string
		for _, p := range properties("", list.Index(i)) {
			if p.value.Kind() == reflect.Slice && p.value.Type().Elem().Kind() == reflect.Struct {
				s.describe(b, list.Index(i))
				row = nil
				break
			}
			heading, row = append(heading, p.name), append(row, p.text())
			if p.value.Kind() == reflect.Slice {
				for j := range p.value.Len() {
					notes += fmt.Sprintf("%s %s: %v\n", row[0], p.name, p.value.Index(j))
				}
			}
		}
		if row == nil {
			continue
		}
		if rows == nil {
			rows = [][]string{heading}
		}
		rows = append(rows, row)
	}
	b.WriteString(s.grid(rows) + notes)
}

// property is a value of a result, by its name in JSON.
type property struct {
	name  string
	value reflect.Value
}

// properties are those of a struct; those of a struct in it stand in its place.
func properties(prefix string, v reflect.Value) (all []property) {
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		name := strings.TrimSpace(prefix + " " + strings.ReplaceAll(tag, "_", " "))
		switch {
		case field.Type == reflect.TypeFor[targets](), !field.IsExported() && !field.Anonymous:
		case value.Kind() == reflect.Struct:
			all = append(all, properties(name, value)...)
		default:
			all = append(all, property{cmp.Or(name, strings.ToLower(field.Name)), value})
		}
	}
	return all
}

// text is a value in a cell: of a list how many there are.
func (p property) text() string {
	switch v := p.value; v.Kind() {
	case reflect.Int, reflect.Int64:
		return thousands(int(v.Int()))
	case reflect.Uint64:
		return thousands(int(v.Uint()))
	case reflect.Float64:
		if math.Abs(v.Float()) >= 1000 {
			return thousands(int(math.Round(v.Float())))
		}
		return fmt.Sprintf("%.4g", v.Float())
	case reflect.Slice:
		return fmt.Sprint(v.Len())
	case reflect.Map:
		var parts []string
		for _, key := range v.MapKeys() {
			parts = append(parts, fmt.Sprintf("%v %v", key, v.MapIndex(key)))
		}
		slices.Sort(parts)
		return strings.Join(parts, ", ")
	default:
		return fmt.Sprint(v)
	}
}

// grid is a table whose columns are as wide as their widest cells; of more than two columns the first
// row is the heading.
func (s *screen) grid(rows [][]string) string {
	width, number := map[int]int{}, map[int]bool{}
	for n, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
			number[i] = number[i] || n > 0 && i > 0 && cell != "" && strings.ContainsRune("-0123456789", rune(cell[0]))
		}
	}
	var b strings.Builder
	for n, row := range rows {
		line := ""
		for i, cell := range row {
			pad := -width[i] // to the left
			if number[i] {
				pad = width[i]
			}
			line += fmt.Sprintf("%*s  ", pad, cell)
		}
		line = strings.TrimRight(line, " ")
		if n == 0 && len(row) > 2 {
			line = s.paint(dim, line)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// thousands writes n with a narrow gap between its groups: "2 517".
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}
