// The lines of a TOML file. The TOML library gives the line of the first syntax error and
// no other: not of a key, and not which of several [[agents]] one belongs to. It would also
// need hours for keys or brackets that nest without end.
package config

import (
	"fmt"
	"iter"
	"strings"
)

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

// marks yields the characters of a TOML file that are neither in quotes nor in a comment, with
// their places.
func marks(text string) iter.Seq2[int, byte] {
	return func(yield func(int, byte) bool) {
		for i := 0; i < len(text); i++ {
			switch c := text[i]; c {
			case '"', '\'':
				i += quoted(text[i:]) - 1
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

// statement returns the size of what text begins with: a line, or as many as its value
// goes on for.
func statement(text string) int {
	brackets := 0
	for i, c := range marks(text) {
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

// maxDepth bounds the parts of a key and how deep brackets nest. Settings need four.
const maxDepth = 16

// deepLine returns the first line of a TOML file that nests too deeply, 0 if none does.
func deepLine(text string) int {
	parts, brackets := 0, 0
	for i, c := range marks(text) {
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

// quoted returns the size of the text that s begins with, its quotes included. One
// without end reaches to the end of its line, or of s.
func quoted(s string) int {
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
