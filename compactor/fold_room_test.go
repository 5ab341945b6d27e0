package compactor_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"cairn/internal/check"

	"cairn/compactor"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
)

// A process may end after a summary is stored, but before the fold that makes room for it: the
// summary still waits for the fold.
func TestPreparedSummaryWaitsAfterRestart(t *testing.T) {
	check.SkipUnderRace(t)
	for name, worker := range map[string]*llmtest.Model{
		"with a model": {Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
			return summary(fmt.Sprintf("Of %s. %s", spanOf(req), filler(600))), nil
		}},
		"without a model": nil,
	} {
		for _, ask := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, somebody asks for it: %v", name, ask), func(t *testing.T) {
				r := newRig(t, 100_000, worker)
				r.policy.StackBudget = 0.02
				var most atomic.Int64
				r.tune = func(o *compactor.Options) {
					o.After = func(compactor.Event) {
						stack := 0
						for _, row := range r.c.Compactor.StatusReader()().Stack {
							stack += row.Tokens
						}
						most.Store(max(most.Load(), int64(stack)))
					}
				}
				r.restart()
				for range 3 {
					r.deliverMany(10, 400)
					r.compactAndWait()
				}
				r.deliverMany(10, 400)
				stack := r.c.Status().Stack
				row := compactor.Compaction{
					Kind: compactor.Leaf, By: compactor.ByWorker, Trigger: compactor.OnManual,
					Span: compactor.Span{From: stack[len(stack)-1].To + 1, To: int64(len(r.said) - 4)}, Text: filler(650),
				}
				row.Messages = int(row.To - row.From + 1)
				j := check.Must(memory.Of(r.conv).Records().Begin(t.Context(), row))(t)
				check.NoError(t, check.ErrorOf(j.Store(t.Context(), summarize.Summary{Text: row.Text, Tokens: row.Cost()})))
				r.restart()
				if ask {
					r.c.Compact(compactor.OnManual, "")
				}
				r.waitIdle()
				g := r.c.Status()
				check.That(t, len(g.Prepared) == 0 && g.Lines == 4, "got %d prepared rows and %d verbatim messages", len(g.Prepared), g.Lines)
				check.That(t, most.Load() <= 0.02*100_000, "got a stack of %d tokens", most.Load())
				r.verify()
			})
		}
	}
}
