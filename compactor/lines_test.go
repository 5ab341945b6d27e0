package compactor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/transcript"
)

const (
	rightLine = "- Ada wrote word after word in note-3 (#4)."
	wrongLine = "- Ada wrote word after word in note-9000 (#4)."
)

// handsIn returns a model that hands in one text after the other, the last one again and again; in text, if tools is false.
func handsIn(tools bool, texts ...string) *llmtest.Model {
	return &llmtest.Model{Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		text := texts[min(n, len(texts))-1]
		if !tools {
			return withoutTools(text)(context.Background(), n, req)
		}
		return summary(text), nil
	}}
}

func TestContradictedLinesAreSentBackOnceAndThenDropped(t *testing.T) {
	both := "## Facts\n" + rightLine + "\n" + wrongLine
	for name, c := range map[string]struct {
		tools    bool
		turns    int
		texts    []string
		requests int
		want     string
		dropped  int
	}{
		"a corrected summary is applied as it is": {true, 6, []string{both, rightLine}, 2, rightLine, 0},
		"a model that insists loses the line":     {true, 6, []string{both}, 2, "## Facts\n" + rightLine, 1},
		"without a second call the line is lost":  {true, 1, []string{both}, 1, "## Facts\n" + rightLine, 1},
		"a second summary that says nothing":      {true, 2, []string{both, "Okay."}, 2, "## Facts\n" + rightLine, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 100_000, handsIn(c.tools, c.texts...))
			r.set(func(p *compactor.Policy) {
				p.MaxTurns = c.turns
				p.ExtractMemories = false
			})
			r.chat(40)
			e := r.compact("")
			check.Require(t, e.State == compactor.EventApplied, "got %+v", e)
			check.Equal(t, "summary", e.Summary, c.want)
			check.Equal(t, "dropped lines", e.Set[0].Dropped, c.dropped)
			requests := r.worker.Requests()
			check.Equal(t, "requests", len(requests), c.requests)
			if c.requests > 1 {
				last := requests[1].Messages
				check.Contains(t, "what the model reads", fmt.Sprint(last), "note-9000", "#4 has")
			}
		})
	}
}

func TestTextWithContradictedLinesIsRetriedWithTheReasons(t *testing.T) {
	both := rightLine + "\n" + wrongLine
	r := newRig(t, 100_000, handsIn(false, both))
	r.set(func(p *compactor.Policy) { p.ExtractMemories = false })
	r.chat(40)
	e := r.compact("")
	check.Require(t, e.State == compactor.EventApplied, "got %+v", e)
	check.Equal(t, "summary", e.Summary, rightLine)
	check.Equal(t, "dropped lines", e.Set[0].Dropped, 1)
	check.Equal(t, "the dropped line, and why", fmt.Sprint(e.Set[0].DroppedLines), `["Ada wrote word after word in note-9000 (#4).": #4 has 3, not 9000]`)
	asked := r.worker.Requests()
	check.Contains(t, "the last request", fmt.Sprint(asked[len(asked)-1].Messages), "contradict", "note-9000")
}

func TestLineWithoutEvidenceDoesNotSupportTheNextSummary(t *testing.T) {
	unseen := "- Ada wrote word after word for Wilhelmina."
	second := "- Ada wrote word after word in note-39 (#40)."
	r := newRig(t, 100_000, handsIn(true, rightLine+"\n"+unseen, second+"\n"+unseen))
	r.set(func(p *compactor.Policy) { p.ExtractMemories = false })
	for range 2 {
		r.chat(40)
		e := r.compact("")
		check.Require(t, e.State == compactor.EventApplied, "got %+v", e)
		check.Contains(t, "the summary as it is shown", e.Summary, unseen+" [no evidence]")
	}
}

// The worker reads the summary before its span for reference, and small models repeat lines of it.
func TestLineOfTheSummaryBefore(t *testing.T) {
	const barn, second = "- Wilhelmina restores barn doors.", "- Ada wrote word after word in note-39"
	r := newRig(t, 100_000, handsIn(true, rightLine+"\n"+barn, second+"\n"+barn))
	r.set(func(p *compactor.Policy) { p.ExtractMemories = false })
	seq := r.deliver("Wilhelmina restores barn doors.", false).Seq
	var rows []compactor.Summary
	for range 2 {
		r.chat(40)
		e := r.compact("")
		check.Require(t, e.State == compactor.EventApplied, "got %+v", e)
		rows = append(rows, e.Set...)
	}
	check.Require(t, len(rows) == 2 && len(rows[1].Lines) == 2, "got %+v", rows)
	check.Equal(t, "the line rests on", fmt.Sprintf("%+v", rows[1].Lines[1]),
		fmt.Sprintf("%+v", transcript.Line{At: 1, Seqs: []int64{seq}, Beside: true, Earlier: rows[0].ID}))
	check.Lacks(t, "prompt", r.render(), barn+" "+transcript.NoEvidence)
	e := check.Must(r.c.Rewrite(t.Context(), rows[1].ID, 2, "She moved on"))(t)
	check.Equal(t, "rewritten", e.Summary, second+"\n- She moved on")
}

// A focus is an instruction: it is no evidence that anybody said anything.
func TestFocusIsNoEvidence(t *testing.T) {
	line := "- Ada wrote word after word for Wilhelmina in note-3 (#4)."
	r := newRig(t, 100_000, handsIn(true, line))
	r.chat(40)
	e := r.compact("what Wilhelmina needs")
	check.Require(t, e.State == compactor.EventApplied, "got %+v", e)
	check.Equal(t, "summary", e.Summary, line+" [no evidence]")
	check.Len(t, "lines", e.Set[0].Lines, 1)
	check.Equal(t, "has evidence", e.Set[0].Lines[0].HasEvidence(), false)
}

func TestRecapIsJudged(t *testing.T) {
	worker := &llmtest.Model{Func: goodSummary}
	r := newRig(t, 100_000, worker)
	r.chat(40)
	worker.Func = answers(llmtest.Say(strings.Join([]string{rightLine, wrongLine, "- They talked of Wilhelmina, and wrote note-5."}, "\n")), nil)
	recap := check.Must(r.c.Recap(t.Context(), "Wilhelmina"))(t)
	check.Equal(t, "recap", recap, compactor.Recap{Text: rightLine + "\n- They talked of Wilhelmina, and wrote note-5. [no evidence]", By: compactor.ByWorker})
}

func TestExtractsAreTheirOwnEvidence(t *testing.T) {
	r := newRig(t, 100_000, nil)
	r.chat(40)
	e := r.compact("")
	check.Require(t, e.State == compactor.EventApplied && e.By == compactor.ByExtractive, "got %+v", e)
	check.Equal(t, "dropped lines", e.Set[0].Dropped, 0)
	check.That(t, len(e.Set[0].Lines) > 0, "no line is known: %+v", e.Set[0])
	for _, l := range e.Set[0].Lines {
		check.That(t, l.HasEvidence(), "a line has no evidence: %+v of %q", l, e.Summary)
	}
}
