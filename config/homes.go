package config

import (
	"reflect"
	"slices"
	"strings"
)

// tablesWith returns the tables in which a key is allowed, in words; nil if there is none.
func tablesWith(key string) []string {
	homes := append(findTables(reflect.TypeFor[Settings](), key, "", false), findTables(reflect.TypeFor[Agent](), key, "agents", true)...)
	if slices.Contains(homes, "under [defaults.compaction]") { // the same keys, for one agent
		homes = slices.DeleteFunc(homes, func(home string) bool { return home == "under [agents.compaction]" })
	}
	return homes
}

// findTables returns the tables that contain a key, in a table of type t at path and below it; list
// reports whether the table is one of an array.
func findTables(t reflect.Type, key, path string, list bool) (homes []string) {
	for _, f := range reflect.VisibleFields(t) {
		name, inner := f.Tag.Get("toml"), f.Type
		if name == "" {
			continue
		}
		if name == key {
			homes = append(homes, tableWords(path, list))
		}
		below, several := strings.TrimPrefix(path+"."+name, "."), false
		if inner.Kind() == reflect.Slice {
			inner, several = inner.Elem(), true
		}
		if inner.Kind() == reflect.Map {
			inner, below = inner.Elem(), below+".NAME"
		}
		if inner.Kind() == reflect.Struct {
			homes = append(homes, findTables(inner, key, below, several)...)
		}
	}
	return homes
}

func tableWords(path string, list bool) string {
	switch {
	case path == "":
		return "at the top, above the first table"
	case list:
		return "under [[" + path + "]]"
	}
	return "under [" + path + "]"
}
