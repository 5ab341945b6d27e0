package compactor_test

import (
	"testing"
	"time"

	"cairn/internal/check"

	"cairn/compactor"
	"cairn/llm/llmtest"
)

// A level's demand in one session does not carry over to the next.
func TestNewSessionHasNoTokenDeficit(t *testing.T) {
	r := ahead(t, 10_000)
	r.policy.BackgroundFraction, r.policy.KeepLastN = 0.9, 0
	r.prepared(2)
	r.quiet = true
	for len(r.c.Status().Stack) == 0 {
		r.hearNotes(1)
		check.NoError(t, r.c.Wait(t.Context()))
	}
	r.startSession()
	r.hearNotes(8)
	r.talk("do you hear?")
	r.waitIdle()
	g := r.c.Status()
	for _, row := range append(g.Prepared, g.Stack...) {
		if row.From >= r.start() {
			t.Errorf("at %.2f of the window: got a %s on %s by %s over #%d to #%d", r.share(), row.Kind, row.Trigger, row.By, row.From, row.To)
		}
	}
}

// Whether somebody has spoken to the bot since its last summary is the same after a restart,
// regardless of folds.
func TestRollupDoesNotCountAsSilence(t *testing.T) {
	r := newRig(t, 20_000, wordyWorker(filler(100)))
	r.policy.KeepLastN = 1
	for range 4 {
		r.hearNotes(20)
		r.applied()
	}
	r.quiet = true // from here on the messages count
	r.talk("do you hear?")
	time.Sleep(5 * time.Millisecond)
	r.set(func(p *compactor.Policy) { p.StackBudget = 0.02 })
	r.waitIdle()
	if rows := r.c.Status().Stack; rows[0].Kind != compactor.Rollup {
		t.Fatalf("got no fold: %+v", rows)
	}
	r.lastSpoken()
}

// lastSpoken fails unless somebody has spoken to the bot since its last summary.
func (r *rig) lastSpoken() {
	r.t.Helper()
	for _, when := range []string{"before", "after"} {
		if !r.c.Spoken() {
			r.t.Errorf("%s a restart: got no message to the bot", when)
		}
		r.restart()
	}
}

func TestEarlierSessionSummaryDoesNotCountAsSilence(t *testing.T) {
	release := make(chan struct{})
	r := newRig(t, 20_000, held(release, summarizeNotes))
	r.hearNotes(20)
	r.c.Compact(compactor.OnManual, "")
	r.startSession()
	r.quiet = true
	r.talk("do you hear?")
	time.Sleep(5 * time.Millisecond)
	close(release)
	r.waitIdle()
	r.lastSpoken()
}

func TestUnansweredMessageCountsAsSpoken(t *testing.T) {
	r := newRig(t, 20_000, &llmtest.Model{Func: summarizeNotes})
	r.hearNotes(20)
	r.quiet = true
	r.deliver("do you hear?", true)
	time.Sleep(5 * time.Millisecond)
	r.applied()
	r.lastSpoken()
}
