package channel_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"cairn/channel"
	"cairn/channel/report"
	"cairn/channel/task"
	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

func TestTasksWithoutResult(t *testing.T) {
	callAgain := inTurn(useTool("recall", map[string]any{"query": "x"}))
	for name, c := range map[string]struct {
		model    script
		one      channel.Agent
		calls    int // of all models in an hour; 0: no limit
		says     string
		state    store.TaskState
		requests int
	}{
		"its last call":                     {callAgain, channel.Agent{Tasks: task.Limits{Calls: 20}}, 0, "expired: it reached its limit of 20 model requests", store.TaskExpired, 20},
		"its time":                          {blockUntilCanceled, channel.Agent{Tasks: task.Limits{Time: 200 * time.Millisecond}}, 0, "expired: it ran out of time", store.TaskExpired, 1},
		"its model":                         {failing(&llm.Error{Kind: llm.KindAuth, Message: "no"}), channel.Agent{}, 0, "failed: ", store.TaskFailed, 1},
		"the last call of the conversation": {callAgain, channel.Agent{}, 8, "", store.TaskFailed, 0}, // requests: of its model
	} {
		one := &llmtest.Model{Func: c.model}
		c.one.Model = one
		r := newRig(t, startTask(counting))
		r.opts.Rules.CallsPerHour = c.calls
		r.withTasks(map[string]channel.Agent{"one": c.one})
		r.say("go", true)
		check.Equal(t, name+": final state", r.waitForTask(1).State, c.state)
		if c.requests == 0 {
			r.waitForSent("")
			check.Len(t, name+": requests", append(one.Requests(), r.model.Requests()...), c.calls)
			continue
		}
		r.waitForSent("[Task 1 of one " + c.says)
		check.Len(t, name+": requests", one.Requests(), c.requests)
		check.Equal(t, name+": the last request has tools", len(one.Requests()[c.requests-1].Tools) > 0, c.one.Tasks.Calls == 0)
	}
	// An agent may be removed.
	r := newTaskRig(t, counting, blockUntilCanceled)
	r.sayUntil("go", "started")
	r.opts.Agents = func(string) (channel.Agent, bool) { return channel.Agent{}, false }
	r.restart()
	r.waitForSent("[Task 1 of one failed: there is no agent one any more.")
}

// The task below may end after the answer that waits for it was written and before it is sent.
func TestTaskAnswersResultThatCameBeforeItsReplyWasSent(t *testing.T) {
	r := newTaskRig(t, nil, alwaysSay("the bottom"))
	r.reopen()
	begin := func(name string) *store.Conversation {
		above := storetest.Find(t, r.store, name)
		task := check.Must(above.Tasks().Begin(t.Context(), store.NewTask{Task: store.Task{Agent: "one", Text: "count"}, Message: "count", Max: 4, Chain: 8}))(t)
		return storetest.Find(t, r.store, task.Conversation)
	}
	task := begin(place)
	said := storetest.Deliver(t, task)
	below := begin(task.Name())
	check.Must(task.Turns().Finish(t.Context(), store.Outcome{
		Turn: 1, Reply: "reply-2", To: []string{said[0].ID}, Pieces: []string{"I wait"},
		Messages: []chat.Message{{Seq: 2, Turn: 1, Role: llm.RoleAssistant, ID: "reply-2", Text: "I wait", Time: time.Now()}},
	}))(t)
	check.Must(below.Tasks().End(t.Context(), store.TaskDone, "one", "[Result of task 1] 42"))(t)
	r.restart()
	r.waitForSent("the bottom")
	check.Equal(t, "final state of the task", r.waitForTask(1).State, store.TaskDone)
}

func TestTaskSettings(t *testing.T) {
	set := func(values map[string]string) (func() compactor.Policy, func(string) string) {
		p, _ := compactor.Patch(values).Over(compactor.DefaultPolicy())
		return func() compactor.Policy { return p }, func(key string) string { return values[key] } // any text is an origin
	}
	r := newRig(t, startTask(map[string]any{"agent": "one", "task": "x", "compaction": map[string]any{"keep_last_n": 3.0}}))
	r.agent.Policy, r.agent.Origin = set(map[string]string{"keep_last_n": "21", "keep_first": "5", "max_turns": "7"})
	spawn := useTool("spawn", map[string]any{"agent": "one", "task": "y", "compaction": map[string]any{"max_turns": "4", "notify": "message"}})
	one := channel.Agent{Spawn: []string{"one"}, Model: &llmtest.Model{Func: then(spawn, blockUntilCanceled)}}
	one.Policy, one.Origin = set(map[string]string{"keep_last_n": "31", "keep_first": "32", "pin_budget": "33", "cooldown": "34m0s"})
	r.withTasks(map[string]channel.Agent{"one": one})
	r.run("/settings compaction.keep_first 6")
	r.sayUntil("go", "started")
	child := "task:" + place + "/1"
	grandchild := "task:" + child + "/1"
	check.Require(t, check.Soon(func() bool { return check.ErrorOf(r.store.Find(t.Context(), grandchild)) == nil }), "the second task does not begin")
	for _, c := range []struct{ key, first, second, why string }{
		{"keep_last_n", "3", "3", "the call goes before the parent, and below it is a parent's"},
		{"keep_first", "6", "6", "/settings is a layer of the parent"},
		{"max_turns", "7", "4", "the parent goes before the default; the second call before both"},
		{"pin_budget", "33", "33", "nobody else sets what the definition does"},
		{"cooldown", "34m0s", "34m0s", "likewise"},
		{"notify", compactor.DefaultPolicy().Notify, "message", "the second call sets it"},
	} {
		for name, want := range map[string]string{child: c.first, grandchild: c.second} {
			all, _, err := r.hub.Operator().Settings(t.Context(), name)
			check.NoError(t, err)
			i := slices.IndexFunc(all, func(s report.Setting) bool { return s.Key == c.key })
			check.Equal(t, c.key+" of "+name+": "+c.why, fmt.Sprint(all[i].Value), want)
		}
	}
}

// toolSteps makes n tool calls, with a number for each, and then says that it is done.
func toolSteps(n int, before func(ctx context.Context, n int)) *llmtest.Model {
	step := 0
	return &llmtest.Model{Func: func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
		before(ctx, step+1)
		if ctx.Err() != nil {
			return llm.Response{}, ctx.Err()
		}
		step++
		if step > n {
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
	for step := range 8 {
		check.Equal(t, "results of a step", asked[fmt.Sprintf(`{"query":"step %d"}`, step+1)], 1)
	}
	r.restart()
	check.Len(t, "tasks after another restart", r.tasks(), 1)
	check.Equal(t, "state of the task", r.task(1).State, store.TaskDone)
}

func TestPauseStopsTasks(t *testing.T) {
	for _, where := range []string{"", " everywhere"} {
		inBubble(t, startTask(nil), func(t *testing.T, r *rig) {
			held := false
			one := toolSteps(3, func(ctx context.Context, n int) {
				if held {
					time.Sleep(time.Second) // the task is seen open
				} else if n == 2 {
					held = true
					<-ctx.Done()
				}
			})
			r.withTasks(map[string]channel.Agent{"one": {Model: one}})
			r.run("/ask @one count")
			synctest.Wait()
			r.run("/pause" + where)
			time.Sleep(time.Minute)
			check.Len(t, "requests", one.Requests(), 2)
			check.Equal(t, "state of the task", r.task(1).State, store.TaskOpen)
			r.wantAnswer("/ask @one wait", "Task 2 of one has started", "I am still paused", "/resume"+where+" ends the pause.")
			r.run("/tasks stop 2")
			r.drainTasks(func(int) { t.Error("Drain waits for a paused task") })
			r.run("/resume" + where) // it continues immediately, not at the next check
			told := 0
			r.drainTasks(func(open int) { told = open })
			check.Equal(t, "rounds until the answer", told, 1)
			check.Equal(t, "state of the task", r.task(1).State, store.TaskDone)
			r.waitForSent("[Result of task 1")
		})
	}
}

func TestStopRightAfterTaskBegan(t *testing.T) {
	r := newRig(t, startTask(counting))
	began := 0
	r.opts.Task = func(task store.Task) { // of its end, too: then /stop may meet the answer to the result, or the end of the test
		if task.State == store.TaskOpen && task.Messages == 0 {
			began++
			r.run("/stop")
		}
	}
	r.withTasks(map[string]channel.Agent{"one": {Model: &llmtest.Model{Func: alwaysSay("I counted.")}}})
	r.sayUntil("go", "I counted.")
	check.Equal(t, "tasks stopped as they began", began, 1)
}

// Drain waits for the answer to a result even if no task is open any more, and for the task that such an answer starts.
func TestDrainWaitsForReplyToLastTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTaskRig(t, nil, after(5*time.Second, alwaysSay("I counted.")))
		r.model.Func = after(time.Second, inTurn(useTool("spawn", counting), llmtest.Say("I count again."), llmtest.Say("It is counted.")))
		r.run("/ask @one count")
		r.drainTasks(func(int) {})
		check.EqualAll(t, "sent", r.connector.texts(), []string{"I count again.", "It is counted."})
		r.stop()
	})
}

func TestSummariesNameOpenTasks(t *testing.T) {
	r := newTaskRig(t, counting, blockUntilCanceled)
	r.sayUntil("go", "started")
	r.askTurns(6, 120)
	r.run("/settings compaction.keep_last_n 2")
	r.run("/compact")
	r.waitForEvent(compactor.EventApplied)
	check.Contains(t, "the summary", storetest.Peek(t, storetest.Find(t, r.store, place)).Head.Stack[0].Text, "Open task 1 of the agent one began after #1")
}

func TestTasksAndConversationsAreIsolated(t *testing.T) {
	one := &llmtest.Model{Func: inTurn(useTool("recall", map[string]any{"query": "password"}),
		useTool("memory_search", map[string]any{"query": "password"}),
		useTool("memory_save", map[string]any{"content": "The towers have a janitor named Quirin.", "kind": "fact", "importance": 0.9}), llmtest.Say("counted"))}
	r := newRigWithOne(t, counting, channel.Agent{Model: one})
	r.say("the password is swordfish", false)
	r.run("/remember the password is swordfish")
	for n := range 25 {
		r.say(fmt.Sprint("nothing much ", n), false)
	}
	r.sayUntil("go", "counted")
	check.Len(t, "requests of the task", one.Requests(), 4)
	check.Lacks(t, "prompt of the task", textOf(one.Requests()[3]), "swordfish")
	check.Lacks(t, "memories of the conversation", r.run("/memories"), "Quirin")
	check.Lacks(t, "prompt of the conversation", r.run("/recall janitor Quirin"), "towers")
}
