package main

import (
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/llm/llmtest"
)

// TestCommonModels sends doctor, a turn and the list to a server that behaves like each model:
// whatever it rejects, a person who configures it gets answers.
func TestCommonModels(t *testing.T) {
	check.SkipUnderRace(t)
	t.Parallel()
	for _, name := range llmtest.Profiles() {
		t.Run(name, func(t *testing.T) {
			server := llmtest.Serve(t, func(x *llmtest.Exchange) {
				if x.Request.Forced != "" {
					x.Use("c1", "summarize", `{"summary":"Ada prefers green tea."}`)
					return
				}
				x.Say("Here ", "I am.")
			})
			server.Behave(llmtest.ProfileOf(name))
			env := []string{"OPENAI_BASE_URL=" + server.URL, "OPENAI_MODEL=" + name}
			if strings.HasPrefix(name, "claude-") {
				env = []string{"ANTHROPIC_BASE_URL=" + strings.TrimSuffix(server.URL, "/v1"), "ANTHROPIC_MODEL=" + name}
			}
			p := newFolder(t, env...)
			check.Contains(t, "a turn", p.must("Where are you?\n", "chat"), "Here I am.")
			p.doctorSays(0, name+", of agent cairn: answered in ", "(GET /", "cache works", "which summarizes for agent cairn: answered in ")
			check.Contains(t, "models", p.must("", "models"), name, "128000", "agent cairn")
		})
	}
}
