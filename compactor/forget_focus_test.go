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
