// What is wrong with a settings file, and in which line.
package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Problem is one thing wrong with a settings file.
type Problem struct {
	Line  int    `json:"line"`  // 0: the file as a whole
	Table string `json:"table"` // "[agents.compaction] of \"small\""; empty: outside tables
	Text  string `json:"text"`  // names the key, what it is and what it may be
}

// Error is everything wrong with a file, in the order of its lines.
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

// In returns the problem with its place in file, for people.
func (p Problem) In(file string) string {
	if p.Line > 0 {
		file += ":" + strconv.Itoa(p.Line)
	}
	if p.Table != "" {
		file += ": " + p.Table
	}
	return file + ": " + p.Text
}

// problem reports something that is wrong with the setting at path, or missing there. What
// several agents inherit is reported once.
func (d *decoder) problem(path, text string) {
	if p := d.at(path, text); !slices.Contains(d.problems, p) {
		d.problems = append(d.problems, p)
	}
}

// warn reports something that works and should be changed.
func (d *decoder) warn(path, text string) { d.warnings = append(d.warnings, d.at(path, text)) }

// at returns a problem with the place of path.
func (d *decoder) at(path, text string) Problem {
	line := 0
	for at := path; at != "" && line == 0; at = parent(at) {
		line = d.lines[at]
	}
	return Problem{Line: line, Table: d.tableName(parent(path)), Text: text}
}

// tableName is what people call the table at path.
func (d *decoder) tableName(path string) string {
	if path == "" {
		return ""
	}
	if model, ok := strings.CutPrefix(path, "prices."); ok { // its name may hold dots
		return fmt.Sprintf("[prices.%q]", model)
	}
	parts := strings.Split(path, ".")
	if len(parts) < 2 {
		return "[" + path + "]"
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil {
		return "[" + path + "]"
	}
	name := fmt.Sprintf("number %d", n+1)
	if parts[0] == "agents" {
		if n < len(d.agents) && d.agents[n] != "" {
			name = strconv.Quote(d.agents[n])
		}
		name = "of agent " + name
	}
	return fmt.Sprintf("[%s] %s", strings.Join(slices.Delete(parts, 1, 2), "."), name)
}

// parent is the path of the table that contains path.
func parent(path string) string { return path[:max(strings.LastIndex(path, "."), 0)] }

// base is the key that path ends in.
func base(path string) string { return path[strings.LastIndex(path, ".")+1:] }
