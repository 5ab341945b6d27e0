package channel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

type script func(ctx context.Context, n int, req llm.Request) (llm.Response, error)

// withTasks gives the rig's agent others to give tasks to, by id.
func (r *rig) withTasks(others map[string]channel.Agent) {
	r.t.Helper()
	r.agent.ID = "cairn"
	for id, a := range others {
		r.agent.Spawn = append(r.agent.Spawn, id)
		a.ID = id
		if a.Policy == nil {
			a.Policy = compactor.DefaultPolicy
		}
		a.MaxOutput = 500
		others[id] = a
	}
	r.opts.Agents = func(id string) (channel.Agent, bool) {
		a, known := others[id]
		return a, known
	}
	r.reopen()
}

var counting = map[string]any{"agent": "one", "task": "count"}

// newTaskRig returns a rig whose agent starts a task with these arguments for the agent "one", a script.
func newTaskRig(t *testing.T, arguments map[string]any, one script) *rig {
	return newRigWithOne(t, arguments, channel.Agent{Model: &llmtest.Model{Func: one}})
}

func newRigWithOne(t *testing.T, arguments map[string]any, one channel.Agent) *rig {
	r := newRig(t, startTask(arguments))
	r.withTasks(map[string]channel.Agent{"one": one})
	return r
}

func (r *rig) tasks() []store.Task {
	r.t.Helper()
	return check.Must(check.Must(r.store.Conversation(r.t.Context(), place))(r.t).Tasks().List(r.t.Context()))(r.t)
}

func (r *rig) task(n int) store.Task { return r.tasks()[n-1] }

func (r *rig) waitForTask(n int) store.Task {
	r.t.Helper()
	ended := func() bool { return len(r.tasks()) >= n && r.task(n).State != store.TaskOpen }
	check.Require(r.t, check.Soon(ended), "task %d did not end", n)
	return r.task(n)
}

// drainTasks waits until no task is open, and all results are answered.
func (r *rig) drainTasks(waits func(open int)) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 3*time.Minute) // longer than a task may wait until it looks for work
	defer cancel()
	check.NoError(r.t, r.hub.Operator().DrainTasks(ctx, func(string) bool { return true }, waits))
}

func (r *rig) waitForSent(text string) {
	r.t.Helper()
	r.connector.until(r.t, "the reply "+text, func() bool {
		return slices.ContainsFunc(r.connector.sent, func(p channel.Piece) bool { return strings.Contains(p.Text, text) })
	})
}

// sayUntil asks the bot, and waits until it has sent a text.
func (r *rig) sayUntil(text, sent string) {
	r.t.Helper()
	r.say(text, true)
	r.waitForSent(sent)
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
			return useTool(map[bool]string{false: "spawn", true: "parallel_spawn"}[arguments["tasks"] != nil], arguments), nil
		}
		return llmtest.Say(fmt.Sprint("answer ", n)), nil
	}
}

func blockUntilCanceled(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
	<-ctx.Done()
	return llm.Response{}, ctx.Err()
}

func waitingFor(opened <-chan struct{}, f script) script {
	return func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		select {
		case <-opened:
			return f(ctx, n, req)
		case <-ctx.Done():
			return llm.Response{}, ctx.Err()
		}
	}
}

func alwaysSay(text string) script { return always(llmtest.Say(text)) }

// inTurn gives one answer after the other, and the last one again and again.
func inTurn(answers ...llm.Response) script { return inSteps(storetest.Map(answers, always)...) }

// inSteps has one model answer after the other, and the last one again and again.
func inSteps(models ...script) script {
	return func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		return models[min(n, len(models))-1](ctx, n, req)
	}
}

// then gives one answer, and those of a model after it.
func then(first llm.Response, f script) script { return inSteps(always(first), f) }

func useTool(name string, arguments map[string]any) llm.Response {
	return llmtest.Use(llmtest.Call("1", name, arguments))
}

func TestTaskRunsConcurrently(t *testing.T) {
	release := make(chan struct{})
	researcher := &llmtest.Model{Label: "other", Func: then(useTool("recall", map[string]any{"query": "bridges"}),
		waitingFor(release, alwaysSay("there are 12 bridges")))}
	r := newRigWithOne(t, map[string]any{"agent": "one", "task": "count the bridges of Turin"}, channel.Agent{Instructions: "You count.", Model: researcher})
	r.say("we meet in Turin", false)
	r.sayUntil("go", `started: {"note"`)
	r.sayUntil("and meanwhile?", "answer 3")
	check.Contains(t, "the turn context", r.lastRequestText(), `open task 1 of one, started after #2: "count the bridges of Turin"`)
	r.wantAnswer("/tasks", "open")
	r.wantAnswer("/context", "tasks     1 by one: ")
	// The tools that start tasks are part of each request, also when the numbers come from the database.
	live := check.Must(r.hub.Operator().Context(t.Context(), place))(t)
	stored := check.Must(channel.ReadContext(t.Context(), storetest.Find(t, r.store, place), r.agent))(t)
	check.Equal(t, "system prompt and tools", stored.Parts.Frame, live.Parts.Frame)
	close(release)
	r.waitForSent("there are 12 bridges")

	task := r.waitForTask(1)
	check.That(t, task.State == store.TaskDone && task.Conversation == "task:"+place+"/1" && task.Agent == "one", "%+v", task)
	check.Contains(t, "the conversation", texts(r.transcript()), "user: [Result of task 1, by the agent one; nobody here said it")
	first := researcher.Requests()[0]
	check.HasPrefix(t, "system prompt of the task", first.Messages[0].Text, "You count.\n\nYou work alone")
	check.Contains(t, "briefing", first.Messages[1].Text, "<task>\ncount the bridges of Turin\n</task>\n\n<briefing>", "we meet in Turin")
	check.Lacks(t, "prompt of the task", researcher.Requests()[1].Messages[3].Text, "Turin\",")
	found := check.Must(memory.Of(storetest.Find(t, r.store, task.Conversation)).Recall(t.Context(), memory.Question{Text: "how many bridges?", Limit: 3}))(t)
	check.That(t, len(found) > 0, "recall did not search the task's transcript")
	r.wantAnswer("/tasks", "done")
}

func TestTaskRights(t *testing.T) {
	r := newTaskRig(t, nil, blockUntilCanceled)
	with := func(key string, value any) map[string]any { // a task of the agent one, with another argument
		all := map[string]any{"agent": "one", "task": "x"}
		all[key] = value
		return all
	}
	for name, c := range map[string]struct {
		arguments map[string]any
		want      string
	}{
		"an agent that is not listed":     {with("agent", "cairn"), `no agent "cairn". These accept tasks: one`},
		"an empty task":                   {with("task", " "), "Describe the task"},
		"a setting there is none of":      {with("compaction", map[string]any{"keep_lst_n": 3}), "keep_lst_n"},
		"a value of another kind":         {with("compaction", map[string]any{"keep_last_n": "many"}), "whole number"},
		"a file":                          {with("compaction", map[string]any{"prompt_file": "/etc/passwd"}), "settings file only"},
		"an argument that is not known":   {with("parent", "test:other"), "unknown field"},
		"one of several that are started": {map[string]any{"tasks": []map[string]any{counting, with("agent", "two")}}, "no agent"},
		"a task of thousands of letters":  {with("task", strings.Repeat("long ", 5000)), "too long"},
	} {
		r.model.Func = startTask(c.arguments)
		check.Contains(t, name, r.ask("go"), c.want)
		r.wantAnswer("/tasks", "There are no tasks.")
	}
	r.model.Func = startTask(map[string]any{"tasks": []map[string]any{counting, with("task", "y")}})
	r.ask("go")
	check.Equal(t, "states of the tasks", r.task(1).State+", "+r.task(2).State, store.TaskOpen+", "+store.TaskOpen)
}

func TestTasksCommand(t *testing.T) {
	r := newRig(t, startTask(nil))
	r.wantAnswer("/ask @one x", "[[agents]]")
	one := &llmtest.Model{Func: blockUntilCanceled}
	r.withTasks(map[string]channel.Agent{"one": {Model: one}})
	r.wantAnswer("/ask x", "/ask @one")
	for n := range 4 {
		r.wantAnswer("/ask @one count", fmt.Sprintf("Task %d of one has started", n+1))
	}
	r.wantAnswer("/ask @one count", "4 tasks are open here")
	check.Require(t, check.Soon(func() bool { return len(one.Requests()) == 4 }), "the tasks do not run")
	r.wantAnswer("/tasks stop 2", "Task 2 of one was stopped.")
	r.waitIdle("task:" + place + "/2") // its model has not answered
	check.Len(t, "requests: the other tasks go on", one.Requests(), 4)
	r.wantAnswer("/tasks Stop 2", "There is no open task 2")
	r.wantAnswer("/tasks stop", "/tasks stop 3")
	r.wantAnswer("/tasks stop 9", "There is no open task 9")
	r.waitForSent("[Task 2 of one was stopped: Ada stopped it. What was asked: count]")
	r.wantAnswer("/ask @one count", "Task 5")
	check.That(t, r.task(1).Author == "u1" && r.task(1).State == store.TaskOpen, "got task %+v", r.task(1))
}

func TestTaskDepth(t *testing.T) {
	offered := make(chan string, 10)
	one := func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		last := lastText(req)
		has := slices.ContainsFunc(req.Tools, func(tool llm.Tool) bool { return tool.Name == "spawn" })
		switch {
		case strings.Contains(last, "[Result of task"):
			return llmtest.Say("from below: " + last[strings.LastIndex(last, "]"):]), nil
		case req.Messages[len(req.Messages)-1].Role == llm.RoleTool:
			return llmtest.Say("I wait"), nil
		}
		offered <- fmt.Sprint(has)
		if has {
			return useTool("spawn", map[string]any{"agent": "one", "task": "deeper"}), nil
		}
		return llmtest.Say("the bottom"), nil
	}
	r := newRigWithOne(t, counting, channel.Agent{Spawn: []string{"one"}, Model: &llmtest.Model{Func: one}})
	r.sayUntil("go", "the bottom")
	check.Equal(t, "final state of the task", r.waitForTask(1).State, store.TaskDone)
	check.Equal(t, "offers of the spawn tool", <-offered+<-offered+<-offered, "truetruefalse")
	check.Len(t, "messages of the third task", r.messagesIn("task:task:task:"+place+"/1/1/1"), 2)
	check.Equal(t, "more offers", len(offered), 0)
}
