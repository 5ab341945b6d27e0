// Load and Parse decode files over the values that they override, and collect all mistakes.

package config

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"

	"cairn/channel"
	"cairn/compactor"
	"cairn/mcp"
)

// Load reads file, and its LocalFile over it. An empty name means DefaultFile; if neither of its files
// exists, the defaults. The error is an *Error if the files are readable but contain mistakes.
func Load(file string) (Settings, error) {
	found, err := readSources(file)
	if errors.Is(err, fs.ErrNotExist) && file == "" {
		return Default(), nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Default(), fmt.Errorf("%w: correct --config, or leave it out to use %s or the defaults", err, DefaultFile)
	}
	if err != nil {
		return Default(), fmt.Errorf("read the settings: %w", err)
	}
	return parse(file, found)
}

const backslashHint = `in "quotes" a backslash starts an escape: write a Windows path in 'single quotes', or with /`

// Parse parses text, the content of file.
func Parse(file string, text []byte) (Settings, error) { return parse(file, []source{{file, text}}) }

// parse parses the files that were found for file.
func parse(file string, sources []source) (Settings, error) {
	s := Default()
	s.file = cmp.Or(file, DefaultFile)
	s.sources = sources
	var names []string
	for _, one := range sources {
		names = append(names, one.file)
	}
	s.Files = strings.Join(names, ", ")
	all, err := decodeAll(sources)
	if err != nil {
		return s, err
	}
	found := newReport(sources, all.lines)
	d := decoder{checker: checker{s: &s, report: found}}
	d.settings(all.values)
	d.check()
	s.Warnings = found.warnings
	return s, newError(sources, found.problems)
}

// settings decodes what the files set over the defaults.
func (d *decoder) settings(raw map[string]any) {
	d.s.set = map[string]position{}
	if len(d.s.Agents) > 0 {
		d.agent = d.s.Agents[0]
	}
	agents, _ := raw["agents"].([]map[string]any)
	for _, table := range agents {
		id, _ := table["id"].(string)
		d.report.agents = append(d.report.agents, id)
	}
	if len(agents) > 1 { // the only one may go without an id
		d.agent.ID = ""
	}
	d.table(d.s, raw, "")
	if len(agents) == 0 {
		d.agent.Compaction = d.s.Defaults.Compaction
		d.agent.Fallback = d.s.LLM.Fallback
		d.agent.Models = d.s.LLM.Models
		d.s.Agents = []Agent{d.agent}
	}
	if d.s.isSet("data_dir") {
		d.s.DataDir = d.s.Path(d.s.DataDir)
	}
}

// decoder decodes what the files set over the defaults.
type decoder struct {
	checker
	agent Agent // what an agent of the files overrides, with the defaults that they set
}

// renamedKeys maps old keys to their new names; old keys are still accepted until the next version.
var renamedKeys = map[string]string{"door": "connector", "earlier_segments": "earlier_sessions"}

// table sets the fields of *into from src, in their order. path is the position of src in the file.
func (d *decoder) table(into any, src map[string]any, path string) {
	dst := reflect.ValueOf(into).Elem()
	var known []string
	fields := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(dst.Type()) {
		if key := f.Tag.Get("toml"); key != "" {
			known = append(known, key)
			fields[key] = f
		}
	}
	below := strings.TrimPrefix(path+".", ".")
	for _, key := range slices.Sorted(maps.Keys(src)) {
		if name := renamedKeys[key]; slices.Contains(known, name) && !slices.Contains(known, key) {
			d.rename(src, below, key, name)
		} else if !slices.Contains(known, key) {
			d.unknown(src, below, key, known)
		}
	}
	for _, key := range known {
		if value, set := src[key]; set {
			d.s.set[below+key] = d.report.position(below + key)
			field := dst.FieldByIndex(fields[key].Index)
			before := len(d.report.problems)
			d.value(field, value, below+key)
			if len(d.report.problems) == before {
				d.checkField(fields[key].Tag, field, below+key)
			}
		}
	}
}

// rename gives a setting with an old name its new one.
func (d *decoder) rename(src map[string]any, below, old, name string) {
	if src[name] != nil {
		d.report.problem(below+old, fmt.Sprintf("%s: it is the old name of %s, which is also set: remove it", old, name))
		return
	}
	d.report.warn(below+old, fmt.Sprintf("%s is now called %s", old, name))
	src[name] = src[old]
	d.report.renamed(below+old, below+name)
}

// unknown reports a key that its table does not have.
func (d *decoder) unknown(src map[string]any, below, key string, known []string) {
	hint := compactor.DidYouMean(key, known)
	_, isTable := src[key].([]map[string]any)
	text := key + ": there is no such setting" + hint
	if homes := tablesWith(key); len(homes) > 0 && !(isTable && hint != "") {
		text = fmt.Sprintf("%s: does not belong here, but %s", key, strings.Join(homes, " or "))
	}
	d.report.problem(below+key, text)
}

// value sets one field. The only conversion is that of an integer to a float.
func (d *decoder) value(dst reflect.Value, v any, path string) {
	text, isText := dst.Addr().Interface().(encoding.TextUnmarshaler)
	table, isTable := v.(map[string]any)
	src := reflect.ValueOf(v)
	switch {
	case isText && src.Kind() == reflect.String:
		if err := text.UnmarshalText([]byte(src.String())); err != nil {
			d.report.problem(path, fmt.Sprintf("%s: %v", base(path), err))
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
		src.Kind() == dst.Kind() && src.CanConvert(dst.Type()): // a date is a struct, too
		dst.Set(src.Convert(dst.Type()))
		if dst.Kind() == reflect.String {
			d.checkText(path, dst.String())
		}
	default:
		d.wrongType(path, kindWords[dst.Kind()], v)
	}
}

// entries sets a map of named tables or texts, without those that are wrong; an empty one becomes nil.
func (d *decoder) entries(dst reflect.Value, src map[string]any, path string) {
	all := reflect.MakeMap(dst.Type())
	for _, name := range slices.Sorted(maps.Keys(src)) {
		at := path + "." + name
		one := reflect.New(dst.Type().Elem()).Elem()
		known := len(d.report.problems)
		d.s.set[at] = d.report.position(at)
		d.value(one, src[name], at)
		if len(d.report.problems) == known {
			all.SetMapIndex(reflect.ValueOf(name), one)
		}
	}
	if all.Len() > 0 {
		dst.Set(all)
	}
}

// list sets a list of strings or tables. It replaces the default; an empty one becomes nil.
func (d *decoder) list(dst reflect.Value, v any, path string) {
	texts, isList := v.([]any)
	tables, areTables := v.([]map[string]any)
	list := reflect.Zero(dst.Type())
	switch one := reflect.New(dst.Type().Elem()).Elem(); {
	case one.Kind() == reflect.Struct && areTables:
		for i, table := range tables {
			one.SetZero()
			switch of := one.Addr().Interface().(type) {
			case *Agent:
				*of = d.agent
				of.Compaction = d.s.Defaults.Compaction // decoded before, as [llm]
				of.Fallback = d.s.LLM.Fallback
				of.Models = d.s.LLM.Models
			case *ToolServer:
				of.Timeout = compactor.Duration(mcp.DefaultTimeout)
				of.MaxResultTokens = mcp.DefaultResultTokens
				of.Approve = channel.ApproveNever
			}
			d.table(one.Addr().Interface(), table, fmt.Sprintf("%s.%d", path, i))
			list = reflect.Append(list, one)
		}
	case one.Kind() == reflect.Struct:
		d.report.problem(path, fmt.Sprintf("%s: must be tables, each under [[%s]]", base(path), path))
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
	d.report.problem(path, fmt.Sprintf("%s: must be %s", base(path), want))
}
