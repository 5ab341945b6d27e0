package main

import (
	"errors"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"cairn/words/wordstest"
)

// FuzzSettings reads any settings: they are refused, each fault with words and a line
// that is there, or they are as valid as the defaults.
func FuzzSettings(f *testing.F) {
	whole, err := os.ReadFile("../../config.toml")
	if err != nil {
		f.Fatal(err)
	}
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
		if strings.Contains(text, "file:") || strings.Contains(text, "_file") { // what it names is read
			return
		}
		s, err := parseSettings("config.toml", []byte(text))
		var wrong *settingsError
		switch {
		case err == nil:
			for _, a := range s.agents() {
				if faults := a.Compaction.Validate(); len(faults) > 0 {
					t.Fatalf("%q is taken, and %v", text, faults[0])
				}
			}
			_ = s.changed()
		case !errors.As(err, &wrong) || len(wrong.faults) == 0:
			t.Fatalf("%q: %v", text, err)
		default:
			for _, fault := range wrong.faults {
				if fault.Text == "" || fault.Line < 0 || fault.Line > strings.Count(text, "\n")+1 {
					t.Fatalf("%q: %+v", text, fault)
				}
			}
		}
	})
}

// FuzzRecord reads any line of a recorded conversation.
func FuzzRecord(f *testing.F) {
	for _, line := range []string{
		`{"id":"D1:1","time":"2023-05-08T13:56:00Z","author":"Ada","text":"Look!","attachments":[{"kind":"image","caption":"a dog"}]}`,
		"", "null", "[]", `{"id":1}`, `{"id":"a","time":"never"}`, `{"id":"a","author":"b","text":"c"}`, `{"id":"\ud800","time":"0001-01-01T00:00:00Z","author":" ","text":""}`, strings.Repeat("[", 9999),
	} {
		f.Add([]byte(line))
	}
	for _, text := range wordstest.Texts() {
		f.Add([]byte(`{"id":"` + text + `","time":"2023-05-08T13:56:00Z","author":"` + text + `","text":"` + text + `"}`))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := parseRecord(line)
		switch {
		case err != nil && err.Error() == "":
			t.Fatal("no words")
		case err == nil && (m.ID == "" || strings.TrimSpace(m.Author) == "" || m.Time.IsZero() || strings.TrimSpace(m.Text) == "" && len(m.Attachments) == 0):
			t.Fatalf("%q is taken as %+v", line, m)
		case err == nil && !utf8.ValidString(m.Text+m.Author+m.ID):
			t.Fatalf("%q is no text: %+v", line, m)
		}
	})
}
