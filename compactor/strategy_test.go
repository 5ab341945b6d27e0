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
		t.Run(name, func(t *testing.T) {
			model := &llmtest.Model{Func: goodSummary}
			r := newRig(t, 8000, model)
			r.policy.Strategy, r.policy.ExtractMemories = name, true
			r.talk("My name is Ada and I live in Bergen.")
			for range 3 {
				r.deliverMany(8, 20)
				r.applied()
			}
			check.Equal(t, "model calls", len(model.Requests()) > 0, (name == compactor.StrategyWorker))
			head := r.head()
			if said := strings.Contains(head, "have left the window here, without a summary"); said != (name == compactor.StrategyWindow) {
				t.Errorf("head mentions truncated messages: %v\n%s", said, head)
			}
			r.waitIdle()
			for _, row := range r.c.Status().Stack {
				if row.NeedsRepair() && name == compactor.StrategyWorker || row.AwaitsModel && name != compactor.StrategyWorker {
					t.Errorf("got a row that awaits a model: %+v", row)
				}
			}
			r.renderAfterRestart()
		})
	}
}
