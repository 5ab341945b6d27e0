// Mistakes in the settings files, with their lines.

package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Problem is one mistake in a settings file.
type Problem struct {
	File  string `json:"file"`
	Line  int    `json:"line"`  // 0: the full file
	Table string `json:"table"` // "[agents.small.compaction]"; empty: outside tables
	Text  string `json:"text"`  // names the key, its value and the allowed values
}

// Error has all mistakes of the settings files, in the order of their lines.
type Error struct{ Problems []Problem }

// newError returns nil if there are no problems.
func newError(sources []source, problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	number := func(p Problem) int {
		return slices.IndexFunc(sources, func(s source) bool { return s.file == p.File })
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a.Line, b.Line))
	})
	return &Error{problems}
}

func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// String formats the problem with its position.
func (p Problem) String() string {
	file := p.File
	if p.Line > 0 {
		file += ":" + strconv.Itoa(p.Line)
	}
	if p.Table != "" {
		file += ": " + p.Table
	}
	return file + ": " + p.Text
}

func parent(path string) string { return path[:max(strings.LastIndex(path, "."), 0)] }

func base(path string) string { return path[strings.LastIndex(path, ".")+1:] }

// maxDepth limits the parts of a key and the nesting of brackets. Settings need four.
const maxDepth = 16

// hidden matches what may contain any character: comments, and texts, to the end of the line without a quote.
var hidden = regexp.MustCompile(`"""(?:\\[\s\S]|[^\\])*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"?|'[^'\n]*'?|#[^\n]*`)

// keyLines returns the line of every table and key of a TOML file; of a table that is only named in
// others, the first of those. The tables of an array are numbered: "agents.0.compaction.keep_first".
// tooDeep is the first line that exceeds maxDepth; 0 if none does.
func keyLines(text string) (lines map[string]int, tooDeep int) {
	lines = map[string]int{}
	arrays := map[string]int{} // path of an array of tables: how many tables so far
	table := ""
	brackets := 0 // the current table; how many brackets are open
	newlines := func(quoted string) string { return strings.Repeat("\n", strings.Count(quoted, "\n")) }
	syntax := strings.Split(hidden.ReplaceAllStringFunc(text, newlines), "\n") // empty inside a quoted text
	for i, line := range strings.Split(text, "\n") {
		starts := brackets == 0 && strings.TrimSpace(syntax[i]) != ""
		dots := 0
		for _, c := range syntax[i] {
			switch c {
			case ',', '=':
				dots = 0
			case '.':
				dots++
			case '[', '{':
				brackets++
			case ']', '}':
				brackets--
			}
			if dots >= maxDepth || brackets > maxDepth {
				return nil, i + 1
			}
		}
		if !starts {
			continue
		}
		path := ""
		path, table = statementPath(strings.TrimSpace(line), table, arrays)
		for ; path != "" && lines[path] == 0; path = parent(path) {
			lines[path] = i + 1
		}
	}
	return lines, 0
}

// statementPath returns the path of the table or key that a statement starts, and the table that it belongs to.
func statementPath(line, table string, arrays map[string]int) (path, in string) {
	name, isTable := strings.CutPrefix(line, "[")
	if !isTable {
		key, _, _ := strings.Cut(line, "=")
		return strings.TrimPrefix(table+"."+keyPath(key, nil), "."), table
	}
	name, isArray := strings.CutPrefix(name, "[")
	name, _, _ = strings.Cut(name, "]")
	path = keyPath(name, arrays)
	if isArray {
		arrays[path]++
		path = fmt.Sprintf("%s.%d", path, arrays[path]-1)
	}
	return path, path
}

// keyPath converts a TOML key into a path. Arrays on the way refer to their newest table.
func keyPath(name string, arrays map[string]int) string {
	path := ""
	for part := range strings.SplitSeq(name, ".") {
		if n := arrays[path]; n > 0 {
			path += fmt.Sprintf(".%d", n-1)
		}
		path = strings.TrimPrefix(path+"."+strings.Trim(strings.TrimSpace(part), `"'`), ".")
	}
	return path
}
