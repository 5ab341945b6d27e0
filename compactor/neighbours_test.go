package compactor_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm/llmtest"
)

// TestDeletionBetweenRowsDoesNotBlockRollup: while the disk fails, messages are hidden in memory
// behind one placeholder per run, and deleted messages separate the runs.
func TestDeletionBetweenRowsDoesNotBlockRollup(t *testing.T) {
	check.SkipUnderRace(t)
	for name, worker := range map[string]*llmtest.Model{"with a model": {Func: goodSummary}, "without one": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 2500, worker)
				r.policy.KeepLastN = 1
				mend := r.refuseCompactions(t)
				for i := range 120 {
					r.deliverNotes(fmt.Sprintf("note %d %s", i, heavy(60)))
					if i%6 == 5 {
						r.remove(int64(i - 2))
					}
				}
				mend()
				r.deliverNotes("this is written")
				if n := len(r.c.Status().Stack); n < 10 {
					t.Fatalf("got %d rows: deleted messages do not separate them", n)
				}
				for range 3 {
					time.Sleep(31 * time.Minute)
					r.waitIdle()
				}
				cost := 0
				for _, row := range r.c.Status().Stack {
					if cost += row.Cost(); row.Kind == compactor.Placeholder {
						t.Errorf("got a placeholder over #%d to #%d", row.From, row.To)
					}
				}
				if budget := int(r.policy.StackBudget * float64(r.window)); cost > budget {
					t.Errorf("got a stack of %d tokens, budget %d", cost, budget)
				}
				if found, err := r.store.Upkeep().Check(context.Background()); err != nil || len(found) > 0 {
					t.Errorf("got %v, %v in the database", found, err)
				}
				r.verify()
				r.close()
			})
		})
	}
}
