package config

import (
	"errors"
	"os"
	"strings"
	"testing"

	"cairn/internal/check"

	"cairn/words/wordstest"
)

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
