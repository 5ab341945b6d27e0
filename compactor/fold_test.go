package compactor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/compactor"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/transcript"
)

// Summaries that a model wrote are folded without it by whole lines, under their headings and with
// their citations.
func TestFoldWithoutModelKeepsHeadingsAndCitations(t *testing.T) {
	slow(t)
	worker := &llmtest.Model{Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		first := 0
		if _, err := fmt.Sscanf(spanOf(req), "messages #%d to", &first); err != nil {
			return llm.Response{}, err
		}
		facts := ""
		for i := range 6 {
			facts += fmt.Sprintf("- %s (#%d).\n", filler(17+i), first)
		}
		return summary(fmt.Sprintf("## Decisions\n- Ada keeps the key of vault Zanzibar%[1]d in Lisbon since May 1987 (#%[2]d).\n## Facts\n%[3]s- The key in Lisbon was fine (#%[2]d).\n## Open questions\n- Who went on as before? (#%[2]d)",
			n, first, facts)), nil
	}}
	r := newRig(t, 4000, worker)
	r.policy.MaxTurns = 1
	made := func() int {
		return len(r.rows(func(row compactor.Summary) bool { return row.By == compactor.ByWorker }))
	}
	hear := func(n int, enough func() bool) {
		for i := 0; i < n && !enough(); i++ {
			r.deliverNotes(fmt.Sprintf("the key in Lisbon was fine since May 1987 and we went on as before %d %s", i, filler(30)))
			r.waitIdle()
		}
	}
	hear(600, func() bool { return made() >= 2 })
	var before []string
	for _, row := range r.rows(func(row compactor.Summary) bool { return row.By == compactor.ByWorker }) {
		_, text, _ := strings.Cut(row.Text, "\n")
		decision, _, _ := strings.Cut(text, "\n")
		before = append(before, decision)
	}
	check.Len(t, "summaries by the model", before, 2)
	r.quiet = true
	hear(150, func() bool { return made() == 0 })
	check.Require(t, made() < 2, "got no fold: %+v", r.c.Status().Stack)
	head := r.head()
	for _, decision := range before { // a guess of this model, and it stays one
		check.Contains(t, "head", head, "\n"+decision+" "+transcript.NoEvidence+"\n")
	}
	check.Contains(t, "head", head, "\n## Decisions\n", "\n## Open questions\n- Who went on as before? (#")
	check.Lacks(t, "head", head, "assistant:")
}

// A summary that was made for a larger window is folded alone: it has no neighbour.
func TestOnlySummaryFitsSmallerWindow(t *testing.T) {
	for name, worker := range map[string]*llmtest.Model{"with a model": {Func: fullSummary}, "without one": nil} {
		onClock(t, name, func(t *testing.T) {
			r := newRig(t, 20_000, worker)
			r.chat(60)
			r.compactAndWait()
			check.Len(t, "summaries", r.c.Status().Stack, 1)
			r.resize(3000)
			budget := func() int { return int(r.policy.StackBudget * 3000) }
			check.Require(t, r.c.Status().Stack[0].Cost() > budget(), "it fits before")
			for range 5 {
				r.c.Check(t.Context())
				r.waitIdle()
				time.Sleep(time.Hour)
			}
			rest := 0
			for _, row := range r.c.Status().Stack {
				rest += row.Cost()
			}
			check.Require(t, rest <= budget(), "got %d tokens, budget %d: %+v", rest, budget(), r.c.Status().Stack)
			check.NoError(t, r.check())
			acts := len(r.rows(func(compactor.Summary) bool { return true }))
			time.Sleep(24 * time.Hour)
			r.c.Check(t.Context())
			r.waitIdle()
			check.Len(t, "summaries made", r.rows(func(compactor.Summary) bool { return true }), acts)
		})
	}
}
