package config

import (
	"strings"
	"testing"

	"cairn/internal/check"
)

func TestDeepLine(t *testing.T) {
	for _, test := range []struct {
		name, text string
		line       int
	}{
		{"what a setting needs", "[agents.compaction]\nprepare_threshold = 0.7\na = { b = [1, [2]] }", 0},
		{"dots in texts and remarks", strings.NewReplacer("D", strings.Repeat(".", 99)).Replace("# D\na = \"D\\\"D\"\nb = 'D'\nc = \"\"\"D\nD\"\"\"\nd = '''D'''\n#D"), 0},
		{"quotes in texts", "a = \"'\"\nb = '\"'\n" + strings.Repeat("a.", 20) + "a = 1", 3},
		{"many numbers", "a = [" + strings.Repeat("0.5, ", 99) + "]", 0},
		{"a key", "x = 1\n" + strings.Repeat("a.", 20) + "a = 1", 2},
		{"a key with spaces and quotes", strings.Repeat("'a' . ", 20) + "a = 1", 1},
		{"a table", "x = \"\"\"\n\"\"\"\n[" + strings.Repeat("a.", 20) + "a]", 3},
		{"a key inside a table", "x = { " + strings.Repeat("a.", 20) + "a = 1 }", 1},
		{"brackets", "x = " + strings.Repeat("[", 20), 1},
		{"braces", "x = " + strings.Repeat("{a=", 20), 1},
		{"a text without end", "x = \"...\ny = '", 0},
	} {
		check.Equal(t, test.name+": line", deepLine(test.text), test.line)
	}
}

// The TOML library needs gigabytes and hours for such a file.
func TestDeepNestingIsRefused(t *testing.T) {
	for name, text := range map[string]string{"keys": strings.Repeat("a.", 100_000) + "a = 1", "brackets": "a = " + strings.Repeat("[", 100_000)} {
		_, err := Parse("config.toml", []byte(text))
		check.ErrorContains(t, name, err, "config.toml:1: this is nested deeper than 16 levels")
	}
}
