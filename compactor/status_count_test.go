package compactor_test

import (
	"context"
	"fmt"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm/llmtest"
)

func TestProviderCountAnchorsUsage(t *testing.T) {
	ctx := context.Background()
	const surplus = 900 // what the provider counted beyond the estimate
	changes := map[string]func(*rig){
		"a landing": func(r *rig) {
			r.c.Compact(compactor.OnManual, "")
			if err := r.c.Wait(ctx); err != nil || r.seen(compactor.EventApplied) != 1 {
				r.t.Fatalf("nothing applied, %v", err)
			}
		},
		"an edit":           func(r *rig) { r.edit(3, "edited "+filler(50)); r.c.Check(ctx) },
		"a deletion":        func(r *rig) { r.remove(3); r.c.Check(ctx) },
		"an emergency":      func(r *rig) { r.c.Overflow(ctx) },
		"a turn begun anew": func(r *rig) { r.c.History().Truncate(r.c.History().Next() - 1) },
	}
	estimated := func(r *rig) int { // the view's estimate times the learned factor
		r.t.Helper()
		return int(1.3*float64(r.estimate(r.request()))) + 200 // roles and separators
	}
	for name, change := range changes {
		t.Run(name+" ends it", func(t *testing.T) {
			r := openTurn(t, &llmtest.Model{Func: goodSummary})
			n := prompt(r)
			report(r, n+surplus)
			counted := prompt(r)
			change(r)
			if got := prompt(r); got >= counted || got > estimated(r) {
				t.Errorf("got %d tokens, counted %d before, estimated %d", got, counted, estimated(r))
			}
		})
		t.Run(name+" while the model answers: the count comes too late", func(t *testing.T) {
			r := openTurn(t, &llmtest.Model{Func: goodSummary})
			n := prompt(r)
			change(r)
			report(r, n+surplus)
			if got := prompt(r); got == n+surplus || got > estimated(r) {
				t.Errorf("%d tokens, %d were counted of what is no longer shown, estimated %d", got, n+surplus, estimated(r))
			}
		})
	}
}

// TestSettingsChangeKeepsCount: a setting changes the shown number by the difference of two
// estimates, like added messages; so a restart, which reads the count from disk, shows the same
// number.
func TestSettingsChangeKeepsCount(t *testing.T) {
	less := func(r *rig) { // room, so that a large message is clipped to fewer tokens
		r.resize(12_000)
		r.c.Check(context.Background())
	}
	t.Run("during a turn", func(t *testing.T) {
		r := newRig(t, 20_000, nil)
		asks(r, "and this? "+filler(9000))
		report(r, prompt(r)+900)
		counted, estimate := prompt(r), r.estimate(r.request())
		less(r)
		smaller := r.estimate(r.request()) - estimate
		if got := prompt(r) - counted; smaller >= 0 || got > smaller*9/10 || got < smaller*2 {
			t.Errorf("got a status change of %d tokens, view change estimated at %d", got, smaller)
		}
	})
	t.Run("removed messages do not raise the count", func(t *testing.T) {
		const size = 0.6 // of a token, which is not learned yet
		r := newRig(t, 20_000, nil)
		asks(r, "and this? "+filler(9000))
		report(r, int(size*float64(prompt(r))))
		counted := prompt(r)
		less(r)
		if got, real := prompt(r), int(size*float64(r.estimate(r.request()))); got < real || got > counted {
			t.Errorf("got %d tokens of %d, view %d", got, counted, real)
		}
	})
	t.Run("after a restart", func(t *testing.T) {
		r := newRig(t, 20_000, nil)
		r.size = 1.4
		for i := range 8 {
			r.talk(fmt.Sprintf("question %d %s", i, filler(50)))
		}
		r.talk("and this? " + filler(9000))
		less(r)
		before := r.c.Status().Used
		r.restart()
		check.Equal(t, "tokens used after the restart", r.c.Status().Used, before)
	})
}

func TestCountSurvivesRestart(t *testing.T) {
	finished := func() *rig {
		r := newRig(t, 20_000, &llmtest.Model{Func: goodSummary})
		r.size = 1.4
		for i := range 8 {
			r.talk(fmt.Sprintf("question %d %s", i, filler(50)))
		}
		return r
	}
	t.Run("the status is unchanged", func(t *testing.T) {
		r := finished()
		r.deliverNotes("one more")
		before := r.c.Status().Used
		if r.c.Count().Prompt == 0 {
			t.Fatal("got no count")
		}
		r.restart()
		check.Equal(t, "tokens used after the restart", r.c.Status().Used, before)
	})
	t.Run("not after a change of the head", func(t *testing.T) {
		r := finished()
		r.compactAndWait()
		r.restart()
		check.Equal(t, "counted prompt", r.c.Count().Prompt, 0)
	})
	t.Run("not after an edit", func(t *testing.T) {
		r := finished()
		r.edit(1, "edited")
		r.restart()
		check.Equal(t, "counted prompt", r.c.Count().Prompt, 0)
	})
	t.Run("not for another model", func(t *testing.T) {
		r := finished()
		r.close()
		r.model = "another"
		r.open()
		check.Equal(t, "counted prompt", r.c.Count().Prompt, 0)
	})
}
