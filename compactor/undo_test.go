package compactor_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm/llmtest"
)

// undo undoes the latest compaction, and fails if that is refused.
func (r *rig) undo() compactor.Event {
	r.t.Helper()
	e, err := r.c.Undo(r.t.Context())
	check.Require(r.t, err == nil && e.State == compactor.EventUndone, "undo: %+v, %v", e, err)
	check.Equal(r.t, "event", e.AfterTokens, r.c.Status().Used)
	r.verify()
	return e
}

// refused fails unless undo is refused with a reason that contains want.
func (r *rig) refused(want string) {
	r.t.Helper()
	before := r.render()
	e, err := r.c.Undo(r.t.Context())
	check.NoError(r.t, err)
	check.Equal(r.t, fmt.Sprintf("undo: %+v e.State", e), e.State, compactor.EventNoop)
	check.Contains(r.t, fmt.Sprintf("undo: %+v e.Error", e), e.Error, want)
	check.Equal(r.t, "a refused undo changed the view", r.render(), before)
}

// applied summarizes the old messages, and waits until the summary is applied.
func (r *rig) applied() {
	r.t.Helper()
	applied := r.seen(compactor.EventApplied)
	if e := r.c.Compact(compactor.OnManual, ""); e.State != compactor.EventStarted {
		r.t.Fatalf("compact: %+v", e)
	}
	check.NoError(r.t, r.c.Wait(r.t.Context()))
	check.Require(r.t, r.seen(compactor.EventApplied) != applied, "got no applied summary")
}

func TestUndoRestoresEarlierPrompt(t *testing.T) {
	check.SkipUnderRace(t)
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprintf("after a restart %v", restarts), func(t *testing.T) {
			r := newRig(t, 16_000, &llmtest.Model{Func: goodSummary})
			r.policy.KeepLastN = 2
			var views []string
			var used []int
			for round := range 3 {
				for i := range 5 {
					r.talk(fmt.Sprintf("question %d of round %d? %s", i, round, filler(30)), "RESULT "+filler(150), "short one")
					r.deliverNotes(fmt.Sprintf("note %d of round %d %s", i, round, filler(20)))
				}
				view, contexts := withoutContexts(r.render())
				views, used = append(views, view), append(used, r.c.Status().Used-contexts)
				r.applied()
				check.Require(t, r.render() != views[round], "the compaction changed nothing: the test proves nothing")
			}
			for round := 2; round >= 0; round-- {
				if restarts {
					r.restart()
				}
				if e := r.undo(); e.BeforeTokens >= e.AfterTokens {
					t.Errorf("from %d to %d tokens", e.BeforeTokens, e.AfterTokens)
				}
				// The earlier rounds' views are prefixes: newer messages follow them.
				view := strings.TrimRight(r.render(), "\n")
				want := strings.TrimRight(views[round], "\n")
				check.That(t, (round != 2 || view == want) && strings.HasPrefix(view, want),
					"round %d: before the compaction\n%s\n--- after it was undone\n%s", round, want, view)
				if round == 2 && r.c.Status().Used != used[round] {
					t.Errorf("got %d tokens used, want %d", r.c.Status().Used, used[round])
				}
				r.renderAfterRestart()
			}
			r.refused("nothing was summarized")
		})
	}
}

func TestUndoIsRefused(t *testing.T) {
	check.SkipUnderRace(t)
	t.Run("an undo that would reach the aggressive level is refused with numbers", func(t *testing.T) {
		r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
		r.deliverMany(30, 100)
		r.applied()
		r.notesUntil(100, func() bool { return r.share() >= 0.75 })
		r.refused("of 8000 tokens would be used then, and from 6800 on")
	})
	t.Run("an undo just below the level is accepted", func(t *testing.T) {
		r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
		r.policy.BackgroundThreshold = 0.84
		r.notesUntil(20, func() bool { return r.c.Status().Used >= 8000*84/100-60 })
		r.applied()
		r.undo()
		r.waitIdle()
	})
	t.Run("an undo after a change is refused with a reason", func(t *testing.T) {
		r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
		r.deliverMany(30, 50)
		r.applied()
		r.edit(3, "something else")
		r.refused("changed since")
	})
}

// Workers' summaries are applied and undone concurrently, in a turn and between turns.
func TestUndoWhileSummariesAreApplied(t *testing.T) {
	r := newRig(t, 6000, &llmtest.Model{Func: goodSummary})
	undone := 0
	try := func() {
		e, err := r.c.Undo(t.Context())
		check.NoError(t, err)
		if e.State == compactor.EventUndone {
			undone++
		}
	}
	r.hook = try
	for i := range 120 {
		if i%4 == 0 {
			r.talk(fmt.Sprintf("question %d?", i), "RESULT "+filler(100))
		} else {
			r.deliverNotes(fmt.Sprintf("note %d %s", i, filler(40)))
			try()
		}
		if i%5 == 0 {
			r.c.Compact(compactor.OnManual, "")
		}
		if i%20 == 0 { // on a busy machine each would be undone before it is applied
			r.waitIdle()
		}
	}
	r.waitIdle()
	check.That(t, undone >= 3, "got %d undone compactions: the test proves little", undone)
	r.verify()
	r.renderAfterRestart()
}
