package channel_test

import (
	"context"
	"fmt"
	"testing"

	"cairn/channel"
	"cairn/channel/task"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// spawnAlways answers each message and each result with another task, and each answer of the tool with its words.
func spawnAlways(_ context.Context, n int, req llm.Request) (llm.Response, error) {
	if last := req.Messages[len(req.Messages)-1]; last.Role == llm.RoleTool {
		return llmtest.Say(fmt.Sprint(n, " the tool says: ", last.Text)), nil
	}
	return useTool("spawn", counting), nil
}

const spent = "One message has led to 8 tasks, which is the limit (tasks_per_message)"

func TestOneMessageSetsOffFewTasks(t *testing.T) {
	r := newRig(t, spawnAlways)
	log := r.captureLog()
	r.withTasks(map[string]channel.Agent{"one": {Model: &llmtest.Model{Func: alwaysSay("done")}}})
	r.say("go", true)
	r.drainTasks(func(int) {})
	check.Len(t, "tasks of one message", r.tasks(), 8)
	check.Contains(t, "the last answer", r.lastText(), spent)
	check.Len(t, "requests", r.model.Requests(), 18)
	r.restart()
	r.drainTasks(func(int) {})
	check.Len(t, "tasks after a restart", r.tasks(), 8)
	r.say("go on", true)
	r.drainTasks(func(int) {})
	check.Len(t, "tasks of two messages", r.tasks(), 16)
	r.wantAnswer("/ask @one count", "Task 17 of one has started")
	r.drainTasks(func(int) {})
	check.Len(t, "tasks of two messages and a command", r.tasks(), 24)
	check.Equal(t, "log lines of two processes", log.count("tasks_per_message_reached"), 2)
}

// Subtasks share the budget, and the setting of the agent that starts them counts.
func TestSubtasksCountAsTasks(t *testing.T) {
	r := newRig(t, startTask(counting))
	one := channel.Agent{Spawn: []string{"one"}, Tasks: task.Limits{PerMessage: 3}, Model: &llmtest.Model{Func: spawnAlways}}
	r.withTasks(map[string]channel.Agent{"one": one})
	r.say("go", true)
	r.drainTasks(func(int) {})
	all := 0
	names := []string{place}
	for len(names) > 0 {
		conv := check.Must(r.store.Conversation(t.Context(), names[0]))(t)
		names = names[1:]
		for _, task := range check.Must(conv.Tasks().List(t.Context()))(t) {
			all = all + 1
			names = append(names, task.Conversation)
			check.That(t, task.State == store.TaskDone, "task %s is %s", task.Conversation, task.State)
		}
	}
	check.Equal(t, "tasks and subtasks", all, 3)
}
