package store_test

import (
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
	"cairn/transcript"
)

// A message to a task repeats text from elsewhere, which is remembered there.
func TestTaskMessagesBecomeNoMemory(t *testing.T) {
	c := storetest.Imported(t, 3)
	task, err := c.Tasks().Begin(ctx, store.NewTask{Task: store.Task{Agent: "one", Text: "count"}, Message: "count the towers; Ada lives in Turin", Most: 4})
	check.NoError(t, err)
	child, err := c.Store().Find(ctx, task.Conversation)
	check.NoError(t, err)
	storetest.Deliver(t, child, storetest.Said(2, "Ben lives in Parma")) // both are taken up
	read, err := storetest.Begin(t, child, transcript.Leaf, transcript.Worker, 1, 2).Messages(ctx, 1, 2, 9)
	check.NoError(t, err)
	check.That(t, len(read) == 2 && read[0].Unremembered && !read[1].Unremembered, "got %+v", read)
}

func TestFinalReplyOfTask(t *testing.T) {
	c := storetest.NewConversation(t)
	begin := func(above *store.Conversation) *store.Conversation {
		task := check.Must(above.Tasks().Begin(ctx, store.NewTask{Task: store.Task{Agent: "one", Text: "count"}, Message: "count", Most: 4}))(t)
		return check.Must(c.Store().Find(ctx, task.Conversation))(t)
	}
	task := begin(c)
	first := storetest.Deliver(t, task)[0].ID
	final := func(when string, want bool, answers ...string) {
		t.Helper()
		check.Equal(t, "final "+when, check.Must(task.Tasks().Final(ctx, answers))(t), want)
	}
	final("with nothing below", true, first)
	below := begin(task)
	final("while a task below is open", false, first)
	check.Must(below.Tasks().End(ctx, store.TaskDone, "one", "42"))(t)
	final("while a result waits in the inbox", false, first)
	storetest.Finish(t, task, 1, 2, "reply-2", "I wait")
	result := storetest.Deliver(t, task)[0].ID
	final("once the result is taken up", false, first)
	final("when it answers the result", true, result)
	final("when it answers both", true, first, result)
}

func TestContinue(t *testing.T) {
	c := storetest.NewConversation(t)
	task := check.Must(c.Tasks().Begin(ctx, store.NewTask{Task: store.Task{Agent: "one", Text: "count"}, Message: "count", Most: 4}))(t)
	child := check.Must(c.Store().Find(ctx, task.Conversation))(t)
	check.NoError(t, child.Tasks().Continue(ctx, "go on"))
	check.Len(t, "messages", storetest.Deliver(t, child), 1)
	check.NoError(t, child.Tasks().Continue(ctx, "go on"))
	check.Len(t, "messages once nothing waits", storetest.Deliver(t, child), 1)
	check.Must(child.Tasks().End(ctx, store.TaskDone, "one", "42"))(t)
	check.NoError(t, child.Tasks().Continue(ctx, "go on"))
	check.Len(t, "messages once it has ended", storetest.Deliver(t, child), 0)
}

// An import of memories creates conversations of tasks that are not here.
func TestTaskBesideImportedMemories(t *testing.T) {
	c := storetest.NewConversation(t)
	var all []memory.Exported
	for _, name := range []string{"task:" + c.Name() + "/2", "task:" + c.Name() + "/7/1", "task:task:" + c.Name() + "/2/9"} {
		all = append(all, memory.Exported{Memory: memory.Memory{Conversation: name, Content: "There are 12 bridges.", Kind: "fact", SaidAt: storetest.Day}})
	}
	check.Must(memory.In(c.Store()).Import(ctx, all))(t)
	for _, number := range []int64{1, 3} {
		check.Equal(t, "number", check.Must(c.Tasks().Begin(ctx, store.NewTask{Task: store.Task{Agent: "one", Text: "count"}, Message: "count", Most: 4}))(t).Number, number)
	}
}
