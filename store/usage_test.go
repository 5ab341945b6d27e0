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

func TestDaysFollowTimeZone(t *testing.T) {
	before := time.Local
	defer func() { time.Local = before }()
	for zone, want := range map[string]string{"UTC": "2026-03-28", "Asia/Tokyo": "2026-03-29", "America/New_York": "2026-03-28"} {
		there := check.Must(time.LoadLocation(zone))(t)
		time.Local = there
		check.Equal(t, zone, store.Day(time.Date(2026, 3, 28, 20, 0, 0, 0, time.UTC)), want)
	}
}

// TestSaved: 10 messages of 100 tokens, summaries of 30 over them, and answers in between.
func TestSaved(t *testing.T) {
	prepare := func(t *testing.T) (c *store.Conversation, answer func(n int), shown func(kind transcript.Kind, from, to int64, children ...int64) int64) {
		c = storetest.Imported(t, 10)
		storetest.Run(t, c.Store(), "UPDATE messages SET tokens = 100")
		seq := int64(11)
		answer = func(n int) {
			for range n {
				turn := storetest.Deliver(t, c, storetest.Asking(int(seq), fmt.Sprint("question ", seq)))[0].Turn
				reply := chat.Message{Seq: turn + 1, Turn: turn, Role: llm.RoleAssistant, Text: "yes", Time: storetest.Day, Tokens: 1}
				check.NoError(t, c.Turns().Finish(ctx, store.Outcome{Turn: turn, Messages: []chat.Message{reply}}))
				seq = turn + 2
			}
		}
		shown = func(kind transcript.Kind, from, to int64, children ...int64) int64 {
			id := storetest.StoreSummary(t, c, kind, transcript.Worker, from, to, children...)
			storetest.Run(t, c.Store(), "UPDATE compactions SET tokens = 30 WHERE id = ?", id)
			storetest.ApplyRows(t, c, id)
			return id
		}
		return c, answer, shown
	}
	saved := func(t *testing.T, c *store.Conversation, want int64) {
		t.Helper()
		check.Equal(t, "saved", check.Must(c.Turns().Saved(ctx, 1000))(t), want)
	}
	t.Run("no saving without summaries", func(t *testing.T) {
		c, answer, _ := prepare(t)
		answer(3)
		saved(t, c, 0)
	})
	t.Run("each request after an applied summary saves", func(t *testing.T) {
		c, answer, shown := prepare(t)
		answer(2)
		shown(transcript.Leaf, 1, 5)
		saved(t, c, 0)
		answer(3)
		saved(t, c, 3*(500-30))
	})
	t.Run("a rollup saves its messages, from then on", func(t *testing.T) {
		c, answer, shown := prepare(t)
		one, two := shown(transcript.Leaf, 1, 5), shown(transcript.Leaf, 6, 8)
		answer(2)
		saved(t, c, 2*(500-30)+2*(300-30))
		shown(transcript.Rollup, 1, 8, one, two)
		answer(1)
		saved(t, c, 2*(500-30)+2*(300-30)+(800-30))
	})
	t.Run("requests would have shown a part of a long message", func(t *testing.T) {
		c, answer, shown := prepare(t)
		storetest.Run(t, c.Store(), "UPDATE messages SET tokens = 90000 WHERE id & 0xFFFF = 2")
		shown(transcript.Leaf, 1, 5)
		answer(1)
		saved(t, c, 4*100+1000-30)
	})
	t.Run("a new session saves nothing", func(t *testing.T) {
		c, answer, shown := prepare(t)
		shown(transcript.Leaf, 1, 5)
		answer(1)
		startSession(t, c)
		answer(4)
		saved(t, c, 500-30)
	})
	t.Run("a summary larger than its messages saves nothing", func(t *testing.T) {
		c, answer, shown := prepare(t)
		storetest.Run(t, c.Store(), "UPDATE messages SET tokens = 1")
		shown(transcript.Leaf, 1, 5)
		answer(2)
		saved(t, c, 0)
	})
	t.Run("undone summaries do not count", func(t *testing.T) {
		c, answer, shown := prepare(t)
		shown(transcript.Leaf, 1, 5)
		answer(2)
		undo(t, c)
		answer(2)
		saved(t, c, 0)
	})
}
