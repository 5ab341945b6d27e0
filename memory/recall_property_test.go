package memory_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
	"cairn/words/wordstest"
)

// For any messages and questions: what is found is in the conversation and before the given seq,
// within the limit, sorted, and the same each time, and its parts add up.
func TestRecallProperties(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		texts := rapid.Custom(func(rt *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabularyOfTests), 0, 8).Draw(rt, "words"), " ")
		})
		c, other := find(t, s, fmt.Sprint("terminal:a", n)), find(t, s, fmt.Sprint("terminal:b", n))
		for _, conv := range []*store.Conversation{c, other} {
			var past []store.Inbound
			for i, text := range rapid.SliceOfN(texts, 0, 20).Draw(rt, "said") {
				past = append(past, spoken(i, float64(i*rapid.IntRange(0, 5).Draw(rt, "pause")), rapid.SampledFrom([]string{"Ann", "Bob"}).Draw(rt, "who"), conv.Name()+" "+text))
			}
			check.NoError(rt, check.ErrorOf(conv.Past().Import(ctx, past)))
		}
		q := memory.Question{
			Text: texts.Draw(rt, "question"), Asker: rapid.SampledFrom([]string{"", "Ann", "Eve"}).Draw(rt, "asker"),
			Limit: rapid.IntRange(-1, 25).Draw(rt, "limit"), Before: int64(rapid.IntRange(0, 25).Draw(rt, "before")), Now: storetest.Day.AddDate(0, 1, 0),
		}
		found := recallAll(t, c, q)
		if len(found) > max(q.Limit, 0) {
			rt.Fatalf("%d found of %d", len(found), q.Limit)
		}
		seen := map[int64]bool{}
		for i, f := range found {
			if !strings.HasPrefix(f.Text, c.Name()+" ") {
				rt.Fatalf("found %q in %s", f.Text, c.Name())
			}
			if q.Before != 0 && f.Seq >= q.Before || seen[f.Seq] {
				rt.Fatalf("found %d, before %d", f.Seq, q.Before)
			}
			seen[f.Seq] = true
			sum := 0.0
			for _, p := range f.Parts {
				sum += p.Value
			}
			if math.Abs(sum-f.Score) > 1e-9 || !(f.Score > 0) {
				rt.Fatalf("parts %v: got sum %v, want %v", f.Parts, sum, f.Score)
			}
			if i > 0 && (found[i-1].Score < f.Score || found[i-1].Score == f.Score && found[i-1].Seq < f.Seq) {
				rt.Fatal("not sorted")
			}
		}
		if again := recallAll(t, c, q); !reflect.DeepEqual(found, again) {
			rt.Fatal("got another answer to the same question")
		}
	})
}

func FuzzRecall(f *testing.F) {
	c := talked(f, spoken(1, 0, "Ann", "tea in May"), spoken(2, 1, "Bob", "猫 and 7 dogs"), spoken(3, 100, "Ann", "What about the harbour?"))
	keep(f, c, "Ann", "Ann likes tea")
	for _, text := range []string{
		`"`, `'; DROP TABLE messages; --`, `NEAR(a b)`, `a* OR b`, `-tea`, `%`, `_`, "\x00", "\xff\xfe", `\`, "(((", "tea:", "^", "🙂", "",
		strings.Repeat("tea ", 1<<16), strings.Repeat("a", 1<<18), strings.Repeat("\u0301", 1<<16),
	} {
		f.Add(text, "Ann")
	}
	for _, trick := range wordstest.Tricks() { // FuzzTools has the forgeries
		f.Add(trick.Text, trick.Text)
	}
	f.Add("when did I see 猫 on 7.5.2023, 2023年5月7日, May 7th or two weeks ago", "Bob")
	f.Fuzz(func(t *testing.T, text, asker string) {
		found, err := memory.Of(c).Recall(ctx, memory.Question{Text: text, Asker: asker, Limit: 2})
		check.Require(t, err == nil && len(found) <= 2, "%d found, %v", len(found), err)
		searched(t, c, text, 5)
	})
}

var vocabularyOfTests = []string{"tea", "teas", "harbour", "Pepper", "猫", "勉強", "7", "May", "yesterday", "when", "Ann", "I", "weather?", "\"quoted\"", "the", "running", "x"}

// FuzzTools calls each tool with any arguments: it answers, or reports their errors, in valid text,
// and the database stays sound.
func FuzzTools(f *testing.F) {
	s := storetest.OpenStore(f, f.TempDir())
	c := find(f, s, "terminal:general")
	deliver(f, c, said(1, "the plum is ripe"), said(2, "so it is"), said(3, "when?"))
	tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 3 }, Budget: func() int { return 500 }})
	tools = append(tools, worker(f, c, 1, 2).Tools(20)...)
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
