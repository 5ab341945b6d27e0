// Mistakes in a settings file, with their lines.

package config

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Problem is one mistake in a settings file.
type Problem struct {
	Line  int    `json:"line"`  // 0: the whole file
	Table string `json:"table"` // "[agents.small.compaction]"; empty: outside tables
	Text  string `json:"text"`  // names the key, its value and the allowed values
}

// Error has all mistakes of a file, in the order of their lines.
type Error struct {
	file     string
	Problems []Problem
}

// newError returns nil if there are no problems.
func newError(file string, problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return &Error{file, problems}
}

func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		lines = append(lines, p.In(e.file))
	}
	return strings.Join(lines, "\n")
}

// In formats the problem with its position in file.
func (p Problem) In(file string) string {
	if p.Line > 0 {
		file += ":" + strconv.Itoa(p.Line)
	}
	if p.Table != "" {
		file += ": " + p.Table
	}
	return file + ": " + p.Text
}

// must reports the value of a setting that is not ok, and what it must do: "be one of …".
func (d *decoder) must(ok bool, path string, value any, want string) {
	if text, quoted := value.(string); quoted {
		value = strconv.Quote(text)
	}
	if !ok {
		d.problem(path, fmt.Sprintf("%s = %v: must %s", base(path), value, want))
	}
}

// problem reports a mistake in the setting at path, or that it is missing. A mistake inherited by
// several agents is reported once.
func (d *decoder) problem(path, text string) {
	if p := d.at(path, text); !slices.Contains(d.problems, p) {
		d.problems = append(d.problems, p)
	}
}

func (d *decoder) warn(path, text string) { d.warnings = append(d.warnings, d.at(path, text)) }

func (d *decoder) at(path, text string) Problem {
	line := 0
	for at := path; at != "" && line == 0; at = parent(at) {
		line = d.lines[at]
	}
	return Problem{Line: line, Table: d.tableName(parent(path)), Text: text}
}

// tableName returns the name of the table at path, for people.
func (d *decoder) tableName(path string) string {
	if path == "" {
		return ""
	}
	if model, ok := strings.CutPrefix(path, "prices."); ok { // the model's name may contain dots
		return fmt.Sprintf("[prices.%q]", model)
	}
	parts := strings.Split(path, ".")
	if len(parts) > 1 {
		if n, err := strconv.Atoi(parts[1]); err == nil {
			parts[1] = strconv.Itoa(n + 1)
			if parts[0] == "agents" && n < len(d.agents) {
				parts[1] = cmp.Or(d.agents[n], parts[1])
			}
		}
	}
	return "[" + strings.Join(parts, ".") + "]"
}

func parent(path string) string { return path[:max(strings.LastIndex(path, "."), 0)] }

func base(path string) string { return path[strings.LastIndex(path, ".")+1:] }

// deepest limits the parts of a key: settings have four, and a path of many costs their square.
const deepest = 16

// keyLines returns the line of every table and key of a valid TOML file; of a table that is only
// named in others, the first of those. The tables of an array are numbered:
// "agents.0.compaction.keep_first".
func keyLines(text []byte) map[string]int {
	lines, arrays := map[string]int{}, map[string]int{} // by path; arrays: how many tables so far
	table, line, seen := "", 1, 0                       // the current table and line; how much of text is above
	var file unstable.Parser
	for file.Reset(text); file.NextExpression(); {
		statement, path := file.Expression(), ""
		if statement.Kind == unstable.KeyValue {
			path = table
		}
		for key, parts := statement.Key(), 0; key.Next() && parts < deepest; parts++ {
			if n := arrays[path]; n > 0 && statement.Kind != unstable.KeyValue { // on the way: its newest table
				path += fmt.Sprintf(".%d", n-1)
			}
			path = strings.TrimPrefix(path+"."+string(key.Node().Data), ".")
			at := int(key.Node().Raw.Offset)
			line, seen = line+bytes.Count(text[seen:at], []byte("\n")), at
		}
		if statement.Kind == unstable.ArrayTable {
			arrays[path]++
			path += fmt.Sprintf(".%d", arrays[path]-1)
		}
		if statement.Kind != unstable.KeyValue {
			table = path
		}
		for ; path != "" && lines[path] == 0; path = parent(path) {
			lines[path] = line
		}
	}
	return lines
}
