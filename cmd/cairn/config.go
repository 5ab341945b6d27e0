// cairn config check: are the settings right, and what do they change.
package main

import (
	"encoding"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cairn/channel"
)

func newConfig(a *app) *cobra.Command {
	return group("config", "Check the settings", newConfigCheck(a))
}

func newConfigCheck(a *app) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Tell what is wrong with a settings file, or what it changes",
		Long: `Check a settings file, config.toml if none is named. Everything that is wrong is told
at once, with the line it stands in. If nothing is, the settings that differ from their
defaults are shown as they take effect, inherited ones included.`,
		Example: `  cairn config check
  cairn config check /etc/cairn/config.toml --json`,
		Args: needs(0, 1, ""),
		RunE: func(_ *cobra.Command, files []string) error {
			file := a.config
			if len(files) > 0 {
				file = files[0]
			}
			return a.checkConfig(file, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// verdict is what a check found.
type verdict struct {
	OK      bool           `json:"ok"`
	File    string         `json:"file"`    // empty: there is none
	Changed []changedValue `json:"changed"` // differs from the defaults
	Faults  []fault        `json:"faults"`

	Warnings []fault `json:"warnings,omitempty"` // what works and should be otherwise
}

type changedValue struct {
	Table string `json:"table"`
	Key   string `json:"key"`
	Value any    `json:"value"`
}

func (v verdict) String() string {
	file := v.File
	if file == "" {
		file = "no settings file, the defaults"
	}
	lines := []string{"ok: " + file}
	for _, c := range v.Changed {
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
		lines = append(lines, "  "+strings.TrimSpace(fmt.Sprintf("%s %s = %s", c.Table, c.Key, value)))
	}
	for _, w := range v.Warnings {
		lines = append(lines, "warning: "+w.in(v.File))
	}
	return strings.Join(lines, "\n")
}

func (a *app) checkConfig(file string, asJSON bool) error {
	s, err := loadSettings(file)
	v := verdict{OK: err == nil, File: s.file, Changed: []changedValue{}, Faults: []fault{}, Warnings: s.warnings}
	var wrong *settingsError
	switch {
	case err == nil:
		v.Changed = s.changed()
	case errors.As(err, &wrong) && asJSON:
		v.Faults = wrong.faults
	default:
		return err
	}
	return errors.Join(a.show(a.out, v, asJSON), err)
}

// changed lists what differs from the defaults, agent by agent.
func (s *settings) changed() []changedValue {
	defaults := defaultSettings()
	list := differing("", *s, defaults)
	for _, agent := range s.Agents {
		here := differing("agents", agent, defaults.newAgent())
		for i := range here {
			here[i].Table += fmt.Sprintf(" of agent %q", agent.ID)
		}
		list = append(list, here...)
	}
	for i, v := range list {
		if text, ok := v.Value.(string); ok && v.Key == "api_key" && !refersToSecret(text) {
			list[i].Value = "[masked]"
		}
	}
	return list
}

// differing compares two settings tables field by field.
func differing(table string, settings, defaults any) []changedValue {
	list := []changedValue{}
	v, d := reflect.ValueOf(settings), reflect.ValueOf(defaults)
	for _, f := range reflect.VisibleFields(v.Type()) {
		key := f.Tag.Get("toml")
		value, usual := v.FieldByIndex(f.Index), d.FieldByIndex(f.Index)
		inside := strings.TrimPrefix(table+"."+key, ".")
		switch {
		case key == "" || reflect.DeepEqual(value.Interface(), usual.Interface()):
		case value.Kind() == reflect.Map:
			for _, name := range slices.Sorted(maps.Keys(value.Interface().(map[string]price))) {
				one := value.Interface().(map[string]price)[name]
				list = append(list, differing(fmt.Sprintf("%s.%q", inside, name), one, price{})...)
			}
		case value.Kind() == reflect.Struct:
			list = append(list, differing(inside, value.Interface(), usual.Interface())...)
		case value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Struct:
			for i := range value.Len() {
				one := value.Index(i)
				here := differing(inside, one.Interface(), reflect.Zero(one.Type()).Interface())
				for j := range here {
					here[j].Table += fmt.Sprintf(" number %d", i+1)
				}
				list = append(list, here...)
			}
		default:
			change := changedValue{Key: key, Value: plain(value)}
			if table != "" {
				change.Table = "[" + table + "]"
			}
			list = append(list, change)
		}
	}
	return list
}

// plain is a value as both people and JSON can show it.
func plain(value reflect.Value) any {
	if value.Kind() == reflect.Pointer {
		return plain(value.Elem())
	}
	switch v := value.Interface().(type) {
	case encoding.TextMarshaler: // a duration: its number would say nothing
		short, _ := v.MarshalText()
		return string(short)
	case channel.Respond:
		return string(v)
	case []string:
		return append([]string{}, v...)
	default:
		return v
	}
}
