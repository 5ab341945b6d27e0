package compactor_test

import (
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// A fold that followed a compaction does not stand in the way of its undo.
func TestUndoTakesFoldsAlong(t *testing.T) {
	slow(t)
	r := newRig(t, 6000, &llmtest.Model{Func: goodSummary})
	before := ""
	for range 3 {
		r.deliverMany(14, 100)
		before = r.render()
		r.applied()
	}
	rows := r.c.Status().Stack
	check.Len(t, "rows in the view", rows, 3)
	r.set(func(p *compactor.Policy) { p.StackBudget = 0.02 })
	r.waitIdle()
	check.Require(t, r.c.Status().Stack[0].Kind == compactor.Rollup, "got the stack %+v, want it folded", r.c.Status().Stack)
	r.set(func(p *compactor.Policy) { p.StackBudget = 0.40 })
	e := r.undo()
	check.That(t, e.Kind == compactor.Leaf && e.Trigger == compactor.OnManual && e.From == rows[2].From, "got %+v undone", e)
	check.Equal(t, "view", r.render(), before)
	r.renderAfterRestart()
}

func TestUndoCancelsWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 100_000, &llmtest.Model{Delay: time.Second, Func: goodSummary})
		r.chat(40)
		before := r.render()
		started, ended := r.want("")
		check.Equal(t, "state", started.State, compactor.EventStarted)
		e := r.undo()
		check.That(t, e.Stopped && e.From == started.From && e.To == started.To, "got %+v canceled", e)
		r.waitIdle()
		check.Contains(t, "outcome", r.wantOutcome(ended, compactor.EventFailed).Error, "stopped")
		check.Equal(t, "view", r.render(), before)
		check.Contains(t, "paused", r.c.Status().Paused, "was undone")
		r.refused("there is no summary to undo")
		r.renderAfterRestart()
		r.compactAndWait()
		check.Len(t, "summaries after another request", r.c.Status().Stack, 1)
	})
}

func TestUndoCancelsWhatIsScheduled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := repairing(t)
		_, ended := r.want("the prices")
		check.That(t, r.undo().Stopped, "the request was not canceled")
		check.Contains(t, "reason", r.wantOutcome(ended, compactor.EventNoop).Error, "canceled")
		r.waitIdle()
		check.Len(t, "summaries that people requested", r.rows(func(row compactor.Summary) bool { return row.Trigger == compactor.OnManual }), 0)
	})
}

// A level that is still reached does not start what was canceled again.
func TestCanceledSpanIsSpared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 8000, &llmtest.Model{Delay: time.Second, Func: goodSummary})
		r.policy.PrepareThreshold = 0
		r.notesUntil(100, func() bool { return r.c.Status().Running != nil })
		running := r.c.Status().Running
		check.Equal(t, "trigger", running.Trigger, compactor.OnBackground)
		check.That(t, r.undo().Stopped, "the running compaction was not canceled")
		r.waitIdle()
		check.Len(t, "summaries", r.c.Status().Stack, 0)
		r.notesUntil(20, func() bool { return r.share() >= 0.86 })
		r.waitIdle()
		check.That(t, len(r.c.Status().Stack) > 0, "the aggressive level summarizes nothing")
	})
}
