// Edits of the local settings file that keep everything else in it, as `cairn setup` makes them.

package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Value is a setting and its new value, a string or a bool.
type Value struct {
	Path  string // "llm.base_url"; without a dot: at the top
	Value any
}

// Edited is the new content of a LocalFile.
type Edited struct {
	File    string
	Before  string
	Text    string   // as Before, if the settings already have the values
	Changed []string // the settings that File had, with another value
}

// Edit sets values in the local file of a settings file, as far as the settings differ from them. All other
// lines stay as they are. Nothing is written. The error is an *Error if one of the two is not valid TOML.
func Edit(file string, values ...Value) (Edited, error) {
	e := Edited{File: LocalFile(file)}
	sources, err := readSources(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return e, err
	}
	if _, err := decodeAll(sources); err != nil {
		return e, err
	}
	local := contentOf(sources, e.File)
	e.Before = string(local.text)
	e.Text = string(local.text)
	s, _ := parse(file, sources) // a value that is wrong is replaced, or somebody else's
	decoded, _ := local.decode()
	current := flatten(&s)
	for _, v := range values {
		before := cmp.Or(current[v.Path], reflect.Zero(reflect.TypeOf(v.Value)).Interface()) // flatten leaves out zeros
		if before == v.Value {
			continue
		}
		if _, set := decoded.lines[v.Path]; set {
			e.Changed = append(e.Changed, v.Path)
		}
		edited, ok := setLine(e.Text, v)
		if !ok {
			return e, fmt.Errorf("%s has %s in a form that setup cannot edit: set %[2]s = %[3]s there by hand", e.File, v.Path, asTOML(v.Value))
		}
		e.Text = edited
	}
	return e, nil
}

func asTOML(value any) string {
	var text bytes.Buffer
	_ = toml.NewEncoder(&text).Encode(map[string]any{"v": value}) // a string or a bool always has a form
	return strings.TrimSpace(strings.TrimPrefix(text.String(), "v = "))
}

// settingWithValue matches a line that sets a key to a value that ends on it.
var settingWithValue = regexp.MustCompile(`^(\s*[^=]+?\s*=\s*)("(?:\\.|[^"\\])*"|'[^']*'|[\w.+-]+)(\s*(?:#.*)?)$`)

// setLine sets a value in a settings file: in the line that sets it, else under the header of its table, else
// in a new table. It returns false if the result would not be the same file with that value.
func setLine(text string, v Value) (edited string, ok bool) {
	lines := strings.Split(text, "\n")
	table := parent(v.Path)
	key := base(v.Path)
	line := key + " = " + asTOML(v.Value)
	known, _ := keyLines(text)
	header := regexp.MustCompile(`^\s*\[\s*` + regexp.QuoteMeta(table) + `\s*\]`)
	at := slices.IndexFunc(lines, header.MatchString)
	switch {
	case known[v.Path] > 0:
		i := known[v.Path] - 1
		found := settingWithValue.FindStringSubmatch(lines[i])
		if found == nil {
			return "", false
		}
		lines[i] = found[1] + asTOML(v.Value) + found[3]
	case table == "":
		first := slices.IndexFunc(lines, func(l string) bool { return !strings.HasPrefix(l, "#") })
		lines = slices.Insert(lines, max(first, 0), line)
	case at >= 0:
		lines = slices.Insert(lines, at+1, line)
	default:
		text = strings.TrimRight(text, "\r\n")
		if text != "" {
			text += "\n\n"
		}
		lines = strings.Split(text+"["+table+"]\n"+line+"\n", "\n")
	}
	edited = strings.Join(lines, "\n")
	return edited, onlySets(text, edited, v)
}

// onlySets reports whether the settings files before and after differ in one value at most.
func onlySets(before, after string, v Value) bool {
	was, wrong := source{text: []byte(before)}.decode()
	is, wrongNow := source{text: []byte(after)}.decode()
	if wrong != nil || wrongNow != nil {
		return false
	}
	table := was.values
	if name := parent(v.Path); name != "" {
		below, _ := table[name].(map[string]any)
		if below == nil {
			below = map[string]any{}
			table[name] = below
		}
		table = below
	}
	table[base(v.Path)] = v.Value
	return reflect.DeepEqual(was.values, is.values)
}
