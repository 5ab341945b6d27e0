package store_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/store"
	"cairn/transcript"
)

func usageRow(day, kind, model string, n int64) store.Usage {
	return store.Usage{Conversation: "test:a", Day: day, Kind: kind, Model: model, Requests: n, Input: 100 * n, Cached: 50 * n, Written: 10 * n, Output: 5 * n}
}

func TestUsage(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	a, b := storetest.Find(t, s, "test:a"), storetest.Find(t, s, "test:b")
	for _, add := range []struct {
		c   *store.Conversation
		all []store.Usage
	}{
		{a, []store.Usage{usageRow("2026-03-28", store.ForTurn, "m", 1), usageRow("2026-03-28", store.ForSummary, "m", 2)}},
		{a, []store.Usage{usageRow("2026-03-28", store.ForTurn, "m", 3)}},
		{a, []store.Usage{usageRow("2026-03-29", store.ForTurn, "other", 1)}},
		{b, []store.Usage{usageRow("2026-03-29", store.ForTurn, "m", 1)}},
		{b, nil},
	} {
		check.NoError(t, add.c.Turns().AddUsage(ctx, add.all))
	}
	ofB := usageRow("2026-03-29", store.ForTurn, "m", 1)
	ofB.Conversation = "test:b"
	ofA := []store.Usage{usageRow("2026-03-28", store.ForTurn, "m", 4), usageRow("2026-03-28", store.ForSummary, "m", 2), usageRow("2026-03-29", store.ForTurn, "other", 1)}
	for name, c := range map[string]struct {
		read func() ([]store.Usage, error)
		want []store.Usage
	}{
		"what is added twice is one row, by day, kind and model": {func() ([]store.Usage, error) { return a.Turns().Usage(ctx) }, ofA},
		"of all conversations, oldest first":                     {func() ([]store.Usage, error) { return s.Usage(ctx, "") }, append(ofA[:3:3], ofB)},
		"since a day, the day included":                          {func() ([]store.Usage, error) { return s.Usage(ctx, "2026-03-29") }, []store.Usage{ofA[2], ofB}},
		"since a day that is to come":                            {func() ([]store.Usage, error) { return s.Usage(ctx, "2026-03-30") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := c.read(); err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v\nwant %+v", got, err, c.want)
			}
		})
	}
	t.Run("an invalid row is rejected whole", func(t *testing.T) {
		bad := usageRow("today", store.ForTurn, "m", 1)
		if err := a.Turns().AddUsage(ctx, []store.Usage{usageRow("2026-03-28", store.ForTurn, "m", 1), bad}); err == nil {
			t.Error("no error")
		}
		if got, _ := a.Turns().Usage(ctx); !reflect.DeepEqual(got, ofA) {
			t.Errorf("got %+v", got)
		}
	})
}

func TestUsageIsStoredWithReply(t *testing.T) {
	c := storetest.NewConversation(t)
	turn := storetest.Deliver(t, c, storetest.Asking(1, "what time is it?"))[0].Turn
	used := []store.Usage{usageRow("2026-03-28", store.ForTurn, "m", 2)}
	used[0].Conversation = c.Name()
	answer := store.Outcome{Turn: turn, Usage: used, Messages: []chat.Message{{Seq: turn + 1, Turn: turn, Role: llm.RoleAssistant, Text: "nine", Time: storetest.Day}}}
	bad := answer
	bad.Messages = []chat.Message{{Seq: turn, Turn: turn, Role: llm.RoleAssistant, Text: "taken", Time: storetest.Day}}
	if err := c.Turns().Finish(ctx, bad); err == nil {
		t.Fatal("no error for a used seq")
	}
	check.Equal(t, "usage of an answer that was not written", len(check.Must(c.Turns().Usage(ctx))(t)), 0)
	check.NoError(t, c.Turns().Finish(ctx, answer))
	check.Error(t, c.Turns().Finish(ctx, answer), store.ErrNotFound)
	if got, err := c.Turns().Usage(ctx); err != nil || !reflect.DeepEqual(got, used) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestModels(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	models := func() map[string]llm.Facts {
		t.Helper()
		known := check.Must(s.Models().List(t.Context()))(t)
		return known
	}
	keep := func(name string, f llm.Facts) {
		t.Helper()
		check.NoError(t, s.Models().Keep(t.Context(), name, f))
	}
	age := func(by time.Duration) {
		t.Helper()
		check.Must(s.Writing().Exec("UPDATE models SET updated_at = updated_at - ?", by.Milliseconds()))(t)
	}
	learnt := llm.Facts{Window: 4096, Factor: 1.4, Scale: 150, RefusesTools: true, RefusesImages: true}
	t.Run("stored facts are loaded", func(t *testing.T) {
		keep("m@here", llm.Facts{Window: 8192, Factor: 1.1, Scale: 100})
		keep("m@here", learnt)
		keep("m@there", llm.Facts{RefusesTools: true})
		want := map[string]llm.Facts{"m@here": learnt, "m@there": {Factor: 1, Scale: 100, RefusesTools: true}}
		if got := models(); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
	t.Run("limits and refusals expire after a week, even if the factor was written later", func(t *testing.T) {
		age(4 * 24 * time.Hour)
		learnt.Factor = 1.5
		keep("m@here", learnt)
		check.Equal(t, "after four days", models()["m@here"], learnt)
		age(4 * 24 * time.Hour)
		check.Equal(t, "after eight days", models()["m@here"], (llm.Facts{Factor: 1.5, Scale: 150}))
		age(-365 * 24 * time.Hour) // they were learned while the clock was wrong
		check.Equal(t, "of next year", models()["m@here"], (llm.Facts{Factor: 1.5, Scale: 150}))
	})
	t.Run("facts learned again are kept for another week", func(t *testing.T) {
		keep("m@here", learnt)
		check.Equal(t, "answer", models()["m@here"], learnt)
	})
}

// TestSaved: 10 messages of 100 tokens, summaries of 30 over them, and answers in between.
func TestSaved(t *testing.T) {
	c := storetest.Imported(t, 10)
	storetest.Run(t, c.Store(), "UPDATE messages SET tokens = iif(id & 0xFFFF = 9, 90000, 100)")
	seq := int64(11)
	answer := func(n int) {
		t.Helper()
		for range n {
			turn := storetest.Deliver(t, c, storetest.Asking(int(seq), fmt.Sprint("question ", seq)))[0].Turn
			reply := chat.Message{Seq: turn + 1, Turn: turn, Role: llm.RoleAssistant, Text: "yes", Time: storetest.Day, Tokens: 1}
			check.NoError(t, c.Turns().Finish(ctx, store.Outcome{Turn: turn, Messages: []chat.Message{reply}}))
			seq = turn + 2
		}
	}
	show := func(kind transcript.Kind, from, to int64, children ...int64) int64 {
		t.Helper()
		id := storetest.StoreSummary(t, c, kind, transcript.Worker, from, to, children...)
		storetest.Run(t, c.Store(), "UPDATE compactions SET tokens = 30 WHERE id = ?", id)
		storetest.ApplyRows(t, c, id)
		return id
	}
	want := int64(0)
	saved := func(claim string, more int64) {
		t.Helper()
		want += more
		check.Equal(t, claim, check.Must(c.Turns().Saved(ctx, 1000))(t), want)
	}
	answer(3)
	saved("nothing without summaries", 0)
	one := show(transcript.Leaf, 1, 5)
	saved("nothing before the next request", 0)
	answer(3)
	saved("by each request after it was applied", 3*(500-30))
	two := show(transcript.Leaf, 6, 8)
	answer(2)
	saved("by two summaries", 2*(500-30)+2*(300-30))
	show(transcript.Rollup, 1, 8, one, two)
	answer(1)
	saved("by a rollup, from then on", 800-30)
	show(transcript.Leaf, 9, 10)
	answer(1)
	saved("of a long message what a request would have shown", 800-30+1000+100-30)
	undo(t, c)
	saved("nothing by an undone one", -(1000 + 100 - 30))
	startSession(t, c)
	answer(4)
	saved("nothing by an earlier session", 0)
}
