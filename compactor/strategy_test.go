package compactor_test

import (
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/llm/llmtest"
)

func TestEachStrategyKeepsTheWindow(t *testing.T) {
	for _, name := range []string{compactor.StrategyWorker, compactor.StrategyExtractive, compactor.StrategyWindow} {
		t.Run(name, func(t *testing.T) {
			model := &llmtest.Model{Func: good}
			r := newRig(t, 8000, model)
			r.policy.Strategy, r.policy.ExtractMemories = name, true
			r.talk("My name is Ada and I live in Bergen.")
			for range 3 {
				r.hearMany(8, 20)
				r.applied()
			}
			if asked := len(model.Requests()) > 0; asked != (name == compactor.StrategyWorker) {
				t.Errorf("the model was asked: %v", asked)
			}
			head := r.head()
			if said := strings.Contains(head, "have left the window here, without a summary"); said != (name == compactor.StrategyWindow) {
				t.Errorf("the head says that messages left the window: %v\n%s", said, head)
			}
			r.waitIdle()
			for _, row := range r.c.Status().Stack {
				if row.NeedsRepair() && name == compactor.StrategyWorker || row.AwaitsModel && name != compactor.StrategyWorker {
					t.Errorf("a row awaits a model: %+v", row)
				}
			}
			r.asRestarted()
		})
	}
}

func TestAnotherStrategyTakesOver(t *testing.T) {
	r := newRig(t, 8000, &llmtest.Model{Func: good})
	r.policy.Strategy = compactor.StrategyWindow
	r.talk("Where do we stand?")
	r.hearMany(8, 20)
	r.applied()
	if !strings.Contains(r.head(), "without a summary") {
		t.Fatalf("%s", r.head())
	}
	r.set(func(p *compactor.Policy) { p.Strategy = compactor.StrategyWorker })
	r.talk("And now?")
	r.waitIdle()
	if strings.Contains(r.head(), "without a summary") {
		t.Errorf("the worker has not summarized what had left the window:\n%s", r.head())
	}
}
