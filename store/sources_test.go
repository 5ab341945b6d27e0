package store_test

import (
	"testing"

	"cairn/chat"
	"cairn/llm"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

func TestSourcesOfAnAnswer(t *testing.T) {
	c := storetest.NewConversation(t)
	storetest.Deliver(t, c, storetest.Said(1, "The launch is on Friday."), storetest.Said(2, "The boat leaves at ten."))
	kept := storetest.Keep(t, c, "Ann", "Ann likes tea").ID
	asked := storetest.Deliver(t, c, asking(3, "when?"))[0]
	storetest.AnswerWith(t, c, storetest.Answer{Turn: asked.Turn, First: asked.Seq + 1}, map[string]llm.Result{
		"recall":        {Text: "found", Quotes: llm.Quotes{Messages: []int64{1, 2}}},
		"memory_search": {Text: "found, too", Quotes: llm.Quotes{Memories: []int64{kept}}},
	})
	sources := func(want []int64, memories ...int64) {
		t.Helper()
		found, ids, err := c.Transcript().Sources(ctx, asked.Turn)
		check.NoError(t, err)
		check.EqualAll(t, "messages", storetest.Map(found, func(m chat.Message) int64 { return m.Seq }), want)
		check.EqualAll(t, "memories", ids, memories)
	}
	sources([]int64{1, 2}, kept)
	other := storetest.Find(t, c.Store(), "terminal:other")
	storetest.Deliver(t, other, asking(1, "hello"))
	here := check.Must(store.View(ctx, c, "name a message", func(tx *store.Tx) llm.Elsewhere { return tx.Elsewhere(c, 1) }))(t)
	storetest.AnswerWith(t, other, storetest.Answer{Turn: 1, First: 2}, map[string]llm.Result{"recall": {Text: "found", Quotes: llm.Quotes{Elsewhere: []llm.Elsewhere{here}}}})
	check.Equal(t, "quotes of another conversation", storetest.Number(t, c.Store(), "SELECT count(*) FROM quotes WHERE kind = 'message'"), 3)
	check.Len(t, "sources elsewhere", first(other.Transcript().Sources(ctx, 1)), 0)
	check.NoError(t, privacy.Of(c).Delete(ctx, []string{storetest.Said(1, "").ID}))
	sources(nil, kept) // what a tool has found is deleted as a whole
}

func first[T any](all []T, _ []int64, _ error) []T { return all }
