// Comparing settings: what differs from the defaults, and what an edit changed.
package config

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"cairn/channel"
)

// Change is a setting that differs between two versions of the settings.
type Change struct {
	Table string `json:"table"`
	Key   string `json:"key"`
	Value any    `json:"value"`
}

// String formats the change as a line of a settings file.
func (c Change) String() string {
	value := fmt.Sprint(c.Value)
	switch v := c.Value.(type) {
	case string:
		value = fmt.Sprintf("%q", v)
	case []string:
		value = "[]"
		if len(v) > 0 {
			value = `["` + strings.Join(v, `", "`) + `"]`
		}
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s = %s", c.Table, c.Key, value))
}

// Changed lists the settings that differ from the defaults, agent by agent. Plain-text keys are
// masked.
func (s *Settings) Changed() []Change {
	defaults := Default()
	list := diffTables("", *s, defaults)
	if s.set["agents"] {
		for _, agent := range s.Agents {
			here := diffTables("agents", agent, defaults.newAgent())
			for i := range here {
				here[i].Table += fmt.Sprintf(" of agent %q", agent.ID)
			}
			list = append(list, here...)
		}
	}
	for i, v := range list {
		mayHold := v.Key == "api_key" || strings.HasPrefix(v.Table, "[tools.")
		if text, ok := v.Value.(string); ok && mayHold && !refersToSecret(text) {
			list[i].Value = "[masked]"
		}
	}
	return list
}

// diffTables compares two tables of settings field by field.
func diffTables(table string, settings, defaults any) []Change {
	list := []Change{}
	v, d := reflect.ValueOf(settings), reflect.ValueOf(defaults)
	for _, f := range reflect.VisibleFields(v.Type()) {
		key := f.Tag.Get("toml")
		value, defaultValue := v.FieldByIndex(f.Index), d.FieldByIndex(f.Index)
		inside := strings.TrimPrefix(table+"."+key, ".")
		switch {
		case key == "" || reflect.DeepEqual(value.Interface(), defaultValue.Interface()):
		case value.Kind() == reflect.Map && value.Type().Elem().Kind() == reflect.String:
			texts := value.Interface().(map[string]string)
			for _, name := range slices.Sorted(maps.Keys(texts)) {
				list = append(list, Change{"[" + inside + "]", name, texts[name]})
			}
		case value.Kind() == reflect.Map:
			prices := value.Interface().(map[string]Price)
			for _, name := range slices.Sorted(maps.Keys(prices)) {
				list = append(list, diffTables(fmt.Sprintf("%s.%q", inside, name), prices[name], Price{})...)
			}
		case value.Kind() == reflect.Struct:
			list = append(list, diffTables(inside, value.Interface(), defaultValue.Interface())...)
		case value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Struct:
			for i := range value.Len() {
				one := value.Index(i)
				here := diffTables(inside, one.Interface(), reflect.Zero(one.Type()).Interface())
				for j := range here {
					here[j].Table += fmt.Sprintf(" number %d", i+1)
				}
				list = append(list, here...)
			}
		default:
			change := Change{Key: key, Value: printable(value)}
			if table != "" {
				change.Table = "[" + table + "]"
			}
			list = append(list, change)
		}
	}
	return list
}

// printable returns a value that both people and JSON can show.
func printable(value reflect.Value) any {
	if value.Kind() == reflect.Pointer {
		return printable(value.Elem())
	}
	switch v := value.Interface().(type) {
	case encoding.TextMarshaler: // a duration: its number would be meaningless
		short, _ := v.MarshalText()
		return string(short)
	case channel.Respond:
		return string(v)
	case Command:
		return append([]string{}, v...)
	case []string:
		return append([]string{}, v...)
	default:
		return v
	}
}

// ChangedKeys lists the settings that differ between a and b: "discord.allow",
// `agents.compaction.keep_first of agent "small"`.
func ChangedKeys(a, b *Settings) []string {
	before, after := a.flat(), b.flat()
	all := maps.Clone(before)
	maps.Copy(all, after)
	changed := []string{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if before[key] != after[key] {
			changed = append(changed, key)
		}
	}
	return changed
}

// NeedRestart returns those of keys that are read only at the start. All other settings apply from
// the next turn on.
func NeedRestart(keys []string) (waiting []string) {
	for _, setting := range Reference() {
		if setting.Restart && slices.Contains(keys, setting.Key) {
			waiting = append(waiting, setting.Key)
		}
	}
	return waiting
}

// flat returns all settings that are not zero, by key.
func (s *Settings) flat() map[string]string {
	flat := map[string]string{}
	add := func(of string, list []Change) {
		for _, v := range list {
			table, which, _ := strings.Cut(v.Table, "] ") // "[bindings] number 1"
			table = strings.Trim(table, "[]")
			flat[strings.TrimSpace(strings.TrimPrefix(table+"."+v.Key, ".")+" "+which+of)] = fmt.Sprint(v.Value)
		}
	}
	add("", diffTables("", *s, Settings{}))
	var ids []string
	for _, agent := range s.Agents {
		ids = append(ids, agent.ID)
		add(fmt.Sprintf("of agent %q", agent.ID), diffTables("agents", agent, Agent{}))
	}
	flat["agents"] = fmt.Sprint(ids) // their order counts too
	return flat
}
