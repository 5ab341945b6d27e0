// Load and Parse read a file into settings: it is decoded over the values that it overrides. All mistakes are
// collected instead of stopping at the first one.

package config

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"cairn/channel"
	"cairn/compactor"
	"cairn/mcp"
)

// Load reads file. An empty name means DefaultFile if it exists, otherwise the defaults. The error
// is an *Error if the file is readable but contains mistakes.
func Load(file string) (Settings, error) {
	text, err := ReadFile(cmp.Or(file, DefaultFile))
	if errors.Is(err, fs.ErrNotExist) && file == "" {
		return Default(), nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Default(), fmt.Errorf("%w: correct --config, or leave it out to use %s or the defaults", err, DefaultFile)
	}
	if err != nil {
		return Default(), fmt.Errorf("read the settings: %w", err)
	}
	return Parse(cmp.Or(file, DefaultFile), text)
}

// Parse parses text, the content of file.
func Parse(file string, text []byte) (Settings, error) {
	s := Default()
	s.File, s.text = file, text
	if line := deepLine(string(text)); line > 0 {
		return s, newError(file, []Problem{{Line: line, Text: fmt.Sprintf("this is nested deeper than %d levels, and no setting is", maxDepth)}})
	}
	var raw map[string]any
	if _, err := toml.Decode(string(text), &raw); err != nil {
		wrong := Problem{Text: err.Error()}
		if at, ok := errors.AsType[toml.ParseError](err); ok {
			wrong = Problem{Line: at.Position.Line, Text: fmt.Sprintf(`this is not valid TOML (%s): write key = value, and texts in "quotes"`, strings.TrimSuffix(at.Message, "."))}
		}
		return s, newError(file, []Problem{wrong})
	}
	d := decoder{lines: keyLines(string(text)), set: map[string]bool{}}
	d.settings(&s, raw)
	d.check(&s)
	s.set, s.Warnings = d.set, d.warnings
	return s, newError(file, d.problems)
}

// settings decodes the file over the defaults, and then each agent over the defaults that the file
// sets for all agents.
func (d *decoder) settings(s *Settings, raw map[string]any) {
	agents := raw["agents"]
	delete(raw, "agents")
	d.table(s, raw, "")
	if raw["data_dir"] != nil {
		s.DataDir = s.Path(s.DataDir)
	}
	tables, ok := agents.([]map[string]any)
	if agents != nil && !ok {
		d.problem("agents", "agents: must be tables, each under [[agents]]")
	}
	d.set["agents"] = agents != nil
	var base Agent
	if len(s.Agents) > 0 {
		base = s.Agents[0]
	}
	base.Compaction = s.Defaults.Compaction
	s.Agents = nil
	for i, table := range tables {
		agent := base
		if table["id"] != nil || len(tables) > 1 { // the only one may go without
			agent.ID, _ = table["id"].(string)
		}
		d.agents = append(d.agents, agent.ID)
		d.table(&agent, table, agentPath(i))
		s.Agents = append(s.Agents, agent)
	}
	if len(s.Agents) == 0 {
		s.Agents = []Agent{base}
	}
}

// Path resolves a path of the settings file, relative to that file.
func (s *Settings) Path(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(filepath.Dir(s.File), p)
}

// Origin returns the table that sets a key of an agent's policy; "" if none does.
func (s *Settings) Origin(agent, key string) string {
	switch path := s.setAt(agent, "compaction."+key); {
	case path == "":
		return ""
	case strings.HasPrefix(path, "defaults."):
		return "[defaults.compaction]"
	}
	return fmt.Sprintf("[agents.%s.compaction]", agent)
}

// Line returns the line of the settings file that sets a key of an agent's policy, or of the agent;
// 0 if none does.
func (s *Settings) Line(agent, key string) int {
	return keyLines(string(s.text))[cmp.Or(s.setAt(agent, "compaction."+key), s.setAt(agent, key))]
}

// setAt returns the path in the file that sets a key for an agent; "" if none does.
func (s *Settings) setAt(agent, key string) string {
	i := slices.IndexFunc(s.Agents, func(a Agent) bool { return a.ID == agent })
	for _, path := range []string{agentPath(i) + "." + key, "defaults." + key} {
		if s.set[path] {
			return path
		}
	}
	return ""
}

func agentPath(i int) string { return fmt.Sprintf("agents.%d", i) }

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
		src.Kind() == dst.Kind() && src.CanConvert(dst.Type()): // a date is a struct, too
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
				server.Timeout, server.MaxResultTokens, server.Approve = compactor.Duration(mcp.DefaultTimeout), mcp.DefaultResultTokens, channel.ApproveNever
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
	d.must(v >= low && v <= high, path, v, fmt.Sprintf("be from %v to %v", low, high))
}

func (d *decoder) checkTime(path string, v compactor.Duration, low, high time.Duration) {
	checkRange(d, path, v, compactor.Duration(low), compactor.Duration(high))
}
