package channel_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/internal/check"

	"cairn/channel"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
	"cairn/store"
)

// toolSteps makes n tool calls, with a number for each, and then says that it is done.
func toolSteps(n int, before func(ctx context.Context, n int)) script {
	var made atomic.Int64
	return func(ctx context.Context, _ int, req llm.Request) (llm.Response, error) {
		step := int(made.Add(1))
		before(ctx, step)
		if ctx.Err() != nil {
			made.Add(-1)
			return llm.Response{}, ctx.Err()
		}
		if step > n {
			return llmtest.Say(fmt.Sprintf("done after %d steps", n)), nil
		}
		return llmtest.Use(llmtest.Call(fmt.Sprint(step), "recall", map[string]any{"query": fmt.Sprint("step ", step)})), nil
	}
}

func TestTaskResumesAfterRestart(t *testing.T) {
	r := newRig(t, startTask(map[string]any{"agent": "one", "task": "count"}))
	reached := make(chan struct{})
	stop := true
	one := &llmtest.Model{Func: toolSteps(20, func(ctx context.Context, n int) {
		if n == 12 && stop {
			close(reached)
			<-ctx.Done()
			stop = false
		}
	})}
	r.withTasks(map[string]channel.Agent{"one": {Model: one}})
	r.say("go", true)
	<-reached
	before := r.task(1)
	r.restart()
	r.waitForSent("done after 20 steps")
	task := r.waitForTask(1)
	check.That(t, task.State == store.TaskDone && before.Messages >= 17, "%+v, before the restart %+v", task, before)
	conv := check.Must(r.store.Find(t.Context(), task.Conversation))(t)
	page := check.Must(conv.Transcript().Page(t.Context(), 1, 1000))(t)
	asked := map[string]int{}
	for _, m := range page {
		for _, call := range m.Calls {
			asked[call.Arguments]++
		}
	}
	for step := 1; step <= 8; step++ {
		check.Equal(t, fmt.Sprintf("results of step %d", step), asked[fmt.Sprintf(`{"query":"step %d"}`, step)], 1)
	}
	r.restart()
	check.Equal(t, "requests after another restart", len(r.tasks()), 1)
	check.Equal(t, "state of the task", r.task(1).State, store.TaskDone)
}

func TestTaskOfRemovedAgentFails(t *testing.T) {
	r := newTaskRig(t, map[string]any{"agent": "one", "task": "count"}, blockUntilCanceled)
	r.say("go", true)
	r.waitForSent("started")
	r.opts.Agents = func(string) (channel.Agent, bool) { return channel.Agent{}, false }
	r.restart()
	r.waitForSent("[Task 1 of one failed: there is no agent one any more.")
}

func TestPauseStopsTasks(t *testing.T) {
	for _, where := range []string{"", " everywhere"} {
		r := newRig(t, startTask(nil))
		reached := make(chan struct{})
		var held atomic.Bool
		one := &llmtest.Model{Func: toolSteps(3, func(ctx context.Context, n int) {
			if n == 2 && held.CompareAndSwap(false, true) {
				close(reached)
				select {
				case <-ctx.Done():
				case <-time.After(5 * time.Second):
					t.Error("the task goes on")
				}
			}
		})}
		r.withTasks(map[string]channel.Agent{"one": {Model: one}})
		r.run("/ask @one count")
		<-reached
		r.run("/pause" + where)
		time.Sleep(50 * time.Millisecond)
		if n := len(one.Requests()); n != 2 || r.task(1).State != store.TaskOpen {
			t.Errorf("%d requests, %+v", n, r.task(1))
		}
		r.wantAnswer("/ask @one wait", "Task 2 of one has started", "I am still paused", "/resume"+where+" ends that.")
		r.run("/tasks stop 2")
		all := func(string) bool { return true }
		check.NoError(t, r.hub.Operator().DrainTasks(t.Context(), all, func(int) { t.Error("Drain waits for a paused task") }))
		r.run("/resume" + where) // it continues immediately, not at the next check
		told := 0
		check.NoError(t, r.hub.Operator().DrainTasks(t.Context(), all, func(open int) { told = open }))
		check.Equal(t, "rounds until the answer", told, 1)
		check.Equal(t, "state of the task", r.task(1).State, store.TaskDone)
		r.waitForSent("[Result of task 1")
	}
}

// Drain waits for the answer to a result, even if no task is open any more.
func TestDrainWaitsForReplyToLastTask(t *testing.T) {
	r := newTaskRig(t, nil, alwaysSay("I counted."))
	reached, release := make(chan struct{}), make(chan struct{})
	r.model.Func = func(context.Context, int, llm.Request) (llm.Response, error) {
		close(reached)
		<-release
		return llmtest.Say("It is counted."), nil
	}
	r.run("/ask @one count")
	<-reached
	drained := make(chan error, 1)
	go func() {
		drained <- r.hub.Operator().DrainTasks(context.Background(), func(string) bool { return true }, func(int) {})
	}()
	select {
	case err := <-drained:
		t.Errorf("Drain returned early: %v", err)
		drained <- err
	case <-time.After(300 * time.Millisecond):
	}
	close(release)
	check.NoError(t, <-drained)
	r.waitForSent("It is counted.")
}

// The settings of a task may repeat what people said, such as its focus.
func TestDeletionReachesTasks(t *testing.T) {
	r := newTaskRig(t, map[string]any{"agent": "one", "task": "look after Rosebud", "compaction": map[string]any{"focus": "Rosebud"}}, alwaysSay("Rosebud is a sledge"))
	r.say("Rosebud is a secret", false) // m1
	r.say("go", true)                   // m2
	r.waitForSent("Rosebud is a sledge")
	task := r.waitForTask(1)
	check.Equal(t, "focus", task.Own["focus"], "Rosebud")
	r.waitForReplies()
	check.NoError(t, r.hub.Delete(t.Context(), place, "m1"))
	conv := check.Must(r.store.Find(t.Context(), task.Conversation))(t)
	for _, m := range check.Must(conv.Transcript().Page(t.Context(), 1, 100))(t) {
		t.Errorf("message #%d of the task: got %s, want it deleted", m.Seq, m.Text)
	}
	if found := check.Must(memory.Of(conv).Recall(t.Context(), memory.Question{Text: "Rosebud", Limit: 3}))(t); len(found) > 0 {
		t.Errorf("got %+v, want nothing found", found)
	}
	r.wantNoUser("Rosebud")
	task = r.task(1)
	check.Equal(t, "text of the task", task.Text, "")
	check.Equal(t, "settings left", len(task.Own), 0)
	check.Equal(t, "state", task.State, store.TaskDone)
	check.Contains(t, "/tasks", r.run("/tasks"), "(deleted)")
}

func TestSummariesNameOpenTasks(t *testing.T) {
	r := newTaskRig(t, map[string]any{"agent": "one", "task": "look after Rosebud"}, blockUntilCanceled)
	r.say("go", true)
	r.waitForSent("started")
	for n := range 15 {
		r.ask(fmt.Sprintf("message %d %s", n, strings.Repeat("with some words ", 40)))
	}
	r.run("/settings compaction.keep_last_n 2")
	r.run("/compact")
	conv := check.Must(r.store.Find(t.Context(), place))(t)
	var text string
	for until := time.Now().Add(10 * time.Second); text == "" && time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		head, _, err := conv.Compactions().Head(t.Context())
		check.NoError(t, err)
		if len(head.Stack) > 0 {
			text = head.Stack[0].Text
		}
	}
	check.Contains(t, "the summary", text, "Open task 1 of the agent one began after #1")
}

func TestTasksAndConversationsAreIsolated(t *testing.T) {
	r := newRig(t, startTask(map[string]any{"agent": "one", "task": "count"}))
	read := make(chan string, 2)
	r.withTasks(map[string]channel.Agent{"one": {Model: &llmtest.Model{Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		last := req.Messages[len(req.Messages)-1]
		switch {
		case n == 1:
			return llmtest.Use(llmtest.Call("1", "recall", map[string]any{"query": "password"})), nil
		case n == 2:
			read <- last.Text
			return llmtest.Use(llmtest.Call("2", "memory_search", map[string]any{"query": "password"})), nil
		case n == 3:
			read <- last.Text
			return llmtest.Use(llmtest.Call("3", "memory_save", map[string]any{"content": "The towers have a janitor named Quirin.", "kind": "fact", "importance": 0.9})), nil
		}
		return llmtest.Say("counted"), nil
	}}}})
	r.say("the password is swordfish", false)
	r.run("/remember the password is swordfish")
	for n := range 25 {
		r.say(fmt.Sprint("nothing much ", n), false)
	}
	r.say("go", true)
	r.waitForSent("counted")
	for range 2 {
		check.Lacks(t, "prompt of the task", <-read, "swordfish")
	}
	check.Lacks(t, "memories of the conversation", r.run("/memories"), "Quirin")
	check.Lacks(t, "prompt of the conversation", r.run("/recall janitor Quirin"), "towers")
}
