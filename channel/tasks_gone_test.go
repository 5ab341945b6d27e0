package channel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
)

// wantTaskErased checks that neither the record of the first task nor a message repeats what was asked.
func (r *rig) wantTaskErased(text string) {
	r.t.Helper()
	task := r.task(1)
	check.That(r.t, task.Text+task.Author == "" && len(task.Own) == 0, "got task %+v", task)
	for _, line := range r.transcript() {
		check.That(r.t, !strings.HasPrefix(line, "user:") || !strings.Contains(line, text), "got %s in the conversation", line)
	}
}

// startedTask returns a rig with a task that has ended.
func startedTask(t *testing.T) *rig {
	r := newTaskRig(t, nil, alwaysSay("Rosebud is a sledge"))
	r.run("/ask @one what is Rosebud?")
	r.waitForSent("Rosebud is a sledge")
	r.waitForTask(1)
	r.waitForReplies()
	return r
}

// A purged conversation takes its tasks with it. No platform ID and no name is used twice: a new task gets
// neither the conversation nor the result of a purged one.
func TestPurgeReachesTasks(t *testing.T) {
	r := startedTask(t)
	r.reopen()
	check.NoError(t, privacy.Of(storetest.Find(t, r.store, place)).Purge(t.Context()))
	for _, name := range []string{place, "task:" + place + "/1"} {
		_, held, err := privacy.In(r.store).Holdings(t.Context(), name)
		check.That(t, err == nil && len(held) == 1 && held.Total().Messages == 0, "%s: %+v, %v", name, held, err)
	}
	r.wantTaskErased("Rosebud")
	r.restart()
	r.connector.note(func() { r.connector.sent = nil })
	r.wantAnswer("/ask @one and now?", "has started")
	r.waitForSent("Rosebud is a sledge")
}

// What a person asked an agent for is theirs, even if they never wrote a message.
func TestForgetMeReachesTasks(t *testing.T) {
	r := startedTask(t)
	r.wantAnswer("/forget me", "This deletes 1 message and 0 memories of yours")
	r.wantAnswer("/forget me everywhere", "This deletes 1 message and 0 memories of yours")
	check.Contains(t, "/forget me yes", r.finished(r.runAsManager("/forget me yes")), "Deleted: everything of yours")
	r.waitForReplies()
	r.wantTaskErased("Rosebud")
	r.wantAnswer("/forget me", "I have nothing of yours in this conversation.")
}

// A task goes with the messages it came from, and so does one that was told the result of another one. The
// settings of a task may repeat what people said, such as its focus.
func TestDeletionReachesTasks(t *testing.T) {
	const briefed = 20 // messages of its parent that a task is told
	r := newTaskRig(t, map[string]any{"agent": "one", "task": "look after Rosebud", "compaction": map[string]any{"focus": "Rosebud"}}, alwaysSay("Rosebud is a sledge"))
	r.say("Rosebud is a secret", false) // m1
	r.say("go", true)
	r.waitForSent("Rosebud is a sledge")
	first := r.waitForTask(1)
	check.Equal(t, "focus", first.Own["focus"], "Rosebud")
	r.waitForReplies()
	for n := range briefed - 6 { // the briefing of the second task reaches the result, and not m1
		r.say(fmt.Sprint("nothing much ", n), false)
	}
	r.say("go", true)
	second := r.waitForTask(2)
	r.waitForReplies()
	briefing := r.messagesIn(second.Conversation)[0].Text
	check.Contains(t, "briefing of the second task", briefing, "[Result of task 1")
	check.Lacks(t, "briefing of the second task", briefing, "is a secret")
	check.NoError(t, r.hub.Delete(t.Context(), place, "m1"))
	for _, task := range []store.Task{first, second} {
		check.Len(t, "messages of the task", r.messagesIn(task.Conversation), 0)
		found := check.Must(memory.Of(storetest.Find(t, r.store, task.Conversation)).Recall(t.Context(), memory.Question{Text: "Rosebud", Limit: 3}))(t)
		check.Len(t, "found", found, 0)
	}
	r.wantTaskErased("Rosebud")
	check.Equal(t, "state", r.task(1).State, store.TaskDone)
	r.wantAnswer("/tasks", "(deleted)")
}

// A task that is running ends with the message it came from, or by a command, and so do the tasks below it; their
// conversations are not stuck.
func TestEndOfOpenTaskReachesTasksBelow(t *testing.T) {
	for how, end := range map[string]func(*rig){
		"deletion": func(r *rig) { check.NoError(t, r.hub.Delete(t.Context(), place, "m1")) },
		"command":  func(r *rig) { r.wantAnswer("/tasks stop 1", "was stopped") },
	} {
		asked, ended := make(chan struct{}, 2), make(chan struct{}, 2)
		two := func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			asked <- struct{}{}
			defer func() { ended <- struct{}{} }()
			return blockUntilCanceled(ctx, n, req)
		}
		one := then(useTool("spawn", map[string]any{"agent": "two", "task": "go on"}), two)
		r := newRig(t, startTask(counting))
		j := r.captureLog()
		r.withTasks(map[string]channel.Agent{
			"one": {Model: &llmtest.Model{Func: one}, Spawn: []string{"two"}},
			"two": {Model: &llmtest.Model{Func: two}},
		})
		r.say("go", true)
		<-asked
		<-asked
		r.waitForSent("started")
		end(r)
		<-ended
		<-ended
		r.waitIdle("task:" + place + "/1")
		r.waitIdle("task:task:" + place + "/1/1")
		check.Equal(t, how+": state of the task", r.task(1).State, store.TaskStopped)
		check.Equal(t, how+": stuck conversations", r.hub.Stats().Stuck, 0)
		check.Lacks(t, how+": log", j.String(), "conversation_stalled")
	}
}

// The work of an attempt that is made again is dropped, and with it the tasks that it started.
func TestRetriedTurnStartsTasksOnce(t *testing.T) {
	counts := make(chan struct{})
	r := newTaskRig(t, counting, func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
		select {
		case <-counts:
		case <-ctx.Done():
		}
		return llmtest.Say("I counted."), ctx.Err()
	})
	start := r.model.Func
	r.model.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 2 {
			return llm.Response{}, &llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "busy"}
		}
		return start(ctx, n, req)
	}
	r.say("go", true)
	r.waitForSent("started")
	close(counts)
	r.waitForSent("I counted.")
	check.Equal(t, "state of the second task", r.waitForTask(2).State, store.TaskDone)
	r.waitForReplies()
	check.Equal(t, "state of the first task", r.task(1).State, store.TaskStopped)
	check.Len(t, "sent", r.connector.texts(), 2)
}
