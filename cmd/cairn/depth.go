// Keeps settings whose keys or brackets nest without end from the TOML library, which
// would need hours for them.
package main

import "strings"

// maxDepth bounds the parts of a key and how deep brackets nest. Settings need four.
const maxDepth = 16

// deepLine returns the first line of a TOML file that nests too deeply, 0 if none does.
func deepLine(text string) int {
	line, parts, brackets := 1, 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"', '\'':
			size := quoted(text[i:])
			line += strings.Count(text[i:i+size], "\n")
			i += size - 1
		case '#':
			rest := strings.IndexByte(text[i:], '\n')
			if rest < 0 {
				return 0
			}
			i += rest - 1
		case '\n':
			line, parts = line+1, 0
		case ',', '=':
			parts = 0
		case '.':
			parts++
		case '[', '{':
			brackets++
		case ']', '}':
			brackets--
		}
		if parts >= maxDepth || brackets > maxDepth {
			return line
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
