// Decodes a table over the values that it overrides. It collects all mistakes instead of stopping
// at the first one.

package config

import (
	"cmp"
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"cairn/compactor"
)

// decoder collects the problems of one file.
type decoder struct {
	lines    map[string]int  // see keyLines
	set      map[string]bool // the keys that the file sets, by path
	agents   []string        // ids of the agents decoded so far
	problems []Problem
	warnings []Problem // settings that work but should be changed
}

// renamedKeys maps old keys to their new names; old keys are still accepted until the next version.
var renamedKeys = map[string]string{"door": "connector", "earlier_segments": "earlier_sessions"}

// table sets the fields of *into from src. path is the position of src in the file, "" for the file
// itself.
func (d *decoder) table(into any, src map[string]any, path string) {
	fields := map[string]reflect.Value{}
	dst := reflect.ValueOf(into).Elem()
	for _, f := range reflect.VisibleFields(dst.Type()) {
		if key := f.Tag.Get("toml"); key != "" {
			fields[key] = dst.FieldByIndex(f.Index)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(src)) {
		at := strings.TrimPrefix(path+"."+key, ".")
		if name, old := renamedKeys[key]; old && fields[key] == (reflect.Value{}) && fields[name] != (reflect.Value{}) {
			if _, both := src[name]; both {
				d.problem(at, fmt.Sprintf("%s: it is the old name of %s, which is also set: remove it", key, name))
				continue
			}
			d.warn(at, fmt.Sprintf("%s is now called %s", key, name))
			src[name], key = src[key], name
			line := d.lines[at]
			at = strings.TrimPrefix(path+"."+key, ".")
			d.lines[at] = line
		}
		if field, known := fields[key]; known {
			d.set[at] = true
			d.value(field, src[key], at)
			continue
		}
		known := slices.Sorted(maps.Keys(fields))
		if path == "" {
			known = append(known, "agents") // decoded apart
		}
		hint := compactor.DidYouMean(key, known)
		_, isTable := src[key].([]map[string]any)
		if homes := tablesWith(key); len(homes) > 0 && !(isTable && hint != "") {
			d.problem(at, fmt.Sprintf("%s: does not belong here, but %s", key, strings.Join(homes, " or ")))
			continue
		}
		d.problem(at, fmt.Sprintf("%s: there is no such setting%s", key, hint))
	}
}

// value sets one field. An integer is accepted where a float is expected; no other conversions are
// made.
func (d *decoder) value(dst reflect.Value, v any, path string) {
	text, isText := dst.Addr().Interface().(encoding.TextUnmarshaler)
	table, isTable := v.(map[string]any)
	src := reflect.ValueOf(v)
	switch {
	case isText && src.Kind() == reflect.String:
		if err := text.UnmarshalText([]byte(src.String())); err != nil {
			d.problem(path, fmt.Sprintf("%s: %v", base(path), err))
		}
	case isText && dst.Kind() != reflect.Slice:
		d.wrongType(path, `a duration like "90s" or "5m"`, v)
	case dst.Kind() == reflect.Pointer: // a pointer field: nil means not set
		dst.Set(reflect.New(dst.Type().Elem()))
		d.value(dst.Elem(), v, path)
	case dst.Kind() == reflect.Slice:
		d.list(dst, v, path)
	case isTable && dst.Kind() == reflect.Map:
		d.entries(dst, table, path)
	case isTable && dst.Kind() == reflect.Struct:
		d.table(dst.Addr().Interface(), table, path)
	case src.Kind() == reflect.Int64 && (dst.Kind() == reflect.Int || dst.Kind() == reflect.Float64),
		src.Kind() == dst.Kind():
		dst.Set(src.Convert(dst.Type()))
	default:
		d.wrongType(path, kindWords[dst.Kind()], v)
	}
}

// entries sets a map of named tables or texts, without those that are wrong; an empty one becomes nil.
func (d *decoder) entries(dst reflect.Value, src map[string]any, path string) {
	all := reflect.MakeMap(dst.Type())
	for _, name := range slices.Sorted(maps.Keys(src)) {
		at, one, known := path+"."+name, reflect.New(dst.Type().Elem()).Elem(), len(d.problems)
		d.set[at] = true
		if d.value(one, src[name], at); len(d.problems) == known {
			all.SetMapIndex(reflect.ValueOf(name), one)
		}
	}
	if all.Len() > 0 {
		dst.Set(all)
	}
}

// list sets a list of strings or tables. It replaces the default completely; an empty one becomes
// nil.
func (d *decoder) list(dst reflect.Value, v any, path string) {
	texts, isList := v.([]any)
	tables, areTables := v.([]map[string]any)
	list := reflect.Zero(dst.Type())
	switch one := reflect.New(dst.Type().Elem()).Elem(); {
	case one.Kind() == reflect.Struct && areTables:
		for i, table := range tables {
			one.SetZero()
			if server, ok := one.Addr().Interface().(*ToolServer); ok {
				*server = toolServer()
			}
			d.table(one.Addr().Interface(), table, fmt.Sprintf("%s.%d", path, i))
			list = reflect.Append(list, one)
		}
	case one.Kind() == reflect.Struct:
		d.problem(path, fmt.Sprintf("%s: must be tables, each under [[%s]]", base(path), path))
	case isList:
		for _, text := range texts {
			if _, isText := text.(string); !isText {
				d.wrongType(path, "a list, each a text in quotes", text)
				continue
			}
			list = reflect.Append(list, reflect.ValueOf(text))
		}
	default:
		d.wrongType(path, `a list of texts, e.g. ["a", "b"]`, v)
	}
	dst.Set(list)
}

var kindWords = map[reflect.Kind]string{
	reflect.Struct: "a table", reflect.String: "a text in quotes", reflect.Bool: "true or false",
	reflect.Float64: "a number", reflect.Int: "a whole number", reflect.Map: "a table",
}

// wrongType reports a value of the wrong type, without the value: it might be a secret.
func (d *decoder) wrongType(path, want string, v any) {
	if number, is := v.(int64); is && strings.HasSuffix(want, kindWords[reflect.String]) { // ids look like numbers
		want += fmt.Sprintf(`: write "%d"`, number)
	}
	d.problem(path, fmt.Sprintf("%s: must be %s", base(path), want))
}

// checkRange reports a value that is not from low to high.
func checkRange[T cmp.Ordered](d *decoder, path string, v, low, high T) {
	if v < low || v > high {
		d.problem(path, fmt.Sprintf("%s = %v: must be from %v to %v", base(path), v, low, high))
	}
}

// checkTime is checkRange for a duration.
func (d *decoder) checkTime(path string, v compactor.Duration, low, high time.Duration) {
	checkRange(d, path, v, compactor.Duration(low), compactor.Duration(high))
}
