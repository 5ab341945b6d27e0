package channel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
	"cairn/store"
)

// The tools that start tasks are part of each request, also when the numbers come from the database.
func TestStoredContextCountsTaskTools(t *testing.T) {
	r := newTaskRig(t, nil, echo)
	r.overhear("hello")
	records := check.Must(r.store.Find(t.Context(), place))(t)
	live := check.Must(r.hub.Operator().Context(t.Context(), place))(t)
	stored := check.Must(channel.ReadContext(t.Context(), records, r.agent))(t)
	check.Equal(t, "system prompt and tools", stored.Parts.Frame, live.Parts.Frame)
}

type script func(ctx context.Context, n int, req llm.Request) (llm.Response, error)

// withTasks gives the rig's agent others to give tasks to, by id.
func (r *rig) withTasks(others map[string]channel.Agent) {
	r.t.Helper()
	r.agent.ID = "cairn"
	for id, a := range others {
		r.agent.Spawn = append(r.agent.Spawn, id)
		if a.ID = id; a.Policy == nil {
			a.Policy = compactor.DefaultPolicy
		}
		a.MaxOutput = 500
		others[id] = a
	}
	r.stop()
	r.opts.Agents = func(id string) (channel.Agent, bool) {
		a, known := others[id]
		return a, known
	}
	r.start()
}

// newTaskRig returns a rig whose agent starts a task with these arguments when asked to, for the agent
// "one", whose model is a script.
func newTaskRig(t *testing.T, arguments map[string]any, one script) *rig {
	r := newRig(t, startTask(arguments))
	r.withTasks(map[string]channel.Agent{"one": {Model: &llmtest.Model{Func: one}}})
	return r
}

// task returns the state of the nth task of the rig's place.
func (r *rig) task(n int) store.Task {
	r.t.Helper()
	all := r.tasks()
	check.Require(r.t, len(all) >= n, "got %d tasks", len(all))
	return all[n-1]
}

func (r *rig) tasks() []store.Task {
	r.t.Helper()
	return check.Must(check.Must(r.store.Conversation(r.t.Context(), place))(r.t).Tasks().List(r.t.Context()))(r.t)
}

// waitForTask waits for the end of the nth task.
func (r *rig) waitForTask(n int) store.Task {
	r.t.Helper()
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		if all := r.tasks(); len(all) >= n && all[n-1].State != store.TaskOpen {
			return all[n-1]
		}
	}
	r.t.Fatalf("task %d did not end", n)
	return store.Task{}
}

// wantNoUser fails if a message that the conversation was sent contains a text.
func (r *rig) wantNoUser(text string) {
	r.t.Helper()
	for _, line := range r.transcript() {
		if strings.HasPrefix(line, "user:") && strings.Contains(line, text) {
			r.t.Errorf("got %s in the conversation, want it deleted", line)
		}
	}
}

func (r *rig) waitForSent(text string) {
	r.t.Helper()
	r.connector.until(r.t, "the reply "+text, func() bool {
		for _, p := range r.connector.sent {
			if strings.Contains(p.Text, text) {
				return true
			}
		}
		return false
	})
}

func lastText(req llm.Request) string { return req.Messages[len(req.Messages)-1].Text }

// startTask starts a task when asked for one, and repeats the results it gets.
func startTask(arguments map[string]any) script {
	return func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		last := req.Messages[len(req.Messages)-1]
		said := ""
		for i := len(req.Messages) - 1; i >= 0 && req.Messages[i].Role == llm.RoleUser; i-- {
			said += req.Messages[i].Text
		}
		switch {
		case strings.Contains(said, "[Result of task"), strings.Contains(said, "[Task "):
			return llmtest.Say("they say: " + said), nil
		case last.Role == llm.RoleTool:
			return llmtest.Say("started: " + last.Text), nil
		case strings.Contains(last.Text, "go"):
			name := "spawn"
			if arguments["tasks"] != nil {
				name = "parallel_spawn"
			}
			return llmtest.Use(llmtest.Call("1", name, arguments)), nil
		}
		return llmtest.Say(fmt.Sprint("answer ", n)), nil
	}
}

func TestTaskRunsConcurrently(t *testing.T) {
	r := newRig(t, startTask(map[string]any{"agent": "researcher", "task": "count the bridges of Turin"}))
	release := make(chan struct{})
	researcher := &llmtest.Model{Label: "other", Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 1 {
			return llmtest.Use(llmtest.Call("1", "recall", map[string]any{"query": "bridges"})), nil
		}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return llmtest.Say("there are 12 bridges"), ctx.Err()
	}}
	r.withTasks(map[string]channel.Agent{"researcher": {Instructions: "You count.", Model: researcher}})
	r.say("we meet in Turin", false)
	r.say("go", true)
	r.waitForSent(`started: {"note"`)
	r.say("and meanwhile?", true)
	r.waitForSent("answer 3")
	check.Contains(t, "the turn context", r.lastRequestText(), `open task 1 of researcher, started after #2: "count the bridges of Turin"`)
	check.Contains(t, "/tasks", r.run("/tasks"), "open")
	check.Contains(t, "/context", r.run("/context"), "tasks     1 by researcher: ")
	close(release)
	r.waitForSent("there are 12 bridges")

	if task := r.waitForTask(1); task.State != store.TaskDone || task.Conversation != "task:"+place+"/1" || task.Agent != "researcher" {
		t.Errorf("%+v", task)
	}
	check.Contains(t, "the conversation", strings.Join(r.transcript(), "\n"), "user: [Result of task 1, by the agent researcher; nobody here said it")
	first := researcher.Requests()[0]
	check.HasPrefix(t, "system prompt of the task", first.Messages[0].Text, "You count.\n\nYou work alone")
	check.Contains(t, "briefing", first.Messages[1].Text, "<task>\ncount the bridges of Turin\n</task>\n\n<briefing>")
	check.Contains(t, "briefing", first.Messages[1].Text, "we meet in Turin")
	check.Lacks(t, "prompt of the task", researcher.Requests()[1].Messages[3].Text, "Turin\",")
	conv := check.Must(r.store.Find(t.Context(), "task:"+place+"/1"))(t)
	if found := check.Must(memory.Of(conv).Recall(t.Context(), memory.Question{Text: "how many bridges?", Limit: 3}))(t); len(found) == 0 {
		t.Error("recall did not search the task's transcript")
	}
	check.Contains(t, "/tasks", r.run("/tasks"), "done")
}
