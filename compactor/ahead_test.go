package compactor_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm/llmtest"
)

// ahead returns a rig that prepares summaries.
func ahead(t *testing.T, window int) *rig {
	r := newRig(t, window, &llmtest.Model{Func: goodSummary})
	r.policy.PrepareThreshold = -1
	return r
}

// share returns the used share of the window.
func (r *rig) share() float64 {
	g := r.c.Status()
	return float64(g.Used) / float64(g.Window)
}

// inheritFromChannel returns the text above the verbatim messages.
func (r *rig) inheritFromChannel() string {
	head, _, _ := strings.Cut(r.render(), "</kept>")
	return head
}

func TestPreparedSummariesApplyAtLevel(t *testing.T) {
	r := ahead(t, 10_000)
	fill := func(share float64) {
		for i := 0; r.share() < share; i++ {
			r.talk(fmt.Sprintf("question %d %s", len(r.said), filler(60)))
			r.waitIdle()
			if n := len(r.c.Status().Stack); n != 0 {
				t.Fatalf("got %d applied summaries at %.3f of the window, want none", n, r.share())
			}
		}
	}
	fill(0.59)
	if n := len(r.c.Status().Prepared); n != 0 {
		t.Fatalf("got %d summaries below prepare_threshold, want none", n)
	}
	fill(0.78)
	g := r.c.Status()
	if len(g.Prepared) < 2 {
		t.Fatalf("got %d prepared summaries at %.3f of the window", len(g.Prepared), r.share())
	}
	for i, row := range g.Prepared {
		if i > 0 && row.From != g.Prepared[i-1].To+1 {
			t.Errorf("got #%d to #%d after #%d to #%d", row.From, row.To, g.Prepared[i-1].From, g.Prepared[i-1].To)
		}
	}
	r.talkUntilUsage(func() bool { return len(r.c.Status().Stack) > 0 })
	if after := r.c.Status(); float64(after.Verbatim) > 0.7*float64(g.Verbatim) {
		t.Errorf("got %d verbatim tokens of %d", after.Verbatim, g.Verbatim)
	}
	r.verify()
}

// The prepared summaries free less than the level demands: the worker summarizes the rest.
func TestLevelSummarizesBeyondPrepared(t *testing.T) {
	check.SkipUnderRace(t)
	r := ahead(t, 10_000)
	r.policy.BackgroundFraction = 0.9
	r.policy.KeepLastN = 0
	r.talkUntilUsage(func() bool { return len(r.c.Status().Prepared) > 0 })
	r.set(func(p *compactor.Policy) { p.PrepareThreshold = 0.799 }) // no more of it
	verbatim := 0
	for len(r.c.Status().Stack) == 0 {
		verbatim = r.c.Status().Verbatim
		r.talk(fmt.Sprintf("question %d %s", len(r.said), filler(60)))
		r.waitIdle()
	}
	g := r.c.Status()
	if left := g.Verbatim - r.tokensOf(g.Prepared); left > verbatim*2/10 {
		t.Errorf("of %d tokens %d are left", verbatim, left)
	}
	r.verify()
}

func TestUnaddressedTalkCallsNoModel(t *testing.T) {
	check.SkipUnderRace(t)
	r := ahead(t, 8000)
	r.quiet = true
	r.deliverAndWait(300, 40)
	check.Equal(t, "model calls", len(r.worker.Requests()), 0)
	for _, row := range r.c.Status().Stack {
		check.Equal(t, fmt.Sprintf("row %d", row.ID), row.By, compactor.ByExtractive)
	}
	r.restart() // which must not count as a message to the bot
	r.waitIdle()
	check.Equal(t, "model calls after a restart", len(r.worker.Requests()), 0)
	r.talk("and what do you think?")
	for range 20 {
		r.waitIdle()
	}
	stack := r.c.Status().Stack
	for _, row := range stack[max(len(stack)-2, 0):] { // the text next to the question
		repaired := row.By == compactor.ByWorker
		for _, s := range r.c.Status().Prepared {
			repaired = repaired || s.By == compactor.ByWorker && s.From <= row.From && row.To <= s.To
		}
		if !repaired && row.Kind == compactor.Leaf {
			t.Errorf("row %d: got summarizer %s although the bot was addressed", row.ID, row.By)
		}
	}
	if n := len(r.worker.Requests()); n > 6 { // not the whole history
		t.Errorf("got %d model calls for one question", n)
	}
	r.verify()
}
