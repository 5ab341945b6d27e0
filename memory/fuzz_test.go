package memory_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/transcript"
	"cairn/words/wordstest"
)

// FuzzTools calls each tool with any arguments: it answers, or reports their errors, in valid text,
// and the database stays sound.
func FuzzTools(f *testing.F) {
	s := storetest.OpenStore(f, f.TempDir())
	c := storetest.Find(f, s, "terminal:general")
	storetest.Deliver(f, c, storetest.Said(1, "the plum is ripe"), storetest.Said(2, "so it is"), storetest.Said(3, "when?"))
	tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 3 }, Budget: func() int { return 500 }})
	j := storetest.Begin(f, c, transcript.Leaf, transcript.Worker, 1, 2)
	tools = append(tools, j.Tools(20)...)
	for i := range tools {
		for _, arguments := range []string{
			"", "null", "[]", "{}", `{"query":1}`, `{"query":"plum","limit":-1}`, `{"query":"plum","limit":1e99}`, `{"from":1,"to":9223372036854775807}`, `{"compaction":1}`,
			`{"content":"x","kind":"fact","messages":[1],"importance":1e-320,"supersedes":-1,"expires":"9999-12-31"}`, `{"content":"\ud800","kind":"fact","messages":[1,1,2]}`, strings.Repeat(`{"a":`, 5000),
		} {
			f.Add(byte(i), arguments)
		}
		if tools[i].Name != "memory_save" { // FuzzRecall has these texts for searches
			continue
		}
		for _, text := range wordstest.Texts() {
			quoted, _ := json.Marshal(text)
			f.Add(byte(i), `{"query":`+string(quoted)+`,"content":`+string(quoted)+`,"kind":"fact","messages":[1],"about":"Bob","expires":"2w"}`)
		}
	}
	f.Fuzz(func(t *testing.T, which byte, arguments string) {
		tool := tools[int(which)%len(tools)]
		answer, err := tool.Run(ctx, json.RawMessage(arguments))
		if err == nil && (answer == "" || !utf8.ValidString(answer)) || err != nil && (err.Error() == "" || len(err.Error()) > 3*len(arguments)+1000) {
			t.Fatalf("%s %q: %q, %v", tool.Name, arguments, answer, err)
		}
		if err != nil && strings.Contains(strings.ToLower(err.Error()), "sql") && !strings.Contains(strings.ToLower(arguments), "sql") {
			t.Fatalf("%s %q: %v", tool.Name, arguments, err)
		}
	})
}

// FuzzMoments parses any text as an expiry and as an age.
func FuzzMoments(f *testing.F) {
	for _, text := range append(wordstest.Texts(), "", "3d", "-3d", "99999999999999999999w", "0w", "2999-01-01", "2026-05-08T15:00Z", "9999-12-31T23:59:59-23:59", "2562047h47m", "1ns", "never", "9999-12") {
		f.Add(text)
	}
	now := time.Date(2026, 3, 18, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		if end, err := memory.EndOf(text, now, now); err == nil && end != 0 && (end < now.UnixMilli() || time.UnixMilli(end).UTC().Year() > 9999) {
			t.Fatalf("%q: got end %d", text, end)
		}
		if _, err := memory.Ago(text, now); err != nil && err.Error() == "" {
			t.Fatal("no words")
		}
	})
}
