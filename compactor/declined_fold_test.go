package compactor_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
)

// While no model answers, much is folded into one row. A span that the model declines does not keep
// it from summarizing the rest.
func TestRollupWithDeclinedPartIsRepaired(t *testing.T) {
	check.SkipUnderRace(t)
	synctest.Test(t, func(t *testing.T) {
		var back atomic.Bool
		worker := newDecliningModel("by its tool", 8000)
		answer := worker.Func
		worker.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			if !back.Load() {
				return brokenSummaries(ctx, n, req)
			}
			return answer(ctx, n, req)
		}
		r := newRig(t, 8000, &worker.Model)
		for i := range 150 {
			text := fmt.Sprintf("question %d %s", i, filler(200))
			if i == 30 {
				text = "in the film they speak of the poison"
			}
			r.talk(text)
			r.waitIdle()
			time.Sleep(time.Minute)
		}
		folds := 0
		for _, row := range r.c.Status().Stack {
			if row.NeedsRepair() && row.Kind == compactor.Rollup {
				folds++
			}
		}
		if folds == 0 {
			t.Fatal("got no fold")
		}
		down := len(worker.Requests())
		back.Store(true)
		for range 60 { // for a week
			time.Sleep(3 * time.Hour)
			synctest.Wait()
		}
		left, all := 0, 0
		for _, row := range r.c.Status().Stack {
			all += row.Messages
			if row.NeedsRepair() {
				left += row.Messages
			}
		}
		n := len(worker.Requests()) - down
		if left > all/5 || n > 60 || worker.declined > 8 {
			t.Errorf("after %d requests, %d of them declined: %d of %d messages are not summarized by the model", n, worker.declined, left, all)
		}
		r.verify()
	})
}
