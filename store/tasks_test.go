package store_test

import (
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
	"cairn/transcript"
)

// A message to a task repeats text from elsewhere, which is remembered there.
func TestTaskMessagesBecomeNoMemory(t *testing.T) {
	c := storetest.Imported(t, 3)
	task, err := c.Tasks().Begin(ctx, store.NewTask{Agent: "one", Text: "count", Message: "count the towers; Ada lives in Turin", Most: 4})
	check.NoError(t, err)
	child, err := c.Store().Find(ctx, task.Conversation)
	check.NoError(t, err)
	storetest.Deliver(t, child, storetest.Said(2, "Ben lives in Parma")) // both are taken up
	read, err := storetest.Begin(t, child, transcript.Leaf, transcript.Worker, 1, 2).Messages(ctx, 1, 2, 9)
	check.NoError(t, err)
	if len(read) != 2 || !read[0].Unremembered || read[1].Unremembered {
		t.Errorf("got %+v", read)
	}
}
