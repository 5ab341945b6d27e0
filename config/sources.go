// The settings files, config.toml and config.local.toml, and how they are merged.

package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// DefaultFile is read, if it exists, when no other file is named.
const DefaultFile = "config.toml"

// LocalFile returns the name of the file that is read over a settings file: "config.local.toml".
func LocalFile(file string) string {
	file = cmp.Or(file, DefaultFile)
	kind := filepath.Ext(file)
	return strings.TrimSuffix(file, kind) + ".local" + kind
}

// source is a settings file and its content.
type source struct {
	file string
	text []byte
}

func (s source) blank() bool { return len(bytes.TrimSpace(s.text)) == 0 }

// contentOf returns the source of a file; without text if it is not among them.
func contentOf(sources []source, file string) source {
	for _, s := range sources {
		if s.file == file {
			return s
		}
	}
	return source{file: file}
}

func sameSources(a, b []source) bool {
	return slices.EqualFunc(a, b, func(a, b source) bool { return a.file == b.file && bytes.Equal(a.text, b.text) })
}

// readSources reads a settings file, DefaultFile if its name is empty, and its local file. One of them
// may be missing; fs.ErrNotExist: both are.
func readSources(file string) (found []source, err error) {
	file = cmp.Or(file, DefaultFile)
	var missing error
	for _, name := range []string{file, LocalFile(file)} {
		text, err := ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			missing = cmp.Or(missing, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, source{name, text})
	}
	if len(found) == 0 {
		return nil, missing
	}
	return found, nil
}

// position is a line of a file.
type position struct {
	file string
	line int
}

// content is what one file sets, or several do that are read over each other.
type content struct {
	values map[string]any
	lines  map[string]position // of every table and key, see keyLines
}

// decode returns what a file sets, or what is wrong with its syntax.
func (s source) decode() (c content, wrong *Problem) {
	lines, tooDeep := keyLines(string(s.text))
	if tooDeep > 0 {
		return c, &Problem{File: s.file, Line: tooDeep, Text: fmt.Sprintf("this is nested deeper than %d levels, and no setting is", maxDepth)}
	}
	if _, err := toml.Decode(string(s.text), &c.values); err != nil {
		wrong = &Problem{File: s.file, Text: err.Error()}
		if at, ok := errors.AsType[toml.ParseError](err); ok {
			hint := `texts need "quotes"`
			if strings.Contains(strings.ReplaceAll(at.Message, `'\n'`, ""), `\`) { // an escape that TOML does not have, or an incomplete one
				hint = backslashHint
			}
			wrong.Line = at.Position.Line
			wrong.Text = fmt.Sprintf("this is not valid TOML (%s): %s", strings.TrimSuffix(at.Message, "."), hint)
		}
		return c, wrong
	}
	c.lines = map[string]position{}
	for path, line := range lines {
		c.lines[path] = position{s.file, line}
	}
	return c, nil
}

// decodeAll returns what the files set together. The error is an *Error.
func decodeAll(sources []source) (content, error) {
	all := content{map[string]any{}, map[string]position{}}
	var problems []Problem
	for _, s := range sources {
		one, wrong := s.decode()
		if wrong != nil {
			problems = append(problems, *wrong)
			continue
		}
		all.overlay(all.values, one.values, one.lines, "")
	}
	return all, newError(sources, problems)
}

// overlay reads the table from over the table into, at path: tables are merged key by key; all other
// values are replaced, and so are lists, also those of tables such as [[agents]].
func (c *content) overlay(into, from map[string]any, lines map[string]position, path string) {
	for key, value := range from {
		at := strings.TrimPrefix(path+"."+key, ".")
		table, isTable := value.(map[string]any)
		below, wasTable := into[key].(map[string]any)
		if isTable && wasTable {
			c.overlay(below, table, lines, at)
			continue
		}
		isIn := func(p string, _ position) bool { return p == at || strings.HasPrefix(p, at+".") }
		maps.DeleteFunc(c.lines, isIn)
		for p, line := range lines {
			if isIn(p, line) {
				c.lines[p] = line
			}
		}
		into[key] = value
	}
}
