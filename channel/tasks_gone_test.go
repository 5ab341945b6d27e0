package channel_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/privacy"
	"cairn/store"
)

// A purged conversation takes its tasks with it. No platform ID and no name is used twice: a new task gets
// neither the conversation nor the result of a purged one.
func TestPurgeReachesTasks(t *testing.T) {
	r := newTaskRig(t, nil, alwaysSay("Rosebud is a sledge"))
	r.run("/ask @one what is Rosebud?")
	r.waitForSent("Rosebud is a sledge")
	r.waitForTask(1)
	r.waitForReplies()
	r.reopen()
	conv := check.Must(r.store.Find(t.Context(), place))(t)
	check.NoError(t, privacy.Of(conv).Purge(t.Context()))
	for _, name := range []string{place, "task:" + place + "/1"} {
		_, held, err := privacy.In(r.store).Holdings(t.Context(), name)
		check.NoError(t, err)
		check.Len(t, "conversations", held, 1)
		check.Equal(t, "messages left", held.Total().Messages, 0)
	}
	check.Equal(t, "text of the task", r.task(1).Text, "")
	check.Equal(t, "author of the task", r.task(1).Author, "")
	r.restart()
	r.connector.note(func() { r.connector.sent = nil })
	check.Contains(t, "answer", r.run("/ask @one and now?"), "has started")
	r.waitForSent("Rosebud is a sledge")
}

// A task that is running ends with the message it came from, and so do the tasks below it; their
// conversations are not stuck.
func TestDeletionEndsOpenTasks(t *testing.T) {
	for name, running := range map[string]string{"its own turn": "task:" + place + "/1", "the turn of a task below": "task:task:" + place + "/1/1"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, startTask(map[string]any{"agent": "one", "task": "look after Rosebud"}))
			j := r.captureLog()
			asked, ended := make(chan struct{}), make(chan struct{})
			runs := func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
				close(asked)
				<-ctx.Done()
				close(ended)
				return llm.Response{}, ctx.Err()
			}
			first := script(runs)
			if store.ParentOf(running) != place {
				first = startTask(map[string]any{"agent": "two", "task": "go on"})
			}
			r.withTasks(map[string]channel.Agent{"one": {Model: &llmtest.Model{Func: first}, Spawn: []string{"two"}}, "two": {Model: &llmtest.Model{Func: runs}}})
			r.say("go", true)
			<-asked
			r.waitForSent("started")
			check.NoError(t, r.hub.Delete(t.Context(), place, "m1"))
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				t.Error("the turn is still running")
			}
			check.NoError(t, r.hub.Idle(t.Context(), running))
			check.Equal(t, "state of the task", r.task(1).State, store.TaskStopped)
			check.Equal(t, "stuck conversations", r.hub.Stats().Stuck, 0)
			check.Lacks(t, "log", j.String(), "conversation_stalled")
		})
	}
}

// A task that was told the result of another one goes with what that one came from.
func TestDeletionReachesTasksOfResults(t *testing.T) {
	r := newTaskRig(t, map[string]any{"agent": "one", "task": "look after it"}, alwaysSay("Rosebud is a sledge"))
	r.say("Rosebud is a secret", false) // m1
	r.say("go", true)
	r.waitForSent("Rosebud is a sledge")
	r.waitForTask(1)
	r.waitForReplies()
	for n := range briefed - 6 { // the briefing of the second task reaches the result, and not m1
		r.say(fmt.Sprint("nothing much ", n), false)
	}
	r.say("go", true)
	second := r.waitForTask(2)
	r.waitForReplies()
	conv := check.Must(r.store.Find(t.Context(), second.Conversation))(t)
	page := check.Must(conv.Transcript().Page(t.Context(), 1, 1))(t)
	check.Contains(t, "briefing of the second task", page[0].Text, "[Result of task 1")
	check.Lacks(t, "briefing of the second task", page[0].Text, "is a secret")
	check.NoError(t, r.hub.Delete(t.Context(), place, "m1"))
	check.Len(t, "messages of the second task", check.Must(conv.Transcript().Page(t.Context(), 1, 100))(t), 0)
	r.wantNoUser("Rosebud")
}

// briefed is how many messages of its parent a task is told.
const briefed = 20

// What a person asked an agent for is theirs, even if they never wrote a message.
func TestForgetMeReachesTasks(t *testing.T) {
	r := newTaskRig(t, nil, alwaysSay("Rosebud is a sledge"))
	r.run("/ask @one what is Rosebud?")
	r.waitForSent("Rosebud is a sledge")
	r.waitForTask(1)
	r.waitForReplies()
	for _, where := range []string{"", " everywhere"} {
		check.Contains(t, "/forget me"+where, r.run("/forget me"+where), "This deletes 1 message and 0 memories of yours")
	}
	check.Contains(t, "/forget me yes", r.finished(r.runAsManager("/forget me yes")), "Deleted: everything of yours")
	check.Equal(t, "text of the task", r.task(1).Text, "")
	check.Equal(t, "author of the task", r.task(1).Author, "")
	r.waitForReplies()
	r.wantNoUser("Rosebud")
	check.Equal(t, "/forget me", r.run("/forget me"), "I have nothing of yours in this conversation.")
}

// The work of an attempt that is made again is dropped, and with it the tasks that it started.
func TestRetriedTurnStartsTasksOnce(t *testing.T) {
	for name, failing := range map[string]func(r *rig, ctx context.Context) error{
		"the process is killed": func(_ *rig, ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"the server fails": func(*rig, context.Context) error {
			return &llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "busy"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			script := startTask(map[string]any{"agent": "one", "task": "count"})
			failed := make(chan struct{})
			var r *rig
			r = newRig(t, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
				if n == 2 {
					close(failed)
					return llm.Response{}, failing(r, ctx)
				}
				return script(ctx, n, req)
			})
			counts := make(chan struct{})
			r.withTasks(map[string]channel.Agent{"one": {Model: &llmtest.Model{Func: func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
				select {
				case <-counts:
					return llmtest.Say("I counted."), nil
				case <-ctx.Done():
					return llm.Response{}, ctx.Err()
				}
			}}}})
			r.say("go", true)
			<-failed
			if name == "the process is killed" {
				r.restart()
			}
			r.waitForSent("started")
			close(counts)
			r.waitForSent("I counted.")
			r.waitForTask(2)
			r.waitForReplies()
			check.Equal(t, "state of the first task", r.task(1).State, store.TaskStopped)
			check.Equal(t, "state of the second task", r.task(2).State, store.TaskDone)
			check.Len(t, "sent", r.connector.texts(), 2)
		})
	}
}
