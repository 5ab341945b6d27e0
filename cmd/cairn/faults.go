// What is wrong with a settings file, and in which line.
package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// fault is one thing wrong with a settings file.
type fault struct {
	Line  int    `json:"line"`  // 0: the file as a whole
	Table string `json:"table"` // "[agents.compaction] of \"small\""; empty: outside tables
	Text  string `json:"text"`  // names the key, what it is and what it may be
}

// settingsError is everything wrong with a file, in the order of its lines.
type settingsError struct {
	file   string
	faults []fault
}

// newSettingsError returns nil if there are no faults.
func newSettingsError(file string, faults []fault) error {
	if len(faults) == 0 {
		return nil
	}
	slices.SortStableFunc(faults, func(a, b fault) int { return cmp.Compare(a.Line, b.Line) })
	return &settingsError{file, faults}
}

func (e *settingsError) Error() string {
	lines := make([]string, 0, len(e.faults))
	for _, f := range e.faults {
		lines = append(lines, f.in(e.file))
	}
	return strings.Join(lines, "\n")
}

// in is the fault with its place in file, for people.
func (f fault) in(file string) string {
	if f.Line > 0 {
		file += ":" + strconv.Itoa(f.Line)
	}
	if f.Table != "" {
		file += ": " + f.Table
	}
	return file + ": " + f.Text
}

// fault notes that something is wrong with what stands, or should stand, at path.
func (d *decoder) fault(path, text string) { d.faults = append(d.faults, d.at(path, text)) }

// warn notes something that works and should be otherwise.
func (d *decoder) warn(path, text string) { d.warnings = append(d.warnings, d.at(path, text)) }

// at is a fault with the place of path.
func (d *decoder) at(path, text string) fault {
	line := 0
	for at := path; at != "" && line == 0; at = parent(at) {
		line = d.lines[at]
	}
	return fault{Line: line, Table: d.tableName(parent(path)), Text: text}
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

// parent is the path of the table that path stands in.
func parent(path string) string { return path[:max(strings.LastIndex(path, "."), 0)] }

// base is the key that path ends in.
func base(path string) string { return path[strings.LastIndex(path, ".")+1:] }

// keyLines returns the line of every table and key of a TOML file that parses. The
// tables of an array are numbered: "agents.0.compaction.keep_first".
func keyLines(text string) map[string]int {
	lines := map[string]int{}
	arrays := map[string]int{} // path of an array of tables: how many there are so far
	table := ""                // where we are
	for n, size := 1, 0; text != ""; text = text[size:] {
		size = statement(text)
		line := strings.TrimSpace(text[:size])
		switch {
		case strings.HasPrefix(line, "[["):
			name, _, _ := strings.Cut(line[2:], "]")
			array := place(name, arrays)
			table = fmt.Sprintf("%s.%d", array, arrays[array])
			arrays[array]++
			lines[table] = n
		case strings.HasPrefix(line, "["):
			name, _, _ := strings.Cut(line[1:], "]")
			table = place(name, arrays)
			lines[table] = n
		case line != "" && line[0] != '#':
			key, _, _ := strings.Cut(line, "=")
			lines[strings.TrimPrefix(table+"."+place(key, nil), ".")] = n
		}
		n += strings.Count(text[:size], "\n")
	}
	return lines
}

// statement returns the size of what text begins with: a line, or as many as its value
// goes on for.
func statement(text string) int {
	brackets := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"', '\'':
			i += quoted(text[i:]) - 1
		case '#':
			comment, _, _ := strings.Cut(text[i:], "\n")
			i += len(comment) - 1
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

// place makes a path of a TOML key. An array on the way means its newest table.
func place(name string, arrays map[string]int) string {
	path := ""
	for part := range strings.SplitSeq(name, ".") {
		if n := arrays[path]; n > 0 {
			path += fmt.Sprintf(".%d", n-1)
		}
		path = strings.TrimPrefix(path+"."+strings.Trim(strings.TrimSpace(part), `"'`), ".")
	}
	return path
}
