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

// maxRows limits the rows of a table; JSON has all of them.
const maxRows = 100

// report formats a result for people: values by their JSON names, lists as tables, then the
// targets.
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

// describe writes the values of a struct, and its lists below them.
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
		case n > maxRows:
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

// table writes a list of structs as a table, with the strings of their lists below it. Structs with
// lists of structs are written one after the other.
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

// property is a value of a result, with its JSON name.
type property struct {
	name  string
	value reflect.Value
}

// properties returns the properties of a struct. Those of an embedded or nested struct take its
// place.
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

// text formats a value for a cell: a list as its length.
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

// grid formats rows as a table with aligned columns. If it has more than two columns, the first row
// is the heading.
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
			pad := -width[i] // aligned left
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

// thousands formats n with a space between groups: "2 517".
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}
