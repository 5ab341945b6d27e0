package channel_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/store"
)

// toolSteps makes n tool calls, with a number for each, and then says that it is done.
func toolSteps(n int, before func(ctx context.Context, n int)) *llmtest.Model {
	var made atomic.Int64
	return &llmtest.Model{Func: func(ctx context.Context, _ int, req llm.Request) (llm.Response, error) {
		step := int(made.Add(1))
		before(ctx, step)
		switch {
		case ctx.Err() != nil:
			made.Add(-1)
			return llm.Response{}, ctx.Err()
		case step > n:
			return llmtest.Say(fmt.Sprintf("done after %d steps", n)), nil
		}
		return llmtest.Use(llmtest.Call(fmt.Sprint(step), "recall", map[string]any{"query": fmt.Sprint("step ", step)})), nil
	}}
}

func TestTaskResumesAfterRestart(t *testing.T) {
	reached := make(chan struct{})
	stop := true
	r := newRigWithOne(t, counting, channel.Agent{Model: toolSteps(20, func(ctx context.Context, n int) {
		if n == 12 && stop {
			close(reached)
			<-ctx.Done()
			stop = false
		}
	})})
	r.say("go", true)
	<-reached
	before := r.task(1)
	r.restart()
	r.waitForSent("done after 20 steps")
	task := r.waitForTask(1)
	check.That(t, task.State == store.TaskDone && before.Messages >= 17, "%+v, before the restart %+v", task, before)
	asked := map[string]int{}
	for _, m := range r.messagesIn(task.Conversation) {
		for _, call := range m.Calls {
			asked[call.Arguments]++
		}
	}
	for step := 1; step <= 8; step++ {
		check.Equal(t, fmt.Sprintf("results of step %d", step), asked[fmt.Sprintf(`{"query":"step %d"}`, step)], 1)
	}
	r.restart()
	check.Len(t, "tasks after another restart", r.tasks(), 1)
	check.Equal(t, "state of the task", r.task(1).State, store.TaskDone)
}

func TestTaskOfRemovedAgentFails(t *testing.T) {
	r := newTaskRig(t, counting, blockUntilCanceled)
	r.say("go", true)
	r.waitForSent("started")
	r.opts.Agents = func(string) (channel.Agent, bool) { return channel.Agent{}, false }
	r.restart()
	r.waitForSent("[Task 1 of one failed: there is no agent one any more.")
}

func TestPauseStopsTasks(t *testing.T) {
	for _, where := range []string{"", " everywhere"} {
		synctest.Test(t, func(t *testing.T) {
			var held atomic.Bool
			one := toolSteps(3, func(ctx context.Context, n int) {
				if n == 2 && held.CompareAndSwap(false, true) {
					<-ctx.Done()
				}
			})
			r := newRigWithOne(t, nil, channel.Agent{Model: one})
			r.run("/ask @one count")
			synctest.Wait()
			r.run("/pause" + where)
			time.Sleep(time.Minute)
			check.Len(t, "requests", one.Requests(), 2)
			check.Equal(t, "state of the task", r.task(1).State, store.TaskOpen)
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
			r.stop()
		})
	}
}

// Drain waits for the answer to a result, even if no task is open any more.
func TestDrainWaitsForReplyToLastTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTaskRig(t, nil, alwaysSay("I counted."))
		r.model.Func = func(context.Context, int, llm.Request) (llm.Response, error) {
			time.Sleep(time.Minute)
			return llmtest.Say("It is counted."), nil
		}
		r.run("/ask @one count")
		check.NoError(t, r.hub.Operator().DrainTasks(t.Context(), func(string) bool { return true }, func(int) {}))
		check.Equal(t, "sent", r.lastText(), "It is counted.")
		r.stop()
	})
}

func TestSummariesNameOpenTasks(t *testing.T) {
	r := newTaskRig(t, counting, blockUntilCanceled)
	r.say("go", true)
	r.waitForSent("started")
	for n := range 6 {
		r.ask(fmt.Sprintf("message %d %s", n, strings.Repeat("with some words ", 40)))
	}
	r.run("/settings compaction.keep_last_n 2")
	r.run("/compact")
	r.waitForEvent(compactor.EventApplied)
	head, _, err := storetest.Find(t, r.store, place).Compactions().Head(t.Context())
	check.NoError(t, err)
	check.Contains(t, "the summary", head.Stack[0].Text, "Open task 1 of the agent one began after #1")
}

func TestTasksAndConversationsAreIsolated(t *testing.T) {
	one := &llmtest.Model{Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		switch n {
		case 1:
			return llmtest.Use(llmtest.Call("1", "recall", map[string]any{"query": "password"})), nil
		case 2:
			return llmtest.Use(llmtest.Call("2", "memory_search", map[string]any{"query": "password"})), nil
		case 3:
			return llmtest.Use(llmtest.Call("3", "memory_save", map[string]any{"content": "The towers have a janitor named Quirin.", "kind": "fact", "importance": 0.9})), nil
		}
		return llmtest.Say("counted"), nil
	}}
	r := newRigWithOne(t, counting, channel.Agent{Model: one})
	r.say("the password is swordfish", false)
	r.run("/remember the password is swordfish")
	for n := range 25 {
		r.say(fmt.Sprint("nothing much ", n), false)
	}
	r.say("go", true)
	r.waitForSent("counted")
	check.Len(t, "requests of the task", one.Requests(), 4)
	check.Lacks(t, "prompt of the task", textOf(one.Requests()[3]), "swordfish")
	check.Lacks(t, "memories of the conversation", r.run("/memories"), "Quirin")
	check.Lacks(t, "prompt of the conversation", r.run("/recall janitor Quirin"), "towers")
}
