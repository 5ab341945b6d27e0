package channel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/llm"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

func TestForgetMe(t *testing.T) {
	r := newRig(t, echo)
	for i := range 30 {
		r.sayAs("u1", "Ada", place, fmt.Sprintf("I like parrots, number %d", i))
		r.sayAs("u2", "Ada", place, fmt.Sprintf("I like tea, number %d", i)) // same name, different person
	}
	r.sayAs("u1", "Ada", "test:server/other", "parrots here too")
	r.says(ada, place, "/remember my parrot is called Coco", "as memory 1")
	// Without confirmation it lists the data, and deletes nothing.
	r.says(ada, place, "/forget me", "30 messages and 1 memory of yours in this conversation", "except answers made without a model that quote you", "/forget me yes")
	r.says(ada, place, "/forget ME everywhere", "31 messages and 1 memory", "/forget me everywhere yes")
	r.says(access.Person{ID: "u9", Name: "Ada"}, place, "/forget me", "I have nothing from you in this conversation.")
	r.says(ada, place, "/forget me not", `"not"`)
	check.Len(t, "messages left", r.transcript(), 60)
	// Confirmed, it deletes the data of the channel, also from the prompt.
	r.says(ada, place, "/forget me yes", "Deleted: everything of yours in this conversation.", "except answers made without a model that quote you.")
	r.sayAs("u1", "Ada", place, "good morning")
	r.ask("what do I like?")
	asked := r.lastRequestText()
	all := texts(r.transcript())
	check.Lacks(t, "prompt and transcript", asked+all, "parrot")
	check.Contains(t, "prompt", asked, "tea, number 29", "good morning")
	check.Contains(t, "transcript", all, "tea, number 0")
	check.Lacks(t, "memories", r.says(bo, place, "/memories"), "Coco")
	// With everywhere, it deletes the data of all channels.
	r.says(ada, place, "/forget me everywhere yes", "Deleted: everything of yours across all our conversations")
	r.says(ada, place, "/forget me everywhere", "I have nothing from you across all our conversations.")
	check.Equal(t, "messages left", storetest.Number(t, r.store, "SELECT count(*) FROM messages WHERE text LIKE '%parrots%'"), 0)
	// The next start continues what a process left.
	r = newRig(t, echo)
	r.sayAs("u1", "Ada", place, "parrots")
	r.sayAs("u2", "Bo", place, "tea")
	c := check.Must(r.store.Conversation(t.Context(), place))(t)
	check.Must(privacy.In(r.store).Erase(t.Context(), store.Person{ID: "u1"}, c))(t) // the process dies at this point
	r.restart()
	r.erased()
	check.EqualAll(t, "the transcript", r.transcript(), []string{"user: tea"})
}

// What a person wrote while the database was rewritten came before their /forget me, also where it is their first message.
func TestForgetMeReachesWaitingMessages(t *testing.T) {
	inBubble(t, echo, func(t *testing.T, r *rig) {
		r.sayAs("u2", "Bo", place, "tea")
		r.sayAs("u2", "Bo", "test:other/place", "tea")
		rewritten := r.rewrite()
		r.beside(func() { r.sayAs("u1", "Ada", "test:other/place", "parrots") })
		r.beside(func() { r.says(ada, place, "/forget me everywhere yes", "Deleted: everything of yours") })
		rewritten()
		r.waitForReplies()
		left := "SELECT (SELECT count(*) FROM inbox WHERE author_id = 'u1') + (SELECT count(*) FROM messages WHERE text <> '' AND author_id = 'u1')"
		check.Equal(t, "messages left", storetest.Number(t, r.store, left), 0)
	})
}

// No one waits: while hundreds of messages are deleted, others get answers.
func TestForgetMeDoesNotBlock(t *testing.T) {
	r := newRig(t, echo)
	c := check.Must(r.store.Conversation(t.Context(), place))(t)
	var past []channel.Inbound
	for i := range 300 {
		past = append(past, r.inbound(fmt.Sprintf("parrot number %d is green", i), false))
	}
	storetest.Deliver(t, c, past...)
	began := time.Now()
	answer := r.runAs(ada, place, "/forget me yes")
	var slowest time.Duration
	for range 5 {
		started := time.Now()
		r.deliverMessage(by("u2", "Bo", r.inbound("question", true)))
		slowest = max(slowest, time.Since(started))
	}
	r.waitForReplies()
	check.HasPrefix(t, "answer", r.finished(answer), "Deleted: everything of yours")
	took := time.Since(began)
	// On a busy machine both take longer.
	check.That(t, slowest <= 2*time.Second || slowest <= took/3, "a delivery took %v of the %v of the deletion", slowest, took)
	all := texts(r.transcript())
	check.Lacks(t, "the transcript", all, "parrot")
	check.Equal(t, "questions in the transcript", strings.Count(all, "question"), 5)
}

func TestOptOut(t *testing.T) {
	r := newRig(t, then(useTool("memory_save", map[string]any{"content": "she likes parrots", "kind": "preference"}), repeatLast))
	r.runAs(ada, place, "/remember I like tea")
	r.says(ada, place, "/optout", "From now on, I save no memories of what you write", "The memories I already have of you stay until /forget me",
		"their summaries still contain your messages", "/optout off")
	check.Contains(t, "the model's call", r.ask("remember that I like parrots"), "wants to be in no memory")
	const refused = "Ada has opted out of my memories, so I cannot remember that."
	r.says(ada, "test:server/elsewhere", "/remember I like parrots", refused)
	r.says(bo, place, "/remember Ada likes parrots", refused)
	check.Lacks(t, "memories", r.says(bo, place, "/memories", "tea"), "parrots")
	r.says(ada, place, "/optout off", "From now on, I may save memories of what you write again")
	r.says(ada, place, "/remember I like parrots", "as memory")
}

// What the running turn has found, and thought, of a message that is then deleted is stored without it.
func TestForgetMeReachesRunningTurn(t *testing.T) {
	var r *rig
	call := useTool("recall", map[string]any{"query": "parrot"})
	call.Message.Native = []byte(`{"reasoning":"the parrot is called Coco"}`)
	r = newRig(t, then(call, func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		if n == 2 && strings.Contains(lastText(req), "Coco") {
			return llmtest.Say("it has a name"), r.hub.Delete(context.Background(), place, "m1")
		}
		return llmtest.Say("well"), nil
	}))
	var page llm.Learned
	page.Learn(func(f *llm.Facts) { f.WantsReasoning = true }) // the server demands the reasoning of earlier turns with tool calls back
	r.agent.Model = learningModel{r.model, &page}
	r.overhear("my parrot is called Coco")
	check.Equal(t, "answer", r.ask("what is its name?"), "it has a name")
	check.Lacks(t, "transcript", texts(r.transcript()), "Coco")
	check.Equal(t, "messages with reasoning", storetest.Number(t, r.store, "SELECT count(*) FROM messages WHERE native <> ''"), 0)
	asked := r.promptText()
	check.Lacks(t, "prompt", asked, "Coco")
	check.Contains(t, "prompt", asked, "has been deleted")
}

// What the running turn has found of a message that is then deleted or edited is neither sent again nor stored.
func TestChangeReachesRunningTurn(t *testing.T) {
	edited := channel.Inbound{ID: "m1", Text: "it has a name", Time: time.Now().Add(time.Minute)}
	for name, change := range map[string]func(*rig) error{
		"deletion": func(r *rig) error { return r.hub.Delete(t.Context(), place, "m1") },
		"edit":     func(r *rig) error { return r.hub.Edit(t.Context(), place, edited) },
	} {
		r := newRig(t, nil)
		search := useTool("recall", map[string]any{"query": "parrot"})
		r.model.Func = inSteps(always(search), func(context.Context, int, llm.Request) (llm.Response, error) { return search, change(r) }, alwaysSay("well"))
		r.overhear("my parrot is called Coco")
		r.ask("what is its name?")
		check.Contains(t, name+": request 2", textOf(r.model.Requests()[1]), "Coco")
		check.Lacks(t, name+": request 3 and transcript", r.lastRequestText()+texts(r.transcript()), "Coco", "Call the tool again")
		// It has found it, and another tool still runs.
		save := llmtest.Call("2", "memory_save", map[string]any{"content": "Ada asked for a name", "kind": "event"})
		r = newRig(t, inTurn(llmtest.Use(search.Message.Calls[0], save), llmtest.Say("well")))
		r.opts.Remembered = func(string, int64, string, string) { check.NoError(t, change(r)) }
		r.restart()
		r.overhear("my parrot is called Coco")
		r.ask("what is its name?")
		check.Contains(t, name+": request 2", r.lastRequestText(), "Call the tool again")
		check.Lacks(t, name+": request 2 and transcript", r.lastRequestText()+texts(r.transcript()), "Coco")
	}
}

func TestDeletionReachesRecallInOtherConversations(t *testing.T) {
	const source = "test:server/other"
	r := newRig(t, inTurn(useTool("memory_search", map[string]any{"query": "pet"}), llmtest.Say("I see.")))
	memory.In(r.store).Share(true)
	r.tell(source, "the pet is called Wumpus", func(m *channel.Inbound) { m.Audience = channel.ServerWide })
	c := check.Must(r.store.Conversation(t.Context(), source))(t)
	save := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 1 }})[3]
	check.Must(save.Run(t.Context(), []byte(`{"content":"The pet is called Wumpus","kind":"fact","messages":[1]}`)))(t)
	r.tell(place, "what is it called?", func(m *channel.Inbound) {
		m.Audience = channel.ServerWide
		m.Addressed = true
	})
	check.Contains(t, "prompt", r.lastRequestText(), "Wumpus")
	check.NoError(t, r.hub.Delete(t.Context(), source, "m1"))
	check.Lacks(t, "prompt after the deletion", r.promptText(), "Wumpus")
}

// wantTaskErased checks that neither the record of the first task nor a message repeats what was asked.
func (r *rig) wantTaskErased(text string) {
	r.t.Helper()
	task := r.task(1)
	check.That(r.t, task.Text+task.Author == "" && len(task.Set) == 0, "got task %+v", task)
	repeats := func(line string) bool { return strings.HasPrefix(line, "user:") && strings.Contains(line, text) }
	check.That(r.t, !slices.ContainsFunc(r.transcript(), repeats), "got the conversation %q", r.transcript())
}

func startedTask(t *testing.T) *rig {
	r := newTaskRig(t, nil, alwaysSay("Rosebud is a sledge"))
	r.run("/ask @one what is Rosebud?")
	r.waitForSent("Rosebud is a sledge")
	r.waitForTask(1)
	r.waitForReplies()
	return r
}

// A purged conversation takes its tasks with it, and no id or name is used twice: a new task gets nothing of theirs.
func TestPurgeAndForgetMeReachTasks(t *testing.T) {
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
	r = startedTask(t) // what a person asked an agent for is theirs, even if they never wrote a message
	r.wantAnswer("/forget me", "This permanently deletes 1 message and 0 memories of yours")
	r.wantAnswer("/forget me everywhere", "This permanently deletes 1 message and 0 memories of yours")
	check.Contains(t, "/forget me yes", r.finished(r.runAsManager("/forget me yes")), "Deleted: everything of yours")
	r.waitForReplies()
	r.wantTaskErased("Rosebud")
	r.wantAnswer("/forget me", "I have nothing from you in this conversation.")
}

// A task goes with the messages it came from, its settings too, and so does one that was told its result.
func TestDeletionReachesTasks(t *testing.T) {
	const briefed = 20 // messages of its parent that a task is told
	r := newTaskRig(t, map[string]any{"agent": "one", "task": "look after Rosebud", "compaction": map[string]any{"focus": "Rosebud"}}, alwaysSay("Rosebud is a sledge"))
	r.say("Rosebud is a secret", false) // m1
	r.sayUntil("go", "Rosebud is a sledge")
	first := r.waitForTask(1)
	check.Equal(t, "focus", first.Set["focus"], "Rosebud")
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

// A running task ends with the message it came from, or by a command, and so do those below it; none is stuck.
func TestEndOfOpenTaskReachesTasksBelow(t *testing.T) {
	for how, end := range map[string]func(*rig){
		"deletion": func(r *rig) { check.NoError(t, r.hub.Delete(t.Context(), place, "m1")) },
		"command":  func(r *rig) { r.wantAnswer("/tasks stop 1", "was stopped") },
	} {
		asked := make(chan struct{}, 2)
		ended := make(chan struct{}, 2)
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
	r := newTaskRig(t, counting, waitingFor(counts, alwaysSay("I counted.")))
	r.model.Func = inSteps(r.model.Func, failing(&llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "busy"}), r.model.Func)
	r.sayUntil("go", "started")
	close(counts)
	r.waitForSent("I counted.")
	check.Equal(t, "state of the second task", r.waitForTask(2).State, store.TaskDone)
	r.waitForReplies()
	check.Equal(t, "state of the first task", r.task(1).State, store.TaskStopped)
	check.Len(t, "sent", r.connector.texts(), 2)
}
