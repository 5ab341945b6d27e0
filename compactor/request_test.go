package compactor_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm/llmtest"
)

// refusal requests a compaction that does nothing, and returns the reason.
func (r *rig) refusal(trigger compactor.Trigger) string {
	r.t.Helper()
	e := r.c.Compact(trigger, "")
	check.That(r.t, e.State == compactor.EventNoop && e.ID == 0 && e.Error != "", "got %+v", e)
	return e.Error
}

func TestManualCompactionReplacesLevelCompaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		worker := &llmtest.Model{Delay: time.Second, Func: goodSummary}
		r := newRig(t, 100_000, worker)
		r.chat(150)
		r.resize(10_000) // now a level is reached, but not yet checked
		if e := r.c.Compact(compactor.OnManual, ""); e.State != compactor.EventStarted {
			t.Fatalf("got %+v", e)
		}
		r.c.Check(t.Context())
		r.waitIdle()
		if n := r.seen(compactor.EventApplied); n != 1 || len(worker.Requests()) > 3 {
			t.Errorf("%d applied compactions, %d requests", n, len(worker.Requests()))
		}
		r.verify()
	})
}

func TestModelCompactsOncePerTurn(t *testing.T) {
	r := newRig(t, 100_000, &llmtest.Model{Func: goodSummary})
	r.chat(30)
	r.talk("first")
	var events []compactor.Event
	r.hook = func() {
		for range 5 { // on every step
			events = append(events, r.c.Compact(compactor.OnSelf, "the prices"))
			check.NoError(t, r.c.Wait(context.Background()))
		}
	}
	r.talk("second")
	for i, e := range events {
		if i == 0 && e.State != compactor.EventStarted || i > 0 && (e.State != compactor.EventNoop || !strings.Contains(e.Error, "just compacted")) {
			t.Errorf("call %d: %+v", i+1, e)
		}
	}
	events = nil
	r.hook = nil
	r.chat(30)
	r.hook = func() { events = append(events, r.c.Compact(compactor.OnSelf, "")) }
	r.talk("third")
	check.Len(t, "outcome in the next turn", events, 1)
	check.Equal(t, "first outcome", events[0].State, compactor.EventStarted)
	r.waitIdle()
	r.verify()
}

func TestModelSeesFailureAndMayRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := true
		r := newRig(t, 100_000, &llmtest.Model{Func: goodUnless(func() bool { return fails })})
		r.chat(30)
		for range 2 {
			if e := r.c.Compact(compactor.OnSelf, ""); e.State != compactor.EventStarted {
				t.Fatalf("got %+v", e)
			}
			r.waitIdle()
			if f := r.c.Status().Failed; f.State != compactor.EventFailed || f.Trigger != compactor.OnSelf || !strings.Contains(f.Error, "overloaded") {
				t.Errorf("got status %+v", f)
			}
		}
		check.Contains(t, "refusal after two failures", r.refusal(compactor.OnSelf), "cooling down")
		check.Equal(t, "last failure", r.c.Status().Failed.State, compactor.EventFailed)
		fails = false
		if e := r.compact(""); e.State != compactor.EventApplied { // a person may
			t.Errorf("got %+v", e)
		}
		check.Equal(t, "last failure after an applied compaction", r.c.Status().Failed.State, "")
		r.verify()
	})
}
