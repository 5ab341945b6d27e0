package channel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/store"
)

// blockUntilCanceled answers when its context ends.
func blockUntilCanceled(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
	<-ctx.Done()
	return llm.Response{}, ctx.Err()
}

func alwaysSay(text string) script {
	return func(context.Context, int, llm.Request) (llm.Response, error) { return llmtest.Say(text), nil }
}

func TestConcurrentTasks(t *testing.T) {
	r := newRig(t, startTask(map[string]any{"tasks": []map[string]any{{"agent": "one", "task": "left"}, {"agent": "two", "task": "right"}}}))
	var running atomic.Int32
	both := make(chan struct{})
	meets := func(ctx context.Context, _ int, req llm.Request) (llm.Response, error) {
		if running.Add(1) == 2 {
			close(both)
		}
		select {
		case <-both:
		case <-ctx.Done():
		}
		_, task, _ := strings.Cut(req.Messages[1].Text, "<task>\n")
		return llmtest.Say("done with " + strings.Split(task, "\n")[0]), ctx.Err()
	}
	r.withTasks(map[string]channel.Agent{"one": {Model: &llmtest.Model{Func: meets}}, "two": {Model: &llmtest.Model{Func: meets}}})
	r.say("go", true)
	r.waitForSent("done with left")
	r.waitForSent("done with right")
	for n := range 2 {
		check.Equal(t, "final state of the task", r.waitForTask(n+1).State, store.TaskDone)
	}
}

func TestTaskRights(t *testing.T) {
	for name, c := range map[string]struct {
		arguments map[string]any
		want      string
	}{
		"an agent that is not listed":     {map[string]any{"agent": "cairn", "task": "x"}, `no agent \"cairn\". These take tasks: one`},
		"an empty task":                   {map[string]any{"agent": "one", "task": " "}, "Say what to do"},
		"a setting there is none of":      {map[string]any{"agent": "one", "task": "x", "compaction": map[string]any{"keep_lst_n": 3}}, "keep_lst_n"},
		"a value of another kind":         {map[string]any{"agent": "one", "task": "x", "compaction": map[string]any{"keep_last_n": "many"}}, "whole number"},
		"a file":                          {map[string]any{"agent": "one", "task": "x", "compaction": map[string]any{"prompt_file": "/etc/passwd"}}, "settings file only"},
		"an argument that is not known":   {map[string]any{"agent": "one", "task": "x", "parent": "test:other"}, "unknown field"},
		"one of several that are started": {map[string]any{"tasks": []map[string]any{{"agent": "one", "task": "x"}, {"agent": "two", "task": "x"}}}, "no agent"},
		"a task of thousands of letters":  {map[string]any{"agent": "one", "task": strings.Repeat("long ", 5000)}, "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTaskRig(t, c.arguments, blockUntilCanceled)
			r.ask("go")
			check.Contains(t, "tool result", strings.Join(r.connector.texts(), "\n"), strings.ReplaceAll(c.want, `\"`, `"`))
			check.Contains(t, "/tasks", r.run("/tasks"), "There are no tasks.")
		})
	}
}

func TestTasksCommand(t *testing.T) {
	r := newRig(t, startTask(nil))
	check.Contains(t, "answer without agents", r.run("/ask @one x"), "[[agents]]")
	r.withTasks(map[string]channel.Agent{"one": {Model: &llmtest.Model{Func: blockUntilCanceled}}})
	check.Contains(t, "answer without an agent", r.run("/ask x"), "/ask @one")
	for n := range 4 {
		check.Contains(t, "/ask", r.run("/ask @one count"), fmt.Sprintf("Task %d of one has started", n+1))
	}
	check.Contains(t, "answer to the fifth task", r.run("/ask @one count"), "4 tasks are open here")
	check.Contains(t, "answer to a stop", r.run("/tasks stop 2"), "Task 2 of one was stopped.")
	check.Contains(t, "answer to the second stop", r.run("/tasks Stop 2"), "There is no open task 2")
	check.Contains(t, "answer without a number", r.run("/tasks stop"), "/tasks stop 3")
	check.Contains(t, "answer to an unknown number", r.run("/tasks stop 9"), "There is no open task 9")
	r.waitForSent("[Task 2 of one was stopped: Ada stopped it. What was asked: count]")
	check.Contains(t, "answer once there is room", r.run("/ask @one count"), "Task 5")
	task := r.task(1)
	check.Equal(t, "author of the task", task.Author, "u1")
	check.Equal(t, "state of the task", task.State, store.TaskOpen)
}

func TestTaskDepth(t *testing.T) {
	r := newRig(t, startTask(map[string]any{"agent": "one", "task": "level 1"}))
	offered := make(chan string, 10)
	deeper := func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		last := lastText(req)
		switch {
		case strings.Contains(last, "[Result of task"):
			return llmtest.Say("from below: " + last[strings.LastIndex(last, "]"):]), nil
		case req.Messages[len(req.Messages)-1].Role == llm.RoleTool:
			return llmtest.Say("I wait"), nil
		}
		has := false
		for _, tool := range req.Tools {
			has = has || tool.Name == "spawn"
		}
		offered <- fmt.Sprint(has)
		if !has {
			return llmtest.Say("the bottom"), nil
		}
		return llmtest.Use(llmtest.Call("1", "spawn", map[string]any{"agent": "one", "task": "deeper"})), nil
	}
	r.withTasks(map[string]channel.Agent{"one": {Model: &llmtest.Model{Func: deeper}, Spawn: []string{"one"}}})
	r.say("go", true)
	r.waitForSent("the bottom")
	check.Equal(t, "final state of the task", r.waitForTask(1).State, store.TaskDone)
	if got := <-offered + <-offered + <-offered; got != "truetruefalse" || len(offered) > 0 {
		t.Errorf("got the spawn tool: %s", got)
	}
	check.Must(r.store.Find(t.Context(), "task:task:task:"+place+"/1/1/1"))(t)
}

// The task below may end after the answer that waits for it was written and before it is sent.
func TestTaskAnswersResultThatCameBeforeItsReplyWasSent(t *testing.T) {
	r := newTaskRig(t, nil, alwaysSay("the bottom"))
	r.stop()
	s := check.Must(store.Open(t.Context(), store.Options{Dir: r.dir}))(t)
	begin := func(name string) *store.Conversation {
		above := check.Must(s.Conversation(t.Context(), name))(t)
		task := check.Must(above.Tasks().Begin(t.Context(), store.NewTask{Task: store.Task{Agent: "one", Text: "count"}, Message: "count", Most: 4}))(t)
		return check.Must(s.Find(t.Context(), task.Conversation))(t)
	}
	task := begin(place)
	said := storetest.Deliver(t, task)
	below := begin(task.Name())
	check.NoError(t, task.Turns().Finish(t.Context(), store.Outcome{
		Turn: 1, Reply: "reply-2", To: []string{said[0].ID}, Pieces: []string{"I wait"},
		Messages: []chat.Message{{Seq: 2, Turn: 1, Role: llm.RoleAssistant, ID: "reply-2", Text: "I wait", Time: time.Now()}},
	}))
	check.Must(below.Tasks().End(t.Context(), store.TaskDone, "one", "[Result of task 1] 42"))(t)
	check.NoError(t, s.Close())
	r.restart()
	r.waitForSent("the bottom")
	check.Equal(t, "final state of the task", r.waitForTask(1).State, store.TaskDone)
}

func TestEndlessTask(t *testing.T) {
	again := func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		return llmtest.Use(llmtest.Call(fmt.Sprint(n), "recall", map[string]any{"query": "x"})), nil
	}
	t.Run("expires with its last call", func(t *testing.T) {
		r := newRig(t, startTask(map[string]any{"agent": "one", "task": "count"}))
		one := &llmtest.Model{Func: again}
		r.withTasks(map[string]channel.Agent{"one": {Model: one, TaskCalls: 20}})
		r.say("go", true)
		r.waitForSent("[Task 1 of one expired: its model was asked 20 times, which is its limit")
		if task := r.waitForTask(1); task.State != store.TaskExpired || len(one.Requests()) != 20 || len(one.Requests()[19].Tools) > 0 {
			t.Errorf("%+v, %d requests", task, len(one.Requests()))
		}
	})
	t.Run("expires with its time", func(t *testing.T) {
		r := newRig(t, startTask(map[string]any{"agent": "one", "task": "count"}))
		r.withTasks(map[string]channel.Agent{"one": {Model: &llmtest.Model{Func: blockUntilCanceled}, TaskTime: 200 * time.Millisecond}})
		r.say("go", true)
		r.waitForSent("[Task 1 of one expired: its time is over")
		check.Equal(t, "final state of the task", r.waitForTask(1).State, store.TaskExpired)
	})
	t.Run("a task whose model fails reports it", func(t *testing.T) {
		r := newRig(t, startTask(map[string]any{"agent": "one", "task": "count"}))
		r.withTasks(map[string]channel.Agent{"one": {Model: &llmtest.Model{Func: func(context.Context, int, llm.Request) (llm.Response, error) {
			return llm.Response{}, &llm.Error{Kind: llm.KindAuth, Message: "no"}
		}}}})
		r.say("go", true)
		r.waitForSent("[Task 1 of one failed: ")
	})
}

func TestTaskCallsCountForParent(t *testing.T) {
	r := newRig(t, startTask(map[string]any{"agent": "one", "task": "count"}))
	r.opts.Rules.CallsPerHour = 8
	again := func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
		return llmtest.Use(llmtest.Call(fmt.Sprint(n), "recall", map[string]any{"query": "x"})), nil
	}
	one := &llmtest.Model{Func: again}
	r.withTasks(map[string]channel.Agent{"one": {Model: one}})
	r.say("go", true)
	check.Equal(t, "final state of the task", r.waitForTask(1).State, store.TaskFailed)
	if n := len(one.Requests()) + len(r.model.Requests()); n > 8 {
		t.Errorf("got %d calls, want at most 8", n)
	}
	check.Contains(t, "/context", r.run("/context"), "8 of 8 in the last hour")
}

func TestTaskSettings(t *testing.T) {
	set := func(values map[string]string) (func() compactor.Policy, func(string) string) {
		p, _ := compactor.Patch(values).Over(compactor.DefaultPolicy())
		return func() compactor.Policy { return p }, func(key string) string {
			if _, ok := values[key]; ok {
				return "a file"
			}
			return ""
		}
	}
	r := newRig(t, startTask(map[string]any{"agent": "one", "task": "x", "compaction": map[string]any{"keep_last_n": 3.0}}))
	r.agent.Policy, r.agent.Origin = set(map[string]string{"keep_last_n": "21", "keep_first": "5", "max_turns": "7"})
	one := channel.Agent{Spawn: []string{"one"}, Model: &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n > 1 || req.Messages[len(req.Messages)-1].Role == llm.RoleTool {
			return blockUntilCanceled(ctx, n, req)
		}
		return llmtest.Use(llmtest.Call("1", "spawn", map[string]any{"agent": "one", "task": "y", "compaction": map[string]any{"max_turns": "4", "notify": "message"}})), nil
	}}}
	one.Policy, one.Origin = set(map[string]string{"keep_last_n": "31", "keep_first": "32", "pin_budget": "33", "cooldown": "34m0s"})
	r.withTasks(map[string]channel.Agent{"one": one})
	r.run("/settings compaction.keep_first 6")
	r.say("go", true)
	r.waitForSent("started")
	child := "task:" + place + "/1"
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		if _, err := r.store.Find(t.Context(), "task:"+child+"/1"); err == nil {
			break
		}
	}
	for _, c := range []struct{ key, first, second, why string }{
		{"keep_last_n", "3", "3", "the call goes before the parent, and below it is a parent's"},
		{"keep_first", "6", "6", "/settings is a layer of the parent"},
		{"max_turns", "7", "4", "the parent goes before the default; the second call before both"},
		{"pin_budget", "33", "33", "nobody else sets what the definition does"},
		{"cooldown", "34m0s", "34m0s", "likewise"},
		{"notify", compactor.DefaultPolicy().Notify, "message", "the second call sets it"},
		{"rollup_fan_in", compactor.DefaultPolicy().Value("rollup_fan_in"), compactor.DefaultPolicy().Value("rollup_fan_in"), "nobody sets it"},
	} {
		for name, want := range map[string]string{child: c.first, "task:" + child + "/1": c.second} {
			all, _, err := r.hub.Operator().Settings(t.Context(), name)
			check.NoError(t, err)
			i := slices.IndexFunc(all, func(s channel.Setting) bool { return s.Key == c.key })
			if got := fmt.Sprint(all[i].Value); got != want {
				t.Errorf("%s of %s: got %s, want %s: %s", c.key, name, got, want, c.why)
			}
		}
	}
}
