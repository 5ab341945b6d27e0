package config

import (
	"reflect"
	"slices"
)

// homesOf returns where a file may set a key, in words; none where no table has it.
func homesOf(key string) (homes []string) {
	look := func(t reflect.Type, path string, list bool) { homes = append(homes, homesIn(t, key, path, list)...) }
	look(reflect.TypeFor[Settings](), "", false)
	look(reflect.TypeFor[Agent](), "agents", true)
	if slices.Contains(homes, "under [defaults.compaction]") { // the same keys, for one agent
		homes = slices.DeleteFunc(homes, func(home string) bool { return home == "under [agents.compaction]" })
	}
	return homes
}

// homesIn returns where a key belongs in a table of type t at path; list: there are several.
func homesIn(t reflect.Type, key, path string, list bool) (homes []string) {
	for _, f := range reflect.VisibleFields(t) {
		name, inner := f.Tag.Get("toml"), f.Type
		if name == "" {
			continue
		}
		if name == key {
			homes = append(homes, home(path, list))
		}
		below, several := name, false
		if path != "" {
			below = path + "." + name
		}
		if inner.Kind() == reflect.Slice {
			inner, several = inner.Elem(), true
		}
		if inner.Kind() == reflect.Map {
			inner, below = inner.Elem(), below+".NAME"
		}
		if inner.Kind() == reflect.Struct {
			homes = append(homes, homesIn(inner, key, below, several)...)
		}
	}
	return homes
}

func home(path string, list bool) string {
	switch {
	case path == "":
		return "at the top, above the first table"
	case list:
		return "under [[" + path + "]]"
	}
	return "under [" + path + "]"
}
