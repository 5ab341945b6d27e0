package main

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/memory"
	"cairn/simulate"
	"cairn/store"
	"cairn/testkit/check"
)

// Our own conversations hold recall where it is: what gets worse shows here. The
// floors are two questions below what is measured.
func TestRecallOfOurOwnConversations(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	result := check.Must(ask(t.Context(), silent, check.Must(readRecordings("testdata"))(t), embeddingServer{}))(t)
	q := result.All
	check.That(t, q.Questions >= 75 && q.At10 >= 0.92 && q.MRR >= 0.80, "recall@10 %.3f, MRR %.3f of %d questions", q.At10, q.MRR, q.Questions)
	check.That(t, result.Typos.At10 >= 0.88, "with a typo recall@10 is %.3f", result.Typos.At10)
	for _, q := range result.Conversations { // in each language
		check.That(t, q.At10 >= 0.88, "%s: recall@10 %.3f", q.Name, q.At10)
	}
}

// Where words are cut by pairs of characters recall is at least as good as BM25 over these
// pairs alone.
func TestRecallOfPairsOfCharacters(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	all := check.Must(readRecordings("testdata/pairs"))(t)
	own := check.Must(readRecordings("testdata"))(t)
	all = append(all, slices.DeleteFunc(own, func(r recording) bool { return r.name != "ryokou" })...)
	result := check.Must(ask(t.Context(), silent, all, embeddingServer{}))(t)
	check.Len(t, "conversations", result.Conversations, 2)
	for i, r := range all {
		plain := meanOf(askPlainly([]recording{r}))
		is := result.Conversations[i]
		check.That(t, is.MRR >= plain[mrr] && is.At5 >= plain[at5] && is.At10 >= plain[at10], "%+v, by pairs alone %+v", is, plain)
	}
}

func TestRecallTellsAMissedTarget(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	dir := leaveRecordings(t, map[string]string{
		"a.jsonl":    `{"id":"1","time":"2026-01-02T10:00:00Z","author":"Ann","text":"I moved to Turin"}`,
		"a.qa.jsonl": `{"question":"Where did Ann move?","evidence":["1"],"category":4}` + "\n" + `{"question":"Why?","evidence":["1"],"category":4}`,
	})
	r, err := ranAs[recalled](t, "recall", dir, "--rows", "2000")
	check.ErrorContains(t, "missed targets", err, "recall@10 is 50.00, not 77.00")
	check.That(t, r.All.At10 == 0.5 && r.All.MRR == 0.5 && len(r.Latency) == 2 && r.Latency[0].P50 > 0, "%+v", r)
}

func TestRecallOfSeveralSets(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	var dirs []string
	for _, place := range []string{"Turin", "Bergen"} {
		dirs = append(dirs, leaveRecordings(t, map[string]string{
			"a.jsonl":    `{"id":"1","time":"2026-01-02T10:00:00Z","author":"Ann","text":"We moved to ` + place + `"}`,
			"a.qa.jsonl": `{"question":"Who moved to Turin?","evidence":["1"],"category":4}` + "\n" + `{"question":"Turin","evidence":["1"],"category":4}`,
		}))
	}
	r, err := ranAs[recalled](t, "recall", dirs[0], dirs[1], "--rows", "2000")
	check.That(t, err == nil || strings.Contains(err.Error(), "ms is"), "got %v", err) // where other tests use the processors
	check.Require(t, len(r.Sets) == 2*int(measures), "%+v", r.Sets)
	for m, want := range measureNames {
		check.Equal(t, "in Turin", r.Sets[m], figure{filepath.Base(dirs[0]), 2, want, 1, 1, 1, 1})
		there := r.Sets[int(measures)+m]
		check.That(t, there.Cairn == 0.5 && there.Low == 0 && there.High == 1 && there.BM25 == 0.5, "in Bergen: %+v", there)
	}
	check.That(t, r.All.At10 == 1 && len(r.Conversations) == 1, "details of more than the first folder: %+v", r)
}

func TestQuality(t *testing.T) {
	var found []memory.Found
	for seq := range int64(20) {
		found = append(found, memory.Found{Message: chat.Message{Seq: seq + 1, Text: "x"}})
	}
	var q quality
	q.add([]int64{2, 8, 15, 99}, found) // places 2, 8 and 15; one was not found
	q.add([]int64{1}, found)
	q = q.mean()
	check.That(t, q.Questions == 2 && q.At5 == (0.25+1)/2 && q.At10 == (0.5+1)/2 && q.At20 == (0.75+1)/2 && q.MRR == (0.5+1)/2, "%+v", q)
	check.Equal(t, "tokens", q.Tokens, 10*float64(chat.TokensOf(found[0].Message)))
	var none quality
	none.add([]int64{1}, nil)
	none = none.mean()
	check.That(t, none.MRR == 0 && none.At20 == 0 && !math.IsNaN((quality{}).mean().At10), "%+v", none)
}

func TestMisspell(t *testing.T) {
	kinds := map[int]bool{}
	for _, text := range []string{
		"Where did Caroline adopt the greyhound?", "Which variety of beans did Ines sow?", "Wo macht Mirko Urlaub?", "Who plays the accordion?",
		"How heavy is the largest pumpkin?", "What colour is the velvet suit?", "Who offered us a greenhouse?", "Where is the old man moving?",
	} {
		wrong := misspell(text)
		check.That(t, wrong != text && wrong == misspell(text), "%q: %q", text, wrong)
		is := strings.Fields(wrong)
		was := strings.Fields(text)
		check.Require(t, len(is) == len(was), "%q: %q", text, wrong)
		changed := slices.DeleteFunc(was, func(w string) bool { return slices.Contains(is, w) })
		check.That(t, len(changed) == 1, "%q differs from %q in %q", wrong, text, changed)
		kinds[len(wrong)-len(text)] = true
	}
	check.That(t, len(kinds) == 3, "too few kinds of typos: %v", kinds)
	for _, text := range []string{"", "was it?", "the what"} {
		check.Equal(t, "misspelled", misspell(text), text)
	}
}

// TestRetentionFloor holds what is kept of invented conversations in English, German
// and Japanese, without a model, in a window that each outgrows several times.
func TestRetentionFloor(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	frame := frameOf(t)
	sum := keeping{Name: "all"}
	for _, r := range check.Must(readRecordings("testdata"))(t) {
		of := keeping{Name: r.name}
		for _, room := range []int{1600, 1700, 1800} { // one window alone gives figures that vary by ten points
			of.add(check.Must(retain(t.Context(), r, frame+room))(t))
		}
		sum.add(of)
		here := of.mean()
		check.That(t, here.Questions >= 8, "%s: only %d questions are about what left the window", r.name, here.Questions)
		check.That(t, here.Context.Evidence >= 0.31 && here.Memories.Evidence >= 0.54 && here.Transcript.Evidence >= 0.94, "%s: too little was kept: %+v", r.name, here)
	}
	k := sum.mean()
	check.That(t, k.Context.Answer >= 0.54 && k.Context.Evidence >= 0.49, "the context holds %+v", k.Context)
	check.That(t, k.Memories.Answer >= 0.61 && k.Memories.Evidence >= 0.64, "with memory search: %+v", k.Memories)
	check.That(t, k.Transcript.Answer >= 0.90 && k.Transcript.Evidence >= 0.97, "with transcript search: %+v", k.Transcript)
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
