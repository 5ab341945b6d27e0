package compactor_test

import (
	"context"
	"testing"
	"testing/synctest"

	"cairn/compactor"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

// The row is written after a hook, which may take seconds.
func TestForgottenFocusIsNotWritten(t *testing.T) {
	for _, forgets := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			allow := make(chan bool)
			r := newRig(t, 4000, &llmtest.Model{Func: goodSummary}, func(o *compactor.Options) {
				o.Before = func(context.Context, compactor.Proposal) (string, error) { <-allow; return "", nil }
			})
			for range 12 {
				r.deliverNotes("the launch is on Friday, and all is well at the pier, where the tea is served at five")
			}
			r.c.do(func() {
				r.c.Compactor.Compact(compactor.Requested{Trigger: compactor.OnManual, Focus: "parrots", With: compactor.Patch{"keep_first": "0", "keep_last_n": "1"}})
				if forgets {
					compactor.ForgetFocus(r.c.Compactor)
				}
			})
			close(allow)
			r.waitIdle()
			n := storetest.Number(t, r.store, "SELECT count(*) FROM compactions WHERE focus = 'parrots'")
			check.Equal(t, "the focus is written", n > 0, !forgets)
		})
	}
}

// A row that was written just before the focus is forgotten has it on disk, where who forgets it erases it once Restarts is false.
func TestFocusForgottenWhileItsRowIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan bool)
		r := newRig(t, 100_000, &llmtest.Model{Func: goodSummary})
		r.chat(20)
		r.c.hold = func(work compactor.Work) compactor.Result {
			result := work.Run()
			if _, summarizes := work.Row(); !summarizes {
				<-release
			}
			return result
		}
		_, progress := r.want("parrots")
		synctest.Wait()
		r.c.do(func() { compactor.ForgetFocus(r.c.Compactor) })
		restarts := func() bool { return get(r.c, func() bool { return compactor.Restarts(r.c.Compactor) }) }
		check.That(t, restarts(), "the row is not being written")
		close(release)
		r.waitIdle()
		check.That(t, !restarts(), "the row is still being written")
		r.wantOutcome(progress, compactor.EventApplied)
		check.Lacks(t, "requests", inLines(r.worker.Requests()[0].Messages), "parrots")
	})
}
