package config

import (
	"errors"
	"os"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/words/wordstest"
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

// FuzzSettings parses any settings: they are rejected, each error with a message and an existing
// line, or they are as valid as the defaults.
func FuzzSettings(f *testing.F) {
	whole := check.Must(os.ReadFile("../config.toml"))(f)
	f.Add(string(whole))
	f.Add(strings.NewReplacer("# ", "", "#", "").Replace(string(whole)))
	for _, text := range []string{
		"a = 1", "[defaults.compaction]\nbackground_threshold = 80", "[[agents]]\nid = \"x\"\n[[agents]]\nid = \"x\"", "[[agents]]\n[agents.compaction]\nkeep_last_n = -1",
		"x = [[[[[[[[", "\xff", "defaults = 1", "agents = 5", "[llm]\napi_key = \"file:/dev/null\"", "a.b.c.d = {e = {f = [1, {g = 2}]}}", "[discord]\nowners = [1]", "\"\" = 1",
	} {
		f.Add(text)
	}
	for _, text := range wordstest.Texts() {
		f.Add("[[agents]]\nid = \"" + text + "\"\ninstructions = '''" + text + "'''")
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "file:") || strings.Contains(text, "_file") { // named files are read
			return
		}
		s, err := Parse("config.toml", []byte(text))
		var wrong *Error
		switch {
		case err == nil:
			for _, a := range s.Agents {
				if faults := a.Compaction.Validate(); len(faults) > 0 {
					t.Fatalf("%q: accepted, but %v", text, faults[0])
				}
			}
			_ = s.Changed()
		case !errors.As(err, &wrong) || len(wrong.Problems) == 0:
			t.Fatalf("%q: %v", text, err)
		default:
			for _, fault := range wrong.Problems {
				if fault.Text == "" || fault.Line < 0 || fault.Line > strings.Count(text, "\n")+1 {
					t.Fatalf("%q: %+v", text, fault)
				}
			}
		}
	})
}
