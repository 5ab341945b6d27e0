package compactor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm/llmtest"
	"cairn/memory"
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
	left := g.Verbatim - r.tokensOf(g.Prepared)
	check.That(t, left <= verbatim*2/10, "of %d tokens %d are left", verbatim, left)
	r.verify()
}

func TestUnaddressedTalkCallsNoModel(t *testing.T) {
	check.SkipUnderRace(t)
	r := ahead(t, 8000)
	r.quiet = true
	r.deliverAndWait(200, 40)
	r.restart() // which must not count as a message to the bot
	r.waitIdle()
	check.Equal(t, "model calls", len(r.worker.Requests()), 0)
	check.That(t, len(r.c.Status().Stack) > 2, "got too few summaries")
	for _, row := range r.c.Status().Stack {
		check.Equal(t, fmt.Sprintf("row %d", row.ID), row.By, compactor.ByExtractive)
	}
	r.talk("and what do you think?")
	for range 20 {
		r.waitIdle()
	}
	g := r.c.Status()
	for _, row := range g.Stack[max(len(g.Stack)-2, 0):] { // the text next to the question
		prepared := slices.ContainsFunc(g.Prepared, func(s compactor.Compaction) bool {
			return s.By == compactor.ByWorker && s.From <= row.From && row.To <= s.To
		})
		check.That(t, prepared || row.By == compactor.ByWorker || row.Kind != compactor.Leaf, "row %d: got summarizer %s although the bot was addressed", row.ID, row.By)
	}
	n := len(r.worker.Requests()) // not of the whole history
	check.That(t, n <= 6, "got %d model calls for one question", n)
	r.verify()
}

// Without a model no level is awaited: messages become memories soon, and once.
func TestExtractiveMemoriesAreSavedEarly(t *testing.T) {
	r := newRig(t, 128_000, nil)
	r.policy.PrepareThreshold = -1
	saved := func() (n int) {
		memories, _, err := memory.In(r.store).List(t.Context(), memory.Filter{Conversation: r.conv.Name()})
		check.NoError(t, err)
		for _, m := range memories {
			n += strings.Count(m.Content, "cargo bike")
		}
		return n
	}
	r.talk("My name is Ines and I live in Faro.")
	r.talk("I sold my motorcycle and bought a cargo bike.")
	for saved() == 0 {
		check.Require(t, r.share() <= 0.05, "got no memory at %.3f of the window", r.share())
		r.talk(fmt.Sprintf("question %d %s", len(r.said), filler(60)))
		r.waitIdle()
	}
	g := r.c.Status()
	check.Require(t, len(g.Stack) == 0 && len(g.Prepared) > 0, "got %d applied and %d prepared summaries, want 0 and 1", len(g.Stack), len(g.Prepared))
	r.resize(8_000) // now a level is reached
	r.talkUntilUsage(func() bool { return len(r.c.Status().Stack) > 0 })
	check.Equal(t, "start of the applied summary", r.c.Status().Stack[0].From, g.Prepared[0].From)
	check.Equal(t, "copies of the memory", saved(), 1)
	r.verify()
}

// The extractive summarizer does not wait for the models of other conversations.
func TestExtractiveSummarizerNeedsNoSlot(t *testing.T) {
	slots := make(chan struct{}, 1)
	slots <- struct{}{}
	r := tuned(t, 100_000, nil, func(o *compactor.Options) { o.Slots = slots })
	r.chat(40)
	check.Equal(t, "outcome", r.compact("").State, compactor.EventApplied)
}
