package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/simulate"
	"cairn/store"
)

// TestRetentionFloor holds what is kept of invented conversations in English, German
// and Japanese, without a model, in a window that each outgrows several times.
func TestRetentionFloor(t *testing.T) {
	check.SkipUnderRace(t)
	all, err := readRecordings("testdata")
	must(t, err)
	window := frameOf(t) + 1700
	sum := keeping{Name: "all"}
	for _, r := range all {
		k, err := retain(t.Context(), r, window)
		must(t, err)
		sum.add(k)
		here := k.mean()
		t.Logf("%+v", here)
		check.That(t, here.Questions >= 8, "%s: only %d questions are about what left the window", r.name, here.Questions)
		if here.Context.Evidence < 0.31 || here.Memories.Evidence < 0.62 || here.Transcript.Evidence < 0.94 {
			t.Errorf("%s: too little was kept: %+v", r.name, here)
		}
	}
	k := sum.mean()
	t.Logf("%+v", k)
	for _, floor := range []struct {
		what        string
		is, atLeast float64
	}{
		{"context, answer", k.Context.Answer, 0.54},
		{"context, evidence", k.Context.Evidence, 0.49},
		{"with memory search, answer", k.Memories.Answer, 0.68},
		{"with memory search, evidence", k.Memories.Evidence, 0.69},
		{"with transcript search, answer", k.Transcript.Answer, 0.90},
		{"with transcript search, evidence", k.Transcript.Evidence, 0.97},
	} {
		check.That(t, floor.is >= floor.atLeast, "%s: %.2f, at least %.2f is wanted", floor.what, floor.is, floor.atLeast)
	}
}

// frameOf is what system prompt and tools cost.
func frameOf(t *testing.T) int {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Dir: t.TempDir()})
	must(t, err)
	defer db.Close()
	conv, err := db.Conversation(t.Context(), "bench:empty")
	must(t, err)
	now, err := channel.ReadContext(t.Context(), conv, channel.Agent{Model: llm.NewOffline(100_000), Policy: compactor.DefaultPolicy})
	must(t, err)
	return now.Parts.Frame
}

func TestAMessageIsToldByOneOfItsSentences(t *testing.T) {
	r := recording{said: []store.Inbound{
		{Author: "Ann", Text: "Wow! We sold grandfather's red tractor to the museum in Turin."},
		{Author: "Bob", Text: "We sold grandfather's red tractor to the museum in Turin."},
		{Author: "Ann", Text: "The museum. In Turin!"},
		{Author: "Ann", Text: "Nothing of the kind was ever told about our donkey."},
	}}
	tells := func(lines ...string) (told []int64) {
		v := &promptContent{recording: r, covered: simulate.NewTold(rarity(r), strings.Join(lines, "\n"))}
		for seq := int64(1); seq <= int64(len(r.said)); seq++ {
			if v.tells(seq) {
				told = append(told, seq)
			}
		}
		return told
	}
	for _, c := range []struct {
		claim string
		lines []string
		want  int
	}{
		{"word for word", []string{"8 May 2023:", "Ann: We sold grandfather's red tractor to the museum in Turin."}, 1},
		{"in other forms of the words, most of them", []string{"Ann: Selling the red tractor of grandfather to a museum"}, 1},
		{"not with half of the words", []string{"Ann: A red tractor in the museum"}, 0},
		{"not over two lines", []string{"Ann: We sold grandfather's tractor.", "Ann: The red one, to the museum in Turin."}, 0},
		{"not under another's name", []string{"Cleo: We sold grandfather's red tractor to the museum in Turin."}, 0},
	} {
		if got := tells(c.lines...); len(got) != c.want || c.want == 1 && got[0] != 1 {
			t.Errorf("%s: messages %v are told", c.claim, got)
		}
	}
}

func TestASlidingWindowHoldsTheNewestLines(t *testing.T) {
	r := recording{said: []store.Inbound{{Author: "Ann", Text: "tractor"}, {Author: "Bob", Text: "violin"}, {Author: "Ann", Text: "harbour"}}}
	v := &promptContent{recording: r}
	v.slide(2 * tokens.Estimate("Ann: harbour\n"))
	if v.slidingFirst != 2 || !v.slidingSaid["violin"] || v.slidingSaid["tractor"] {
		t.Errorf("from %d on: %v", v.slidingFirst, v.slidingSaid)
	}
	if v.slide(0); v.slidingFirst != 4 {
		t.Errorf("nothing fits, but %d", v.slidingFirst)
	}
}

func TestRetentionTellsWhatItMissed(t *testing.T) {
	check.SkipUnderRace(t)
	var said, asked strings.Builder
	for i := range 200 {
		line, err := json.Marshal(map[string]any{
			"id": string(rune('a'+i/26)) + string(rune('a'+i%26)), "time": "2026-01-02T10:00:00Z", "author": "Ann",
			"text": "Zzz " + strings.Repeat("hm hm hm ", 20),
		})
		must(t, err)
		said.Write(append(line, '\n'))
	}
	asked.WriteString(`{"question":"Where is the tractor?","answer":"Turin","evidence":["aa"],"category":4}
{"question":"Why?","evidence":["aa"],"category":5}
{"question":"What was said last?","answer":"hm","evidence":["hr"],"category":4}`)
	dir := leaveRecordings(t, map[string]string{"a.jsonl": said.String(), "a.qa.jsonl": asked.String()})
	var out, progress bytes.Buffer
	root := newRoot(&out, &progress)
	root.SetArgs([]string{"retention", dir, "--window", "8192", "--json"})
	if err := root.ExecuteContext(t.Context()); !errors.As(err, new(missed)) || exitCode(err) != exitMissed || !strings.Contains(err.Error(), "context, answer is 0.00, not 70.00") {
		t.Errorf("%v", err)
	}
	var result retained
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if len(result.Windows) != 1 || len(result.Targets) != 6 || result.Windows[0].All.Questions != 1 || result.Windows[0].Conversations[0].Name != "a" {
		t.Errorf("%+v", result)
	}
	if all := result.Windows[0].All; all.Context.Answer != 0 || math.IsNaN(all.Memories.Evidence) {
		t.Errorf("%+v", all)
	}
	for _, args := range [][]string{{"retention"}, {"retention", dir, "--window", "100"}, {"retention", dir, "--window", "many"}} {
		root := newRoot(&out, &progress)
		root.SetArgs(args)
		if err := root.ExecuteContext(t.Context()); exitCode(err) != exitUsage {
			t.Errorf("%q: %v", args, err)
		}
	}
	out.Reset()
	root = newRoot(&out, &progress)
	root.SetArgs([]string{"retention", dir, "--window", "4096"})
	if err := root.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), "4 096\n") {
		t.Errorf("without targets: %v\n%s", err, out.String())
	}
}
