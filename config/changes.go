// Comparing settings: what differs from the defaults, and what an edit changed.
package config

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"cairn/internal/secrets"
)

// Change is a setting that differs between two versions of the settings.
type Change struct {
	Key   string `json:"key"` // its path, see flatten
	Value any    `json:"value"`
}

// String formats the change as a line of a settings file.
func (c Change) String() string {
	var value strings.Builder
	enc := json.NewEncoder(&value) // texts, numbers, and lists of texts look the same in TOML
	enc.SetEscapeHTML(false)
	_ = enc.Encode(c.Value)
	return fmt.Sprintf("%s = %s", c.Key, strings.TrimSpace(value.String()))
}

// Changed lists the settings that differ from the defaults. Keys and secrets in plain text are
// masked, and what may be secret in addresses.
func (s *Settings) Changed() []Change {
	defaults := Default()
	agent := defaults.newAgent()
	defaults.Agents = slices.Clone(s.Agents) // by default there is one, which nobody set
	if s.set["agents"] {
		for i, a := range s.Agents {
			agent.ID = a.ID
			defaults.Agents[i] = agent
		}
	}
	defaults.Tools = slices.Repeat([]ToolServer{toolServer()}, len(s.Tools))
	before, after := flatten(&defaults), flatten(s)
	before["agents"] = []string{defaults.newAgent().ID}
	list := []Change{}
	for _, key := range differing(before, after) {
		value := after[key]
		if value == nil {
			value = reflect.Zero(reflect.TypeOf(before[key])).Interface()
		}
		switch v := value.(type) {
		case string:
			value = masked(key, v)
		case []string:
			shown := make([]string, len(v))
			for i, text := range v {
				shown[i] = masked(key, text)
			}
			value = shown
		}
		list = append(list, Change{key, value})
	}
	return list
}

// masked returns a text of a setting without what may be secret, also in an address.
func masked(key, text string) string {
	external := strings.HasPrefix(key, "tools.") || strings.HasPrefix(key, "hooks.")
	switch {
	case holdsSecret(key), strings.HasPrefix(key, "tools.") && strings.Contains(key, ".env."):
		if !refersToSecret(text) {
			return "[masked]"
		}
	case external && strings.Contains(text, "://"): // the path may be a secret
		return "[masked]"
	case base(key) == "base_url", base(key) == "api_base":
		return ShownAddress(text)
	}
	return secrets.Mask(text)
}

// flatten returns all settings that are not zero, by path: "discord.allow", "bindings.1.channel",
// "agents.small.compaction.keep_first". "agents" lists their ids, in their order.
func flatten(s *Settings) map[string]any {
	flat := map[string]any{}
	addSetting(flat, "", reflect.ValueOf(*s))
	var ids []string
	for _, agent := range s.Agents {
		ids = append(ids, agent.ID)
		addSetting(flat, "agents."+agent.ID, reflect.ValueOf(agent))
	}
	flat["agents"] = ids
	return flat
}

// addSetting adds a value, or the values of a table or of a list of tables. Texts are strings, and
// lists of texts []string.
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
			addSetting(flat, below+strconv.Itoa(i+1), v.Index(i))
		}
	case v.Kind() == reflect.Slice:
		flat[path] = v.Convert(reflect.TypeFor[[]string]()).Interface()
	default:
		flat[path] = v.Interface()
	}
}

// differing lists the paths with different values, sorted.
func differing(a, b map[string]any) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(key string) bool { return reflect.DeepEqual(a[key], b[key]) })
}

// ChangedKeys lists the paths of the settings that differ between a and b. An agent that only one of
// them has differs in "agents" alone: most of its settings are inherited.
func ChangedKeys(a, b *Settings) []string {
	before, after := flatten(a), flatten(b)
	return slices.DeleteFunc(differing(before, after), func(key string) bool {
		rest, of := strings.CutPrefix(key, "agents.")
		agent, _, _ := strings.Cut(rest, ".")
		id := "agents." + agent + ".id"
		return of && (before[id] == nil) != (after[id] == nil)
	})
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
