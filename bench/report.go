package main

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"
)

// maxRows limits the rows of a table; JSON has all of them.
const maxRows = 100

// reportOf formats a result for people: values by their JSON names, lists as tables, then the
// targets.
func reportOf(r result) string {
	var b strings.Builder
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	describe(out, reflect.ValueOf(r))
	fmt.Fprintln(out)
	for _, g := range r.goals() {
		verdict := "met"
		if !g.Met {
			verdict = "missed"
		}
		fmt.Fprintf(out, "%s\t%.2f\tmust %g: %s\n", g.Name, g.Value, g.Must, verdict)
	}
	_ = out.Flush() // writing to memory cannot fail
	return b.String()
}

// describe writes the values of a struct, and its lists below them.
func describe(out *tabwriter.Writer, v reflect.Value) {
	var lists []property
	for _, p := range properties("", v) {
		if p.value.Kind() == reflect.Slice {
			lists = append(lists, p)
		} else if text := p.text("\n\t"); text != "" {
			fmt.Fprintf(out, "%s\t%s\n", p.name, text)
		}
	}
	for _, p := range lists {
		n := p.value.Len()
		if n > 0 {
			fmt.Fprintf(out, "\n%s\n", p.name)
		}
		switch {
		case n > maxRows:
			fmt.Fprintf(out, "%d, which --json shows\n", n)
		case p.value.Type().Elem().Kind() == reflect.Struct:
			table(out, p.value)
		default:
			for i := range n {
				fmt.Fprintln(out, p.value.Index(i))
			}
		}
	}
}

// table writes a list of structs as a table, with the strings of their lists below it. Structs with
// lists of structs are written one after the other.
func table(out *tabwriter.Writer, list reflect.Value) {
	notes := ""
	for i := range list.Len() {
		all := properties("", list.Index(i))
		if slices.ContainsFunc(all, func(p property) bool {
			return p.value.Kind() == reflect.Slice && p.value.Type().Elem().Kind() == reflect.Struct
		}) {
			describe(out, list.Index(i))
			continue
		}
		var heading, row []string
		for _, p := range all {
			heading = append(heading, p.name)
			row = append(row, p.text(", "))
			if p.value.Kind() == reflect.Slice {
				for j := range p.value.Len() {
					notes += fmt.Sprintf("%s %s: %v\n", row[0], p.name, p.value.Index(j))
				}
			}
		}
		if i == 0 {
			fmt.Fprintln(out, strings.Join(heading, "\t"))
		}
		fmt.Fprintln(out, strings.Join(row, "\t"))
	}
	fmt.Fprint(out, notes)
}

// property is a value of a result, with its JSON name.
type property struct {
	name  string
	value reflect.Value
}

// properties returns the properties of a struct that people see. Those of an embedded or nested
// struct take its place.
func properties(prefix string, v reflect.Value) (all []property) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		value := v.Field(i)
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

// text formats a value for a cell: a list as its length, a map as its entries.
func (p property) text(separator string) string {
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
			parts = append(parts, fmt.Sprintf("%v: %v", key, v.MapIndex(key)))
		}
		slices.Sort(parts)
		return strings.Join(parts, separator)
	default:
		return fmt.Sprint(v)
	}
}

// thousands formats n with a space between groups: "2 517".
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}
