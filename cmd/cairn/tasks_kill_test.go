package main

import (
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// taskSteps are where the program is killed while a task starts, works and ends.
var taskSteps = []struct {
	name  string
	death killStep
}{
	{"the task's row is written", killStep{On: "INSERT ON main.tasks", At: atRow}},
	{"the task is about to be committed", killStep{On: "INSERT ON main.tasks", At: atCommit}},
	{"the task has started", killStep{On: "INSERT ON main.tasks", At: after}},
	{"its message is dequeued", killStep{On: "INSERT ON main.messages", When: "new.role = 'user' AND new.conversation = (SELECT id FROM conversations WHERE name LIKE 'task:%')", At: atRow}},
	{"a part of its work is written", killStep{On: "INSERT ON main.messages", When: "new.role = 'tool'", At: atRow}},
	{"a part of its work is committed", killStep{On: "INSERT ON main.messages", When: "new.role = 'tool'", At: after}},
	{"its answer is written", killStep{On: "INSERT ON main.outbox", When: "new.conversation = (SELECT id FROM conversations WHERE name LIKE 'task:%')", At: atRow}},
	{"its answer is committed", killStep{On: "INSERT ON main.outbox", When: "new.conversation = (SELECT id FROM conversations WHERE name LIKE 'task:%')", At: after}},
	{"it ends", killStep{On: "UPDATE ON main.tasks", When: "new.state = 'done'", At: atRow}},
	{"its end is about to be committed", killStep{On: "UPDATE ON main.tasks", When: "new.state = 'done'", At: atCommit}},
	{"it has ended", killStep{On: "UPDATE ON main.tasks", When: "new.state = 'done'", At: after}},
	{"its result is dequeued", killStep{On: "DELETE ON main.inbox", When: "old.platform_id LIKE 'cairn:task-%'", At: atRow}},
	{"its result is in the conversation", killStep{On: "DELETE ON main.inbox", When: "old.platform_id LIKE 'cairn:task-%'", At: after}},
}

// bridgeCounter is a model server: the counting agent calls a tool twice, and then answers.
func bridgeCounter(x *llmtest.Exchange) {
	var looked int
	for _, m := range x.Request.Messages {
		if m.Role == llm.RoleTool {
			looked++
		}
	}
	switch {
	case !strings.Contains(x.Request.Messages[0].Text(), "You count."):
		x.Say("I have heard of it.")
	case looked < 2:
		x.Use("c"+string(rune('0'+looked)), "recall", `{"query":"bridges"}`)
	default:
		x.Say("There are 12 bridges.")
	}
}

// TestKillAtEveryStepOfATask kills the program at each step of a task. The next process continues
// it: its result enters the conversation once, and is answered once.
func TestKillAtEveryStepOfATask(t *testing.T) {
	check.SkipUnderRace(t)
	if testing.Short() {
		t.Skip("it starts three programs for each step")
	}
	for _, s := range taskSteps {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			server := llmtest.Serve(t, bridgeCounter)
			p := newFolder(t)
			writeServerSettings(p, server, "spawn = [\"counter\"]\n[[agents]]\nid = \"counter\"\ninstructions = \"You count.\"")
			dying := p
			dying.env = append(append([]string{}, p.env...), s.death.env(t))
			l := dying.start("chat", "--json")
			l.say(`{"text":"/ask @counter how many bridges?","id":"ask"}`)
			l.killed()
			w := &recorder{folder: p}
			w.examined()
			begun := w.count("SELECT count(*) FROM tasks")
			p.must("", "chat") // it waits for the task
			if begun == 0 {    // then it was never acknowledged
				return
			}
			w.examined()
			for query, want := range map[string]int{
				"SELECT count(*) FROM tasks WHERE state = 'done'":                                                  1,
				"SELECT count(*) FROM messages WHERE role = 'user' AND text LIKE '%[Result of task 1%12 bridges%'": 1,
				"SELECT count(*) FROM messages WHERE role = 'assistant' AND text LIKE '%I have heard of it.%'":     1,
				"SELECT count(*) FROM messages WHERE answered = 0":                                                 0,
				"SELECT count(*) FROM inbox":                                                                       0,
				"SELECT count(*) FROM outbox WHERE state <> 'sent'":                                                0,
			} {
				check.Equal(t, query, w.count(query), want)
			}
		})
	}
}
