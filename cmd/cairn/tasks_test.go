package main

import (
	"strings"
	"testing"

	"cairn/internal/check"

	"cairn/llm/llmtest"
)

// A task from a pipe prints its progress and its result.
func TestPipedChatWaitsForTasks(t *testing.T) {
	t.Parallel()
	server := llmtest.Serve(t, func(x *llmtest.Exchange) {
		if strings.Contains(x.Request.Messages[0].Text(), "You count.") {
			x.Say("There are 12 bridges.")
			return
		}
		x.Say("I hear: " + x.Request.Messages[len(x.Request.Messages)-1].Text())
	})
	p := newFolder(t)
	writeServerSettings(p, server, `spawn = ["counter"]
[[agents]]
id = "counter"
instructions = "You count."
[agents.compaction]
keep_last_n = 33
`)
	r := p.run("/ask @counter how many bridges?\n", "chat")
	if r.code != 0 || !strings.Contains(r.out, "Task 1 of counter has started") || !strings.Contains(r.out, "There are 12 bridges.") {
		t.Errorf("code %d, %s, %s", r.code, r.out, r.err)
	}
	check.Contains(t, "the policy of a task", p.must("", "context", "--json", "--channel", "task:terminal:general/1"), `"agent":"counter"`)
	check.Contains(t, "default cost", p.must("", "simulate", "--json", "--channel", "task:terminal:general/1"), `"keep_last_n":"33"`)
	check.Contains(t, "output of a task", p.must("", "transcript", "--channel", "task:terminal:general/1"), "how many bridges?")
}
