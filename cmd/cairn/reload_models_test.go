package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/llm/llmtest"
)

func TestAgentEditsApply(t *testing.T) {
	server := llmtest.Serve(t, func(*llmtest.Exchange) {})
	with := func(agents string) string {
		return fmt.Sprintf("[llm]\nbase_url = %q\nmodel = \"m\"\n%s", server.URL, agents)
	}
	agent := "[[agents]]\nid = %q\ncontext_window = %d\ninstructions = %q\n"
	s := startBot(t, with(fmt.Sprintf(agent, "a", 8000, "old")+fmt.Sprintf(agent, "b", 9000, "")))
	old := s.current.Load()
	s.edit(with(fmt.Sprintf(agent, "b", 9000, "") + fmt.Sprintf(agent, "a", 12_000, "new") + "[agents.compaction]\nmodel = \"small\"\n" +
		"[[bindings]]\nconnector = \"terminal\"\nchannel = \"garden\"\nagent = \"a\"\nrespond = \"all\"\n"))
	s.told(taken, 1)
	now := s.current.Load()
	check.Equal(t, "first agent", now.settings.AgentFor("terminal:x"), "b")
	check.Equal(t, "bound agent", now.settings.AgentFor("terminal:garden"), "a")
	check.Equal(t, "respond setting", s.rules(&now.settings).Respond("terminal:garden"), channel.RespondAll)
	if a := now.agents["a"]; a.Instructions != "new" || a.Model.Window(t.Context()).Tokens != 12_000 || a.Worker.Name() != "small" {
		t.Errorf("got agent %+v", a)
	}
	check.Equal(t, "learned facts of the other agent's model were lost", now.agents["b"].Model, old.agents["b"].Model)
	check.Contains(t, "log", s.log.String(), `agents.a.context_window`, `agents.a.instructions`, `agents.a.compaction.model`, "bindings.1.respond", "changed=\"[agents ")
	s.edit("recall_tokens = 50\n" + with(fmt.Sprintf(agent, "b", 9000, "")))
	s.told(taken, 2)
	check.Equal(t, "recalled tokens after the edit", now.agents["b"].Recall, 600)
	check.Equal(t, "recalled tokens after the edit", s.current.Load().agents["b"].Recall, 50)
	check.Len(t, "faults of the policy that a removed agent keeps for its open conversations", old.agents["a"].Policy().Validate(), 0)
}

func TestTooSmallWindowIsReportedAtStart(t *testing.T) {
	s := startBot(t, "[[agents]]\nid = \"a\"\ncontext_window = 2000\n[agents.compaction]\nbackground_threshold = 0.2\n")
	s.told("background_threshold = 0.2 (400 tokens): reached before the first message. Of a window of 2000 tokens", 1)
	roomy := startBot(t, "")
	time.Sleep(50 * time.Millisecond)
	if strings.Count(roomy.log.String(), "window_too_small") > 0 {
		t.Errorf("the defaults are too tight:\n%s", roomy.log.String())
	}
}
