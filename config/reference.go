// What the settings are: their descriptions, from config.toml; which differ.

package config

import (
	"cmp"
	_ "embed"
	"encoding"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// shipped is the config.toml that ships with the program: every setting with its default and
// its description. The one in the root of the repository is a copy, which people edit.
//
//go:generate cp config.toml ../config.toml
//go:embed config.toml
var shipped string

// Setting is one setting and its description.
type Setting struct {
	Key         string // including its table: "defaults.compaction.keep_first"
	Default     string // as TOML; in a table that is only an example, the example's value
	Description string // its comment, else the comment above its group
	Restart     bool   // whether it is read only at the start

	table string // the table's header; "": at the top
}

var (
	tableLine   = regexp.MustCompile(`^(?:# )?\[+([a-z_.]+)(\."[^"]*")?\]+$`)
	settingLine = regexp.MustCompile(`^(?:# )?([a-z_]+) *= (.*?)(?: +# (.*))?$`)
)

// Reference lists every setting, in the order of config.toml.
var Reference = sync.OnceValue(func() (all []Setting) {
	table := ""
	title := ""
	group := ""
	for line := range strings.Lines(shipped) {
		line = strings.TrimSpace(line)
		if header := tableLine.FindStringSubmatch(line); header != nil {
			table = header[1] + "."
			group = ""
			title = strings.Replace(strings.TrimPrefix(line, "# "), header[2], `."MODEL"`, len(header[2]))
			continue
		}
		setting := settingLine.FindStringSubmatch(line)
		switch {
		case line == "":
			group = ""
		case setting == nil:
			group = strings.TrimSpace(group + " " + strings.TrimPrefix(line, "# "))
		case table != "agents.compaction.": // agents.compaction is an example; its keys are described under defaults
			text, restart := strings.CutSuffix(cmp.Or(setting[3], group), " (restart)")
			all = append(all, Setting{Key: table + setting[1], Default: setting[2], Description: text, Restart: restart, table: title})
		}
	}
	return all
})

// tablesWith returns where a key, or a table of that name, is allowed, in words; nil if nowhere.
func tablesWith(key string) (homes []string) {
	for _, s := range Reference() {
		home := "under " + s.table
		switch key {
		case base(s.Key):
			if s.table == "" {
				home = "at the top, above the first table"
			}
		case base(parent(s.Key)):
			home = "as " + s.table
		default:
			continue
		}
		if !slices.Contains(homes, home) {
			homes = append(homes, home)
		}
	}
	return homes
}

// Changed lists the paths of the settings that differ from the defaults, see ChangedKeys.
func (s *Settings) Changed() []string {
	return ChangedKeys(new(Default()), s)
}

// flatten returns all settings that are not zero, by path: "discord.allow", "bindings.1.channel",
// "agents.small.compaction.keep_first". "agents" lists their ids, in their order.
func flatten(s *Settings) map[string]any {
	flat := map[string]any{}
	addSetting(flat, "", reflect.ValueOf(*s))
	var ids []string
	for _, agent := range s.Agents {
		ids = append(ids, agent.ID)
	}
	flat["agents"] = ids
	return flat
}

// addSetting adds a value, string or []string if it is of texts, or those of a table or a list of tables.
func addSetting(flat map[string]any, path string, v reflect.Value) {
	below := strings.TrimPrefix(path+".", ".")
	_, isText := v.Interface().(encoding.TextMarshaler)
	switch {
	case v.IsZero():
	case v.Kind() == reflect.Pointer:
		flat[path] = v.Elem().Interface()
	case v.Kind() == reflect.String:
		flat[path] = v.String()
	case v.Kind() == reflect.Struct && !isText:
		for _, f := range reflect.VisibleFields(v.Type()) {
			if key := f.Tag.Get("toml"); key != "" {
				addSetting(flat, below+key, v.FieldByIndex(f.Index))
			}
		}
	case v.Kind() == reflect.Map:
		for key, one := range v.Seq2() {
			addSetting(flat, below+key.String(), one)
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		for i := range v.Len() {
			name := strconv.Itoa(i + 1)
			if agent, is := v.Index(i).Interface().(Agent); is {
				name = agent.ID
			}
			addSetting(flat, below+name, v.Index(i))
		}
	case v.Kind() == reflect.Slice:
		flat[path] = v.Convert(reflect.TypeFor[[]string]()).Interface()
	default:
		flat[path] = v.Interface()
	}
}

// ChangedKeys lists the paths of the settings that differ between a and b, sorted. An agent that only one of
// them has differs in "agents" alone: nearly all of its settings are inherited.
func ChangedKeys(a, b *Settings) []string {
	before := flatten(a)
	after := flatten(b)
	all := maps.Clone(before)
	maps.Copy(all, after)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(key string) bool {
		if reflect.DeepEqual(before[key], after[key]) {
			return true
		}
		rest, of := strings.CutPrefix(key, "agents.")
		agent, _, _ := strings.Cut(rest, ".")
		id := "agents." + agent + ".id"
		return of && (before[id] == nil) != (after[id] == nil)
	})
}

// NeedRestart returns those of keys that are read only at the start. All others apply from the next turn on.
func NeedRestart(keys []string) (waiting []string) {
	for _, setting := range Reference() {
		if setting.Restart && slices.Contains(keys, setting.Key) {
			waiting = append(waiting, setting.Key)
		}
	}
	return waiting
}
