package main

import (
	"fmt"
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
	t.Parallel()
	window := frameOf(t) + 1700
	sum := keeping{Name: "all"}
	for _, r := range check.Must(readRecordings("testdata"))(t) {
		k := check.Must(retain(t.Context(), r, window))(t)
		sum.add(k)
		here := k.mean()
		check.That(t, here.Questions >= 8, "%s: only %d questions are about what left the window", r.name, here.Questions)
		check.That(t, here.Context.Evidence >= 0.31 && here.Memories.Evidence >= 0.62 && here.Transcript.Evidence >= 0.94, "%s: too little was kept: %+v", r.name, here)
	}
	k := sum.mean()
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
	db := check.Must(store.Open(t.Context(), store.Options{Dir: t.TempDir()}))(t)
	defer db.Close()
	conv := check.Must(db.Conversation(t.Context(), "bench:empty"))(t)
	return check.Must(channel.ReadContext(t.Context(), conv, channel.Agent{Model: llm.NewOffline(100_000), Policy: compactor.DefaultPolicy}))(t).Parts.Frame
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
		check.EqualAll(t, c.claim+": told messages", tells(c.lines...), []int64{1}[:c.want])
	}
}

func TestASlidingWindowHoldsTheNewestLines(t *testing.T) {
	r := recording{said: []store.Inbound{{Author: "Ann", Text: "tractor"}, {Author: "Bob", Text: "violin"}, {Author: "Ann", Text: "harbour"}}}
	v := &promptContent{recording: r}
	v.slide(2 * tokens.Estimate("Ann: harbour\n"))
	check.That(t, v.slidingFirst == 2 && v.slidingSaid["violin"] && !v.slidingSaid["tractor"], "from %d on: %v", v.slidingFirst, v.slidingSaid)
	v.slide(0)
	check.Equal(t, "where nothing fits", v.slidingFirst, 4)
}

func TestRetentionTellsWhatItMissed(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	var said strings.Builder
	for i := range 200 {
		fmt.Fprintf(&said, `{"id":"%c%c","time":"2026-01-02T10:00:00Z","author":"Ann","text":"Zzz %s"}`+"\n", 'a'+i/26, 'a'+i%26, strings.Repeat("hm hm hm ", 20))
	}
	dir := leaveRecordings(t, map[string]string{"a.jsonl": said.String(), "a.qa.jsonl": `{"question":"Where is the tractor?","answer":"Turin","evidence":["aa"],"category":4}
{"question":"Why?","evidence":["aa"],"category":5}
{"question":"What was said last?","answer":"hm","evidence":["hr"],"category":4}`})
	result, err := ranAs[retained](t, "retention", dir, "--window", "8192")
	check.Equal(t, "exit code", exitCode(err), exitMissed)
	check.ErrorContains(t, "missed targets", err, "context, answer is 0.00, not 70.00")
	check.Len(t, "windows", result.Windows, 1)
	check.Len(t, "targets", result.Targets, 6)
	all := result.Windows[0].All
	check.That(t, all.Questions == 1 && all.Context.Answer == 0 && !math.IsNaN(all.Memories.Evidence), "%+v", all)
	check.Equal(t, "name", result.Windows[0].Conversations[0].Name, "a")
	out, err := ran(t, "retention", dir, "--window", "4096")
	check.NoError(t, err) // this window has no targets
	check.Contains(t, "the report", out, "4 096\n")
}
