package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

type step struct {
	name   string
	scene  string
	say    string   // the input, the id left out
	death  killStep // zero: the model's server kills it
	server string   // the request at which it does: "asked", "half", "summary"

	full    bool // other settings, from here on, make the window full
	applied bool // the stack on disk has changed
}

const (
	planned = "INSERT ON main.compactions"
	changes = "UPDATE OF state ON main.compactions"
)

var steps = []step{
	{name: "a message has come and is not in the inbox", death: killStep{On: "INSERT ON main.inbox", At: atRow}},
	{name: "a message is about to be in the inbox", death: killStep{On: "INSERT ON main.inbox", At: atCommit}},
	{name: "a message is in the inbox and not acknowledged", death: killStep{On: "INSERT ON main.inbox", At: after}},
	{name: "a message is being taken up", death: killStep{On: "INSERT ON main.messages", At: atCommit}},
	{name: "the model has been asked", server: "asked"},
	{name: "half of the answer has come", server: "half"},
	{name: "a tool is at work", say: "use memory_save: the gate is green", death: killStep{On: "INSERT ON main.memories", At: atRow}},
	{name: "a tool has done its work", say: "use memory_save: the gate is green", death: killStep{On: "INSERT ON main.memories", At: after}},
	{name: "a reply is being written", death: killStep{On: "INSERT ON main.outbox", At: atRow}},
	{name: "a reply is about to be written", death: killStep{On: "INSERT ON main.outbox", At: atCommit}},
	{name: "a reply is written", death: killStep{On: "INSERT ON main.outbox", At: after}},
	{name: "a reply is about to be sent", death: killStep{On: "UPDATE ON main.outbox", When: "new.state = 'sending'", At: atCommit}},
	{name: "a reply was sent, and that is not noted", death: killStep{On: "UPDATE ON main.outbox", When: "new.state = 'sending'", At: after}},
	{name: "a reply was sent, and that is about to be noted", death: killStep{On: "UPDATE ON main.outbox", When: "new.state = 'sent'", At: atCommit}},

	{name: "a span is planned", scene: "talk", say: "/compact", death: killStep{On: planned, At: atRow}},
	{name: "a span is planned and written", scene: "talk", say: "/compact", server: "summary"},
	{name: "a summary has come", scene: "talk", say: "/compact", death: killStep{On: changes, When: "new.state = 'prepared'", At: atRow}},
	{name: "a summary is about to be stored", scene: "talk", say: "/compact", death: killStep{On: changes, When: "new.state = 'prepared'", At: atCommit}},
	{name: "a summary is stored", scene: "talk", say: "/compact", death: killStep{On: changes, When: "new.state = 'prepared'", At: after}},
	{name: "a summary is being applied", scene: "talk", say: "/compact", death: killStep{On: changes, When: "new.state = 'applied'", At: atRow}},
	{name: "a summary is about to be applied", scene: "talk", say: "/compact", death: killStep{On: changes, When: "new.state = 'applied'", At: atCommit}},
	{name: "a summary was applied, and nobody knows", scene: "talk", say: "/compact", death: killStep{On: changes, When: "new.state = 'applied'", At: after}, applied: true},

	{name: "a rollup is planned", scene: "stack", say: "/compact", death: killStep{On: planned, When: "new.kind = 'rollup'", At: atRow}},
	{name: "a rollup is stored", scene: "stack", say: "/compact", death: killStep{On: changes, When: "new.kind = 'rollup' AND new.state = 'prepared'", At: after}},
	{name: "a rollup is being applied", scene: "stack", say: "/compact", death: killStep{On: changes, When: "new.kind = 'rollup' AND new.state = 'applied'", At: atRow}},
	{name: "a rollup was applied, and nobody knows", scene: "stack", say: "/compact", death: killStep{On: changes, When: "new.kind = 'rollup' AND new.state = 'applied'", At: after}, applied: true},

	{name: "a session is ending", scene: "talk", say: "/new", death: killStep{On: planned, When: "new.kind = 'placeholder'", At: atCommit}},
	{name: "a session has ended", scene: "talk", say: "/new", death: killStep{On: planned, When: "new.kind = 'placeholder'", At: after}, applied: true},
	{name: "a repair is planned", scene: "talk", say: "/new", death: killStep{On: planned, When: "new.trigger = 'repair'", At: after}, applied: true},
	{name: "a repair is stored", scene: "talk", say: "/new", death: killStep{On: changes, When: "new.trigger = 'repair' AND new.state = 'prepared'", At: after}, applied: true},
	{name: "a repair is being applied", scene: "talk", say: "/new", death: killStep{On: changes, When: "new.trigger = 'repair' AND new.state = 'applied'", At: atCommit}, applied: true},
	{name: "a repair was applied, and nobody knows", scene: "talk", say: "/new", death: killStep{On: changes, When: "new.trigger = 'repair' AND new.state = 'applied'", At: after}, applied: true},

	{name: "an emergency is about to hide messages", scene: "talk", full: true, death: killStep{On: planned, When: "new.made_by = 'emergency'", At: atCommit}},
	{name: "an emergency has hidden messages", scene: "talk", full: true, death: killStep{On: planned, When: "new.made_by = 'emergency'", At: after}, applied: true},
}

// TestKillAtEveryStep kills the program with SIGKILL at each step of its work: the folder has the
// state before or after the step, and the next process continues. No accepted message is lost, and
// none is answered twice.
func TestKillAtEveryStep(t *testing.T) {
	check.SkipUnderRace(t)
	skipIfShort(t, "it kills some dozens of processes")
	scenes := map[string]string{} // folders with conversations
	for _, s := range steps {
		if scenes[s.scene] == "" {
			scenes[s.scene] = prepared(t, s.scene)
		}
		t.Run(s.name, func(t *testing.T) {
			s.die(t, scenes[s.scene])
		})
	}
}

func prepared(t *testing.T, scene string) (dir string) {
	t.Helper()
	w := newRecorder(t, newFolder(t))
	switch scene {
	case "talk":
		w.talk(16)
	case "stack":
		for range 2 {
			w.talk(8)
			w.goOn([]string{`{"text":"/compact"}`})
		}
		w.talk(8)
	default:
		w.talk(1)
	}
	return w.dir
}

func (s step) die(t *testing.T, prepared string) {
	p := newFolder(t)
	check.NoError(t, storetest.CopyFolder(filepath.Join(p.dir, "data"), filepath.Join(prepared, "data")))
	var settings []string
	if s.full {
		settings = []string{"background_threshold = 0.30", "aggressive_threshold = 0.32", "emergency_threshold = 0.38"}
	}
	w := newRecorder(t, p, settings...)
	before := w.stack()
	said := cmp.Or(s.say, "What shall we do?")
	line := `{"text":"` + said + `","id":"c1"}`
	if !strings.HasPrefix(said, "/") {
		line = w.line(said)
	}
	w.killed(s, line)

	now := w.stack()
	check.That(t, (before != now) == s.applied, "got the stack changed from\n%s\nto\n%s", before, now)
	w.examined()
	again := []string{w.line("And then?")}
	switch {
	case strings.HasPrefix(said, "/"):
		again = append(again, `{"text":"/compact"}`)
	case !w.accepted[w.said[0]]:
		again = append([]string{line}, again...)
	}
	w.goOn(again)
	w.examined()
	w.judge()
	is := map[bool]int{true: 1}
	want := fmt.Sprint(0, is[s.scene != ""], is[said == "use memory_save: the gate is green"])
	check.Equal(t, "unfinished compactions, whether something is summarized, memories of the tool", w.ask(
		"count(*) FROM compactions WHERE state IN ('running', 'prepared') OR state = 'applied' AND kind = 'placeholder'",
		"count(*) > 0 FROM compactions WHERE state = 'applied'", "count(*) FROM memories WHERE content = 'The gate is green.'"), want)
}

// taskSteps are where the program is killed while a task starts, works and ends.
var taskSteps = map[string]killStep{
	"the task's row is written":         {On: "INSERT ON main.tasks", At: atRow},
	"the task is about to be committed": {On: "INSERT ON main.tasks", At: atCommit},
	"the task has started":              {On: "INSERT ON main.tasks", At: after},
	"its message is dequeued":           {On: "INSERT ON main.messages", When: "new.role = 'user' AND new.conversation = (SELECT id FROM conversations WHERE name LIKE 'task:%')", At: atRow},
	"a part of its work is written":     {On: "INSERT ON main.messages", When: "new.role = 'tool'", At: atRow},
	"a part of its work is committed":   {On: "INSERT ON main.messages", When: "new.role = 'tool'", At: after},
	"its answer is written":             {On: "INSERT ON main.outbox", When: "new.conversation = (SELECT id FROM conversations WHERE name LIKE 'task:%')", At: atRow},
	"its answer is committed":           {On: "INSERT ON main.outbox", When: "new.conversation = (SELECT id FROM conversations WHERE name LIKE 'task:%')", At: after},
	"it ends":                           {On: "UPDATE ON main.tasks", When: "new.state = 'done'", At: atRow},
	"its end is about to be committed":  {On: "UPDATE ON main.tasks", When: "new.state = 'done'", At: atCommit},
	"it has ended":                      {On: "UPDATE ON main.tasks", When: "new.state = 'done'", At: after},
	"its result is dequeued":            {On: "DELETE ON main.inbox", When: "old.platform_id LIKE 'cairn:task-%'", At: atRow},
	"its result is in the conversation": {On: "DELETE ON main.inbox", When: "old.platform_id LIKE 'cairn:task-%'", At: after},
}

// TestKillAtEveryStepOfATask kills the program at each step of a task. The next process continues
// it: its result enters the conversation once, and is answered once.
func TestKillAtEveryStepOfATask(t *testing.T) {
	check.SkipUnderRace(t)
	skipIfShort(t, "it starts three programs for each step")
	t.Parallel()
	for name, death := range taskSteps {
		t.Run(name, func(t *testing.T) {
			server := llmtest.Serve(t, func(x *llmtest.Exchange) { // the counting agent calls a tool twice, and then answers
				switch looked := strings.Count(string(x.Request.Raw), `"role":"tool"`); {
				case !strings.Contains(x.Request.Messages[0].Text(), "You count."):
					x.Say("I have heard of it.")
				case looked < 2:
					x.Use(fmt.Sprint("c", looked), "recall", `{"query":"bridges"}`)
				default:
					x.Say("There are 12 bridges.")
				}
			})
			p := newFolder(t)
			writeServerSettings(p, server, "spawn = [\"counter\"]\n[[agents]]\nid = \"counter\"\ninstructions = \"You count.\"")
			dying := p
			dying.env = []string{death.env(t)}
			l := dying.start("chat", "--json")
			l.say(`{"text":"/ask @counter how many bridges?","id":"ask"}`)
			l.killed()
			p.examined()
			started := p.ask("count(*) FROM tasks")
			p.must("", "chat")  // it waits for the task
			if started == "0" { // then it was never acknowledged
				return
			}
			p.examined()
			check.Equal(t, "tasks done, results and answers to them; messages without answer, in the inbox, and replies not sent", p.ask(
				"count(*) FROM tasks WHERE state = 'done'",
				"count(*) FROM messages WHERE role = 'user' AND text LIKE '%[Result of task 1%12 bridges%'",
				"count(*) FROM messages WHERE role = 'assistant' AND text LIKE '%I have heard of it.%'",
				"count(*) FROM messages WHERE answered = 0", "count(*) FROM inbox", "count(*) FROM outbox WHERE state <> 'sent'"), "1 1 1 0 0 0")
		})
	}
}
