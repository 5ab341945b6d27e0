package compactor_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm/llmtest"
)

func TestPlaceholderIsFilledWhileModelHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		r := newRig(t, 4000, held(open, goodSummary))
		started := time.Now()
		for i := 0; r.emergencies() == 0 && i < 100; i++ {
			r.deliverNotes(fmt.Sprintf("note %d: the harbour of Bergen opens at %d. %s", i, i, filler(60)))
			check.Require(t, r.share() < 0.95, "message %d: %.2f of the window used", i+1, r.share())
		}
		synctest.Wait() // all work but the model's is done
		check.Require(t, r.emergencies() != 0 && r.c.Busy(), "the model does not hang in an emergency: the test proves nothing")
		stack := r.c.Status().Stack
		check.Require(t, len(stack) != 0, "got no placeholder for the hidden messages")
		for _, row := range stack {
			check.That(t, row.Kind != compactor.Placeholder && row.By == compactor.ByExtractive, "got a %s by %s over #%d to #%d", row.Kind, row.By, row.From, row.To)
		}
		check.That(t, time.Since(started) < time.Second, "it took %v", time.Since(started))
		r.verify()
		close(open)
		r.waitIdle()
		r.repaired()
		r.verify()
	})
}

// emergencies counts the applied emergencies.
func (r *rig) emergencies() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.State == compactor.EventApplied && e.Trigger == compactor.OnEmergency {
			n++
		}
	}
	return n
}

// Failed summaries are repaired when the model is back, even without new messages.
func TestRepairRunsWithoutMessages(t *testing.T) {
	for name, wait := range map[string]func(r *rig){
		"by itself":     func(*rig) { time.Sleep(2 * time.Hour) },
		"after a start": func(r *rig) { r.restart(); r.c.Check(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var down atomic.Bool
				down.Store(true)
				r := newRig(t, 4000, &llmtest.Model{Func: goodUnless(down.Load)})
				for i := range 60 {
					r.talk(fmt.Sprintf("question %d %s", i, filler(60)))
					r.waitIdle()
					time.Sleep(10 * time.Second)
				}
				check.Require(t, slices.ContainsFunc(r.c.Status().Stack, compactor.Compaction.NeedsRepair), "got nothing to repair")
				down.Store(false)
				wait(r)
				synctest.Wait()
				r.repaired()
				r.verify()
			})
		})
	}
}

func TestCloseCancelsWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 8000, held(nil, goodSummary))
		r.notesUntil(40, func() bool { return r.c.Status().Running != nil })
		synctest.Wait()
		started := time.Now()
		r.restart()
		check.Equal(t, "the wait", time.Since(started), 0)
		check.Equal(t, "verbatim messages after the restart", r.c.Status().Lines, len(r.said))
		r.verify()
	})
}

// The end of the program does not wait for a repair.
func TestCloseCancelsRepair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 4000, held(nil, goodSummary))
		r.policy.Enabled = false
		r.notesUntil(60, func() bool { return r.emergencies() > 0 })
		synctest.Wait()
		if running := r.c.Status().Running; running == nil || running.Trigger != compactor.OnRepair {
			t.Fatalf("got running job %+v", running)
		}
		started := time.Now()
		check.NoError(t, r.c.Drain(t.Context()))
		check.Equal(t, "the wait", time.Since(started), 0)
		r.noPlaceholder()
		r.verify()
	})
}
