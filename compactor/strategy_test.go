package compactor_test

import (
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm/llmtest"
)

func TestEachStrategyKeepsTheWindow(t *testing.T) {
	for _, name := range []string{compactor.StrategyWorker, compactor.StrategyExtractive, compactor.StrategyWindow} {
		r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
		r.policy.Strategy, r.policy.ExtractMemories = name, true
		r.talk("My name is Ada and I live in Bergen.")
		for range 3 {
			r.deliverMany(8, 20)
			r.applied()
		}
		check.Equal(t, name+" asks the model", len(r.worker.Requests()) > 0, name == compactor.StrategyWorker)
		check.Equal(t, name+" only truncates", strings.Contains(r.head(), "have left the window here, without a summary"), name == compactor.StrategyWindow)
		r.waitIdle()
		for _, row := range r.c.Status().Stack {
			check.That(t, !row.AwaitsModel && (name != compactor.StrategyWorker || !row.NeedsRepair()), "got a row that awaits a model: %+v", row)
		}
		r.renderAfterRestart()
	}
}
