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

func TestChangingStrategy(t *testing.T) {
	r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
	r.policy.Strategy = compactor.StrategyWindow
	r.talk("Where do we stand?")
	r.deliverMany(8, 20)
	r.applied()
	if !strings.Contains(r.head(), "without a summary") {
		t.Fatalf("%s", r.head())
	}
	r.set(func(p *compactor.Policy) { p.Strategy = compactor.StrategyWorker })
	r.talk("And now?")
	r.waitIdle()
	check.Lacks(t, "view", r.head(), "without a summary")
}
