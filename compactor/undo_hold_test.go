package compactor_test

import (
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm/llmtest"
)

func TestUndoneSpanIsKeptUntilAggressive(t *testing.T) {
	check.SkipUnderRace(t)
	fill := func(r *rig, share float64) { r.notesUntil(20, func() bool { return r.share() >= share }) }
	start := func(t *testing.T) *rig {
		r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
		fill(r, 0.70)
		r.applied()
		r.undo()
		return r
	}
	t.Run("the background level does not summarize it, and the status says why", func(t *testing.T) {
		r := start(t)
		for range 2 {
			fill(r, 0.82)
			r.waitIdle()
			if n := len(r.c.Status().Stack); n != 0 {
				t.Fatalf("got %d rows in the view at %d tokens", n, r.c.Status().Used)
			}
			check.Contains(t, "paused", r.c.Status().Paused, "was undone")
			r.restart()
		}
		fill(r, 0.851)
		r.waitIdle()
		g := r.c.Status()
		check.That(t, len(g.Stack) != 0 && g.Used < 8000*80/100 && g.Paused == "",
			"aggressive: got %d rows and %d tokens, paused %q", len(g.Stack), g.Used, g.Paused)
		r.verify()
	})
	t.Run("compact_at_tokens does not summarize it", func(t *testing.T) {
		r := start(t)
		r.policy.CompactAtTokens = 2000
		r.waitIdle()
		check.Equal(t, "rows in the view", len(r.c.Status().Stack), 0)
	})
	t.Run("the model's request does not summarize it", func(t *testing.T) {
		r := start(t)
		e := r.c.Compact(compactor.OnSelf, "")
		check.Equal(t, "outcome of the model's request", e.State, compactor.EventNoop)
		check.Contains(t, "error of the model's request", e.Error, "was undone")
	})
	t.Run("a person's request summarizes it", func(t *testing.T) {
		r := start(t)
		r.applied()
		check.Equal(t, "rows in the view", len(r.c.Status().Stack), 1)
	})
	t.Run("a restored placeholder is repaired only after a request", func(t *testing.T) {
		r := newRig(t, 8000, nil)
		r.policy.Enabled = false
		fill(r, 0.94)
		r.notesUntil(20, func() bool { return r.seen(compactor.EventApplied) > 0 })
		r.waitIdle() // the extractive summarizer repairs it
		if g := r.c.Status(); len(g.Stack) != 1 || g.Stack[0].Kind != compactor.Leaf {
			t.Fatalf("got stack %+v", g.Stack)
		}
		r.undo()
		r.waitIdle()
		check.Equal(t, "kind", r.c.Status().Stack[0].Kind, compactor.Placeholder)
		r.policy.KeepLastN, r.policy.TailTokens = 500, 200_000 // nothing else is old enough
		r.compactAndWait()
		if kind := r.c.Status().Stack[0].Kind; kind == compactor.Placeholder {
			t.Error("got a placeholder after a request")
		}
		r.verify()
	})
}

// A prepared repair of an undone summary is dropped: it is neither listed as prepared nor counted
// on.
func TestPreparedSummaryOfUndoneSpanIsDropped(t *testing.T) {
	check.SkipUnderRace(t)
	r := ahead(t, 10_000)
	r.policy.BackgroundThreshold, r.policy.BackgroundFraction = 0.5, 0.7
	r.quiet = true
	r.notesUntil(60, func() bool { r.waitIdle(); return len(r.c.Status().Stack) > 0 })
	r.talk("do you hear?")
	r.waitIdle()
	if rows := r.c.Status().Prepared; len(rows) == 0 || rows[0].Trigger != compactor.OnRepair {
		t.Fatalf("got prepared %+v", rows)
	}
	r.undo()
	if rows := r.c.Status().Prepared; len(rows) > 0 {
		t.Errorf("got prepared %+v", rows)
	}
	r.restart()
	if rows := r.c.Status().Prepared; len(rows) > 0 {
		t.Errorf("after a restart: got prepared %+v", rows)
	}
	r.applied()
	if n := len(r.c.Status().Stack); n == 0 {
		t.Error("got no new summary")
	}
	r.verify()
	r.renderAfterRestart()
}
