// Mistakes in a settings file, with their lines.

package config

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
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

// keyLines returns the line of every table and key of a valid TOML file; of a table that is only
// named in others, the first of those. The tables of an array are numbered:
// "agents.0.compaction.keep_first".
func keyLines(text string) map[string]int {
	lines := map[string]int{}
	add := func(path string, n int) {
		for ; path != "" && lines[path] == 0; path = parent(path) {
			lines[path] = n
		}
	}
	arrays := map[string]int{} // path of an array of tables: how many tables so far
	table := ""                // the current table
	for n, size := 1, 0; text != ""; text = text[size:] {
		size = statementSize(text)
		line := strings.TrimSpace(text[:size])
		switch {
		case strings.HasPrefix(line, "[["):
			name, _, _ := strings.Cut(line[2:], "]")
			array := keyPath(name, arrays)
			table = fmt.Sprintf("%s.%d", array, arrays[array])
			arrays[array]++
			add(table, n)
		case strings.HasPrefix(line, "["):
			name, _, _ := strings.Cut(line[1:], "]")
			table = keyPath(name, arrays)
			add(table, n)
		case line != "" && line[0] != '#':
			key, _, _ := strings.Cut(line, "=")
			add(strings.TrimPrefix(table+"."+keyPath(key, nil), "."), n)
		}
		n += strings.Count(text[:size], "\n")
	}
	return lines
}

// syntaxChars yields the characters of a TOML file that are neither quoted nor in a comment, with
// their offsets.
func syntaxChars(text string) iter.Seq2[int, byte] {
	return func(yield func(int, byte) bool) {
		for i := 0; i < len(text); i++ {
			switch c := text[i]; c {
			case '"', '\'':
				i += quotedSize(text[i:]) - 1
			case '#':
				comment, _, _ := strings.Cut(text[i:], "\n")
				i += len(comment) - 1
			default:
				if !yield(i, c) {
					return
				}
			}
		}
	}
}

// statementSize returns the size of the first statement of text: a line, or several lines if its
// value spans them.
func statementSize(text string) int {
	brackets := 0
	for i, c := range syntaxChars(text) {
		switch c {
		case '[', '{':
			brackets++
		case ']', '}':
			brackets--
		case '\n':
			if brackets <= 0 {
				return i + 1
			}
		}
	}
	return len(text)
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

// maxDepth limits the parts of a key and the nesting of brackets. Settings need four.
const maxDepth = 16

// deepLine returns the first line of a TOML file that exceeds maxDepth; 0 if none does.
func deepLine(text string) int {
	parts, brackets := 0, 0
	for i, c := range syntaxChars(text) {
		switch c {
		case '\n', ',', '=':
			parts = 0
		case '.':
			parts++
		case '[', '{':
			brackets++
		case ']', '}':
			brackets--
		}
		if parts >= maxDepth || brackets > maxDepth {
			return 1 + strings.Count(text[:i], "\n")
		}
	}
	return 0
}

// quotedSize returns the size of the quoted string at the start of s, including its quotes. An
// unterminated one extends to the end of its line, or of s.
func quotedSize(s string) int {
	end := s[:1]
	if strings.HasPrefix(s, strings.Repeat(end, 3)) {
		end = s[:3]
	}
	for i := len(end); i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], end):
			return i + len(end)
		case s[i] == '\\' && end[0] == '"':
			i++
		case s[i] == '\n' && len(end) == 1:
			return i
		}
	}
	return len(s)
}
