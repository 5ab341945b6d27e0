package main

import (
	"fmt"
	"testing"

	"cairn/testkit/check"
)

// TestModelsWithoutPriceAreReported: at the start and by doctor, of agents, sub-agents and workers, if there is a budget.
func TestModelsWithoutPriceAreReported(t *testing.T) {
	server := modelServer(t, saying("Yes."))
	settings := fmt.Sprintf("[llm]\nbase_url = %q\nmodel = \"gpt-5-mini\"\n[prices.free]\ninput = 0\noutput = 0\n"+
		"[[agents]]\nid = \"cairn\"\nspawn = [\"helper\"]\n[agents.compaction]\nmodel = \"small\"\n"+
		"[[agents]]\nid = \"helper\"\nmodel = \"local\"\n[[agents]]\nid = \"other\"\nmodel = \"free\"\n", server.URL)
	const warning = "warning: it has no price: it counts as 0, so no budget limits it; set [prices.\"small\"] in the settings, to 0 if it costs nothing"
	p := newFolder(t).with("budget_per_month = 20\n" + settings)
	out := p.run("", "doctor").out
	check.Contains(t, "doctor", out, "small: "+warning, "local: warning: it has no price")
	check.Lacks(t, "doctor", out, "gpt-5-mini: warning", "free: warning")
	l := p.start("chat", "--json")
	l.logs(`"model_without_price"`, `"model":"small"`, `"model":"local"`)
	l.end()
	check.Lacks(t, "doctor without a budget", newFolder(t).with(settings).run("", "doctor").out, "no price")
}

// TestModelThatIsChosenHasNoPriceYet: its server is not one.
func TestModelThatIsChosenHasNoPriceYet(t *testing.T) {
	server := modelServer(t, saying("Yes."))
	out := newFolder(t).with(fmt.Sprintf("budget_per_day = 1\n[llm]\nbase_url = %q\n", server.URL)).run("", "doctor").out
	check.Contains(t, "doctor", out, "test-model: warning: it has no price")
	out = newFolder(t).with("budget_per_day = 1\n[llm]\nbase_url = \"http://127.0.0.1:1/v1\"\n").run("", "doctor").out
	check.Lacks(t, "doctor, of a server that does not answer", out, "no price")
}
