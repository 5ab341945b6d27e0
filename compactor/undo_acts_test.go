package compactor_test

import (
	"context"
	"strings"
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
		check.Contains(t, "outcome", r.wantOutcome(ended, compactor.EventNoop).Error, "canceled")
		check.Equal(t, "failure", r.c.Status().Failed.Error, "")
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
		check.That(t, r.last(compactor.EventUndone).Trigger == compactor.OnManual, "got the event %+v", r.last(compactor.EventUndone))
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

// A fold that follows another fold is no act, so it is not what an undo cancels.
func TestUndoCancelsNoFoldAfterAFold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 6000, &llmtest.Model{Delay: time.Second, Func: goodSummary})
		for range 4 {
			r.deliverMany(10, 100)
			r.applied()
		}
		rows := r.c.Status().Stack
		folds := func() int {
			return len(r.which(func(e compactor.Event) bool {
				return e.State == compactor.EventStarted && e.Trigger == compactor.OnRollup
			}))
		}
		r.set(func(p *compactor.Policy) { p.StackBudget = 0.02; p.RollupFanIn = 2 })
		r.c.Speak()
		r.c.Check(t.Context())
		for range 600 {
			if folds() == 2 {
				break
			}
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		running := r.c.Status().Running
		check.Require(t, running != nil && running.Kind == compactor.Rollup, "got %+v running, want the second fold", running)
		r.set(func(p *compactor.Policy) { p.StackBudget = 0.40 })
		e := r.undo()
		check.That(t, !e.Stopped && e.Kind == compactor.Leaf && e.From == rows[3].From, "got %+v undone", e)
		r.waitIdle()
	})
}

// Who undoes twice in a row does not cancel the same compaction twice.
func TestUndoAfterACancelUndoesWhatIsApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 100_000, &llmtest.Model{Delay: time.Second, Func: goodSummary})
		r.chat(40)
		r.compactAndWait()
		applied := r.c.Status().Stack[0]
		r.chat(40)
		_, _ = r.want("")
		var first, second compactor.Event
		r.c.do(func() { // before the canceled work has ended
			first = check.Must(r.c.Compactor.Undo(t.Context(), 0))(t)
			second = check.Must(r.c.Compactor.Undo(t.Context(), 0))(t)
		})
		check.That(t, first.Stopped, "got %+v, want it canceled", first)
		check.That(t, !second.Stopped && second.ID == applied.ID, "got %+v undone, want row %d", second, applied.ID)
		r.waitIdle()
	})
}

// A button under a compaction undoes that one alone.
func TestUndoOfOneCompaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 100_000, &llmtest.Model{Func: goodSummary})
		var ids []int64
		for range 2 {
			r.chat(40)
			r.compactAndWait()
			stack := r.c.Status().Stack
			ids = append(ids, stack[len(stack)-1].ID)
		}
		undo := func(id int64) compactor.Event { return check.Must(r.c.UndoOnly(t.Context(), id))(t) }
		e := undo(ids[0])
		check.That(t, e.State == compactor.EventNoop && strings.Contains(e.Error, "not the latest compaction"), "an older one: %+v", e)
		e = undo(ids[1])
		check.That(t, e.State == compactor.EventUndone && e.ID == ids[1], "the latest: %+v", e)
		check.Equal(t, "again", undo(ids[1]).State, compactor.EventNoop)
		check.Equal(t, "now the other one is", undo(ids[0]).State, compactor.EventUndone)
	})
}

// Words that are to be forgotten restart the writing of a row, but not that of a canceled one.
func TestCanceledRowIsNotWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		allow := make(chan bool)
		r := newRig(t, 100_000, &llmtest.Model{Func: goodSummary}, func(o *compactor.Options) {
			o.Before = func(context.Context, compactor.Proposal) (string, error) { <-allow; return "", nil }
		})
		r.chat(40)
		for _, forgetsFirst := range []bool{true, false} {
			r.c.do(func() {
				r.c.Compactor.Compact(compactor.Requested{Trigger: compactor.OnManual, Focus: "parrots"})
				if forgetsFirst {
					compactor.ForgetFocus(r.c.Compactor)
				}
				e := check.Must(r.c.Compactor.Undo(t.Context(), 0))(t)
				check.That(t, e.Stopped, "got %+v, want it canceled", e)
				if !forgetsFirst {
					compactor.ForgetFocus(r.c.Compactor)
				}
			})
			allow <- true
			synctest.Wait()
			check.That(t, !get(r.c, func() bool { return compactor.Restarts(r.c.Compactor) }), "it still restarts")
			check.That(t, r.c.Status().Running == nil, "got %+v running", r.c.Status().Running)
		}
		close(allow)
		r.waitIdle()
		check.Len(t, "summaries", r.c.Status().Stack, 0)
	})
}

// crowded is a rig with a stack that has no room for another summary.
func crowded(t *testing.T) *rig {
	r := newRig(t, 6000, &llmtest.Model{Delay: time.Second, Func: goodSummary})
	for range 3 {
		r.deliverMany(10, 100)
		r.applied()
	}
	r.deliverMany(10, 100)
	stack := compactor.StackCost(r.c.Status().Stack)
	r.set(func(p *compactor.Policy) { p.StackBudget = float64(stack+5) / 6000 })
	return r
}

// The latest act may be a summary that waits, and that nothing is done for now.
func TestUndoCancelsWhatIsPrepared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := crowded(t)
		allow := r.refuse(t, "INSERT ON compactions WHEN new.kind = 'rollup'")
		began, ended := r.want("")
		check.NoError(t, r.c.Wait(t.Context()))
		r.wantOutcome(ended, compactor.EventPrepared)
		e := r.undo()
		check.That(t, e.Stopped && e.From == began.From && e.To == began.To, "got %+v canceled, want %+v", e, began)
		check.Len(t, "prepared summaries", r.c.Status().Prepared, 0)
		allow()
		time.Sleep(time.Hour)
		r.waitIdle()
		check.Contains(t, "paused", r.c.Status().Paused, "was undone")
		check.Len(t, "summaries over it", r.rows(func(row compactor.Summary) bool { return row.Overlaps(compactor.Span{From: began.From, To: began.To}) }), 0)
	})
}

// Who requested a summary that waits for a fold learns that it was canceled.
func TestUndoWhileASummaryWaitsForAFold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := crowded(t)
		began, progress := r.want("")
		check.Equal(t, "state", began.State, compactor.EventStarted)
		for r.seen(compactor.EventPrepared) < 4 {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		running := r.c.Status().Running
		check.Require(t, running != nil && running.Kind == compactor.Rollup, "got %+v running, want the fold", running)
		e := r.undo()
		check.That(t, e.Stopped && e.From == began.From && e.To == began.To, "got %+v canceled", e)
		r.waitIdle()
		ended := get(r.c, func() compactor.Event { return progress.Ended })
		check.That(t, ended.State == compactor.EventNoop && ended.From == began.From, "got the outcome %+v", ended)
	})
}

// A request after a cancel is not refused because the canceled work has not ended yet.
func TestRequestAfterACancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 100_000, &llmtest.Model{Delay: time.Second, Func: goodSummary})
		r.chat(40)
		_, _ = r.want("")
		var again *compactor.Progress
		r.c.do(func() {
			_ = check.Must(r.c.Compactor.Undo(t.Context(), 0))(t)
			again = r.c.Compactor.Compact(compactor.Requested{Trigger: compactor.OnManual})
		})
		check.Equal(t, "the request", again.Began.State, compactor.EventScheduled)
		r.waitIdle()
		r.wantOutcome(again, compactor.EventApplied)
	})
}

// A request that is canceled before it starts has one answer.
func TestUndoCancelsWhatAHookDecidesAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 100_000, &llmtest.Model{Func: goodSummary}, func(o *compactor.Options) {
			o.Before = func(ctx context.Context, _ compactor.Proposal) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			}
		})
		r.chat(40)
		progress := get(r.c, func() *compactor.Progress {
			return r.c.Compactor.Compact(compactor.Requested{Trigger: compactor.OnManual})
		})
		check.That(t, r.undo().Stopped, "the request was not canceled")
		r.waitIdle()
		began := get(r.c, func() compactor.Event { return progress.Began })
		check.Contains(t, "answer", began.Error, "canceled")
		r.wantOutcome(progress, "")
	})
}
