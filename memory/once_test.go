package memory_test

import (
	"math"
	"testing"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
	"cairn/transcript"
)

func wantContents(t *testing.T, c *store.Conversation, want ...string) {
	t.Helper()
	check.EqualAll(t, "answer", storetest.Contents(t, c), want)
}

func TestMemoriesAreSavedOnce(t *testing.T) {
	t.Run("the extractive's memories give way to a worker's", func(t *testing.T) {
		c := storetest.Imported(t, 9)
		storetest.Repair(t, c, transcript.Extractive, 1, 5, "rough one", 2)
		storetest.Repair(t, c, transcript.Extractive, 6, 9, "rough two", 7)
		wantContents(t, c, "fact: rough one", "fact: rough two")
		storetest.Repair(t, c, transcript.Worker, 1, 5, "fine one", 2)
		wantContents(t, c, "fact: rough two", "fact: fine one")
		if replaced, n, err := memory.In(c.Store()).List(ctx, memory.Filter{State: "replaced"}); err != nil || n != 1 || replaced[0].Content != "rough one" {
			t.Errorf("%+v, %v", replaced, err)
		}
	})
	t.Run("one that rests on more than the worker has read stays until all is read", func(t *testing.T) {
		c := storetest.Imported(t, 9)
		storetest.Repair(t, c, transcript.Extractive, 1, 5, "rough", 2)
		storetest.Repair(t, c, transcript.Extractive, 6, 9, "rough", 7)
		storetest.Repair(t, c, transcript.Worker, 1, 5, "fine one", 2)
		wantContents(t, c, "fact: rough", "fact: fine one")
		storetest.Repair(t, c, transcript.Worker, 6, 9, "fine two", 7)
		wantContents(t, c, "fact: fine one", "fact: fine two")
	})
	t.Run("a worker saves nothing from what a worker has read, whatever became of that row", func(t *testing.T) {
		c := storetest.Imported(t, 9)
		lost := storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 1, 5)
		check.Must(storetest.Call(lost.Tools(20), "memory_save", `{"content": "first", "kind": "fact", "messages": [2]}`))(t)
		check.Must(lost.Store(ctx, summarize.Summary{Text: "summary", Tokens: 2}))(t)
		storetest.Run(t, c.Store(), "UPDATE compactions SET state = 'stale' WHERE id = ?", lost.ID())
		storetest.Repair(t, c, transcript.Worker, 1, 7, "second", 2)
		wantContents(t, c, "fact: first")
		j := storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 4, 9)
		if _, err := storetest.Call(j.Tools(1), "memory_save", `{"content": "third", "kind": "fact", "messages": [2]}`); err == nil {
			t.Error("message 2 is outside the span")
		}
		check.NoError(t, check.ErrorOf(storetest.Call(j.Tools(1), "memory_save", `{"content": "third", "kind": "fact", "messages": [5, 8]}`)))
		check.Must(j.Store(ctx, summarize.Summary{Text: "summary", Tokens: 2}))(t)
		wantContents(t, c, "fact: first", "fact: third")
		check.EqualAll(t, "sources", storetest.Memory(t, c.Store(), 2).Sources, []int64{8})
	})
	t.Run("a worker that failed has read nothing", func(t *testing.T) {
		c := storetest.Imported(t, 9)
		j := storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 1, 5)
		j.Tools(20)
		check.NoError(t, j.Fail(ctx, "cut off"))
		storetest.Repair(t, c, transcript.Worker, 1, 5, "second try", 2)
		wantContents(t, c, "fact: second try")
	})
}

func TestWhichSummarizerSavesMemories(t *testing.T) {
	t.Run("the extractive saves only where nobody did, and skips what does not pass", func(t *testing.T) {
		c := storetest.Imported(t, 9)
		storetest.Repair(t, c, transcript.Worker, 1, 3, "fine", 1)
		j := storetest.Begin(t, c, transcript.Leaf, transcript.Extractive, 1, 9)
		fresh, err := j.Store(ctx, summarize.Summary{Text: "summary", Tokens: 2, Memories: []summarize.MemoryDraft{
			{Kind: "fact", Content: "seen before", Messages: []int64{2}},
			{Kind: "rumour", Content: "no kind", Messages: []int64{5}},
			{Kind: "fact", Content: "no number", Importance: math.NaN(), Messages: []int64{5}},
			{Kind: "fact", Content: "no messages"},
			{Kind: "fact", Content: "good", Messages: []int64{5}},
		}})
		check.That(t, err == nil && len(fresh) == 1 && fresh[0].Content == "good", "%+v, %v", fresh, err)
		wantContents(t, c, "fact: fine", "fact: good")
	})
	t.Run("a worker without tools leaves the extractive's memories to a later worker", func(t *testing.T) {
		c := storetest.Imported(t, 9)
		j := storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 1, 5)
		j.Tools(20)
		check.Must(j.Store(ctx, summarize.Summary{Text: "summary", Tokens: 2, Memories: []summarize.MemoryDraft{
			{Kind: "fact", Content: "rough", Messages: []int64{2}},
		}}))(t)
		wantContents(t, c, "fact: rough")
		check.Equal(t, "saved", storetest.Memory(t, c.Store(), 1).By, "extractive")
		storetest.ApplyRows(t, c, j.ID())
		storetest.Repair(t, c, transcript.Extractive, 6, 9, "rough two", 7)
		fold := storetest.Begin(t, c, transcript.Rollup, transcript.Worker, 1, 9, storetest.Peek(t, c).Head.Stack[0].ID, storetest.Peek(t, c).Head.Stack[1].ID)
		check.Must(storetest.Call(fold.Tools(20), "memory_save", `{"content": "fine two", "kind": "fact", "messages": [7]}`))(t)
		check.Must(fold.Store(ctx, summarize.Summary{Text: "summary", Tokens: 2}))(t)
		wantContents(t, c, "fact: rough", "fact: fine two") // the fold has read the first child's text, and the second's messages
	})
	t.Run("the same fact twice is one row, confirmed by new messages only", func(t *testing.T) {
		c := storetest.Imported(t, 9)
		storetest.Repair(t, c, transcript.Worker, 1, 3, "Ann likes tea.", 2)
		storetest.Repair(t, c, transcript.Worker, 4, 6, "ann LIKES téa", 5)
		wantContents(t, c, "fact: Ann likes tea.")
		m := storetest.Memory(t, c.Store(), 1)
		check.Equal(t, "confirmations", m.Confirmed, 2)
		check.EqualAll(t, "sources", m.Sources, []int64{2, 5})
	})
}

// The queries of each compaction do not get slower as compactions accumulate.
func TestOldConversationsSaveAsFast(t *testing.T) {
	c := storetest.NewConversation(t)
	storetest.WantPlan(t, c.Store(), memory.WasRead, "compactions_to (", 1, 2, 3, 4)
	storetest.WantPlan(t, c.Store(), memory.Retire, "INTEGER PRIMARY KEY", 1, 2, 3)
	for _, by := range []string{"memories_fact (conversation=? AND folded=?)", "memories_newest (conversation=? AND state=? AND said_at=?"} {
		storetest.WantPlan(t, c.Store(), memory.IsHere, by, 1, "words", 3, "active", 5) // of each memory that is imported
	}
}
