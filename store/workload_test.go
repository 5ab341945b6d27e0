package store_test

import (
	"testing"
	"time"

	"cairn/chat"
	"cairn/llm"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

// work makes a store run what the bot runs: in a channel with a thread and a task, and for all conversations.
func work(t *testing.T, s *store.Store) {
	t.Helper()
	c := find(t, s, "discord:1/10")
	converse(t, c)
	remember(t, s, c)
	summarizeAll(t, c)
	delegate(t, c)
	check.Must(s.Unfinished(ctx))(t)
	check.Must(s.Importing(ctx))(t)
	check.Must(s.Upkeep().Vitals(ctx))(t)
	check.Must(s.Upkeep().Check(ctx))(t)
	check.Must(s.Usage(ctx, "2026-01-01"))(t)
	check.NoError(t, check.ErrorOf(s.Away(ctx, "discord", nil, func(string, string) string { return "" })))
	_, _, err := s.Compactions(ctx, store.CompactionFilter{Conversation: c.Name(), State: "applied"})
	check.NoError(t, err)
	forget(t, s, c)
}

func converse(t *testing.T, c *store.Conversation) {
	t.Helper()
	deliver(t, c, asking(1, "what is a walrus?"), storetest.Quoting(2, "well", "m0", "Bob: hello"))
	check.Must(c.Inbox().Due(ctx))(t)
	_, _, err := c.Turns().Unanswered(ctx)
	check.NoError(t, err)
	storetest.AnswerWith(t, c, storetest.Answer{Turn: 1, First: 3, Native: `{"thought":"hm"}`}, map[string]llm.Result{
		"recall": {Text: "x", Quotes: llm.Quotes{Messages: []int64{1}}}, "reply": {Text: "an animal"},
	})
	for _, piece := range check.Must(c.Outbox().Unsent(ctx))(t) {
		check.NoError(t, c.Outbox().Sent(ctx, piece.Row, "p1"))
	}
	check.Must(c.Outbox().SentAs(ctx, "p1"))(t)
	check.Must(c.Outbox().Newest(ctx))(t)
	check.Must(c.Outbox().SentAfter(ctx, 0, 10))(t)
	check.Must(c.Turns().Open(ctx, "m1"))(t)
	deliver(t, c, storetest.Quoting(6, "Ann has a dog", "p1", ""), asking(7, "and?"))
	check.Must(c.Turns().Withdrawn(ctx, storetest.Day))(t)
	answerUnder(t, c, 7, transcript.Context{Text: "time: now", Quotes: llm.Quotes{Messages: []int64{1}}}, storetest.Version(t, c))
	check.Must(c.Transcript().Recent(ctx, storetest.Day, 10))(t)
	check.Must(c.Transcript().Pin(ctx, 1, store.Person{ID: "1", Name: "Ada"}))(t)
	deliver(t, find(t, c.Store(), c.Name()+"/m1"), asking(20, "in the thread"))
	edit(t, c, 2, "other words")
}

func summarizeAll(t *testing.T, c *store.Conversation) {
	t.Helper()
	play(t, c, "say 30-50; leaf 9-12; leaf 13-16; apply; roll 9-16; apply; undo")
	_, _, err := c.Sessions().Request(ctx, time.Now())
	check.NoError(t, err)
	check.Must(c.Sessions().Due(ctx))(t)
	play(t, c, "new; say 51-60; sum 30-32")
	check.Must(c.Compactions().Reload(ctx, 1, nil))(t)
	rows, _, err := c.Compactions().Recorded(ctx)
	check.NoError(t, err)
	for _, row := range rows {
		check.Must(c.Compactions().Children(ctx, row.ID))(t)
		check.Must(c.Compactions().Fate(ctx, row.ID))(t)
	}
	check.Must(c.Compactions().Evidence(ctx))(t)
	check.Must(c.Turns().Saved(ctx, 1000))(t)
}

func remember(t *testing.T, s *store.Store, c *store.Conversation) {
	t.Helper()
	first := storetest.Keep(t, c, "Ann", "Ann plays the theremin.", 1).ID
	storetest.Keep(t, c, "Ann", "Ann rows a boat.", 2)
	check.Must(storetest.Call(storetest.ToolsAt(c, 7), "memory_save", `{"content": "Ann has a dog", "kind": "fact", "messages": [6], "attribute": "pet", "value": "dog"}`))(t)
	storetest.Recalled(t, c, "theremin")
	storetest.Recalled(t, c, "what did Ann say yesterday?")
	for _, q := range []memory.Question{{By: "Ann"}, {Text: "dog", By: "Ann", Order: "oldest"}, {Since: storetest.Day}, {Text: "dog", Until: storetest.Day}} {
		q.Limit = 5
		check.Must(memory.Of(c).Recall(ctx, q))(t)
	}
	memories := memory.Of(c)
	for _, f := range []memory.Filter{{}, {Query: "theremin"}, {About: "Ann", State: "all"}} {
		_, _, err := memories.List(ctx, f)
		check.NoError(t, err)
	}
	check.Must(memories.Completed(ctx, "the", 5))(t)
	check.Must(memories.Details(ctx, first))(t)
	var all []memory.Exported
	check.NoError(t, memory.In(s).Export(ctx, memory.Filter{}, func(e memory.Exported, _ []chat.Message) error {
		all = append(all, e)
		return nil
	}))
	check.Must(memory.In(s).Import(ctx, all))(t)
	storetest.Repair(t, c, transcript.Worker, transcript.Span{From: 1, To: 8}, storetest.Fact{Text: "Ann has one dog.", Seq: 6})
	check.NoError(t, memories.Forget(ctx, first))
	check.NoError(t, memories.Purge(ctx, first))
}

func delegate(t *testing.T, c *store.Conversation) {
	t.Helper()
	task := check.Must(c.Tasks().Begin(ctx, store.NewTask{Message: "find it", Max: 5, Chain: 5, Turn: 7, Task: store.Task{Agent: "cairn", Text: "find it", Began: 8, Sources: []int64{7}}}))(t)
	child := find(t, c.Store(), task.Conversation)
	check.Must(child.Tasks().Final(ctx, []string{"m1"}))(t)
	check.Must(child.Tasks().End(ctx, store.TaskDone, "finder", "found"))(t)
	check.Must(c.Tasks().List(ctx))(t)
}

func forget(t *testing.T, s *store.Store, c *store.Conversation) {
	t.Helper()
	remove(t, c, 2, 7)
	everyone := privacy.In(s)
	who := store.Person{Connector: "discord", ID: "1", Name: "Ada"}
	check.Must(privacy.Of(c).OptOut(ctx, who.ID, who.Name, true))(t)
	in, _, err := everyone.Everywhere(ctx, who)
	check.NoError(t, err)
	check.Must(everyone.Erase(ctx, who, append(in, c)...))(t)
	for done := false; !done; {
		done = check.Must(privacy.Of(c).EraseSome(ctx, who.ID))(t).Done
	}
	check.NoError(t, privacy.Of(c).Purge(ctx))
}
