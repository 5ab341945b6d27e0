package store_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/store"
)

func asked(t *testing.T) (*store.Conversation, int64) {
	c := storetest.NewConversation(t)
	return c, storetest.Deliver(t, c, storetest.Asking(1, "what time is it?"))[0].Turn
}

func fullAnswer(turn int64) store.Outcome {
	return store.Outcome{
		Turn: turn, Reply: "r1", To: []string{"m1"}, Pieces: []string{"half past", " nine"},
		Messages: []chat.Message{
			{Seq: turn + 1, Turn: turn, Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "c1", Name: "clock", Arguments: "{"}}, Native: []byte(`{"a": 1}`), Time: storetest.Day, Tokens: 9},
			{Seq: turn + 2, Turn: turn, Role: llm.RoleTool, CallID: "c1", Tool: "clock", Text: "9:30", Time: storetest.Day, Tokens: 8},
			{Seq: turn + 3, Turn: turn, Role: llm.RoleAssistant, Text: "half past nine", Time: storetest.Day, Tokens: 7},
		},
	}
}

func TestTurns(t *testing.T) {
	t.Run("an answer, its tools and its pieces are written together, and read back as they were", func(t *testing.T) {
		c, turn := asked(t)
		o := fullAnswer(turn)
		check.NoError(t, c.Turns().Finish(ctx, o))
		state := storetest.Load(t, c)
		if state.Open != 0 || state.Next != 5 || !reflect.DeepEqual(state.Messages[1:], o.Messages) {
			t.Errorf("loaded %+v", state)
		}
		if _, ok, err := c.Turns().Unanswered(ctx); ok || err != nil {
			t.Errorf("unanswered: %v, %v", ok, err)
		}
		pieces, err := c.Outbox().Unsent(ctx)
		want := []store.Piece{
			{Row: 1, Reply: "r1", Part: 0, Parts: 2, To: []string{"m1"}, Text: "half past"},
			{Row: 2, Reply: "r1", Part: 1, Parts: 2, To: []string{"m1"}, Text: " nine"},
		}
		check.That(t, err == nil && reflect.DeepEqual(pieces, want), "outbox %+v, %v", pieces, err)
	})
	t.Run("a turn is finished once, and nothing is half written", func(t *testing.T) {
		c, turn := asked(t)
		bad := fullAnswer(turn)
		bad.Messages[2].Seq = turn // taken
		before := storetest.Dump(t, c.Store())
		if err := c.Turns().Finish(ctx, bad); err == nil {
			t.Error("no error for a used seq")
		}
		bad = fullAnswer(turn)
		bad.Messages[1].Role = llm.RoleUser
		if err := c.Turns().Finish(ctx, bad); err == nil {
			t.Error("no error for a person's message")
		}
		check.Equal(t, "state after a refused outcome", storetest.Dump(t, c.Store()), before)
		check.NoError(t, c.Turns().Finish(ctx, fullAnswer(turn)))
		check.Error(t, c.Turns().Finish(ctx, fullAnswer(turn)), store.ErrNotFound)
	})
}

func TestRetriesAndUnsentPieces(t *testing.T) {
	t.Run("a retry counts, and a failure closes the turn without an assistant message", func(t *testing.T) {
		c, turn := asked(t)
		check.Equal(t, "n", check.Must(c.Turns().Retry(ctx, turn))(t), 2)
		check.NoError(t, c.Turns().Finish(ctx, store.Outcome{Turn: turn, Reply: "r1", Pieces: []string{"sorry"}, Failure: true}))
		check.Error(t, check.ErrorOf(c.Turns().Retry(ctx, turn)), store.ErrNotFound)
		check.Equal(t, "answered", storetest.Number(t, c.Store(), "SELECT answered FROM messages"), store.TurnClosed)
		if pieces, err := c.Outbox().Unsent(ctx); err != nil || len(pieces) != 1 || !pieces[0].Failure {
			t.Errorf("%+v, %v", pieces, err)
		}
	})
	t.Run("a piece is unsent until it is sent, and no other conversation can mark it", func(t *testing.T) {
		c, turn := asked(t)
		check.NoError(t, c.Turns().Finish(ctx, fullAnswer(turn)))
		other := storetest.Find(t, c.Store(), "terminal:other")
		check.Error(t, other.Outbox().Sent(ctx, 1, "p"), store.ErrNotFound)
		check.NoError(t, c.Outbox().Sending(ctx, 1))
		if pieces, _ := c.Outbox().Unsent(ctx); len(pieces) != 2 || !pieces[0].Sending || pieces[1].Sending {
			t.Errorf("%+v", pieces)
		}
		check.NoError(t, c.Outbox().Sent(ctx, 1, "p1"))
		pieces, _ := c.Outbox().Unsent(ctx)
		check.Len(t, "pieces", pieces, 1)
		check.Equal(t, "row of the piece", pieces[0].Row, 2)
		check.Error(t, c.Outbox().Sending(ctx, 1), store.ErrNotFound)
	})
}

func TestUnfinished(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	want := func(names ...string) {
		t.Helper()
		check.EqualAll(t, "result", check.Must(s.Unfinished(ctx))(t), names)
	}
	asked, done, inbox := storetest.Find(t, s, "terminal:asked"), storetest.Find(t, s, "terminal:done"), storetest.Find(t, s, "terminal:inbox")
	storetest.Deliver(t, done, storetest.Said(1, "overheard"))
	want()
	m := storetest.Asking(1, "hi")
	storetest.Deliver(t, asked, m)
	storetest.DeliverOnly(t, inbox, m)
	want("terminal:asked", "terminal:inbox")
	check.NoError(t, asked.Turns().Finish(ctx, store.Outcome{Turn: 1, Reply: "r", Pieces: []string{"hello"}}))
	storetest.Deliver(t, inbox)
	want("terminal:asked", "terminal:inbox")
	check.NoError(t, asked.Outbox().Sent(ctx, 1, "p"))
	want("terminal:inbox")
	storetest.Hide(t, done, 1, 1)
	want("terminal:done", "terminal:inbox") // a placeholder needs to be filled and repaired
}

func TestConversations(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	names := []string{"terminal:'; --", "discord:1/2/3", "slack:\u202ee\x00", "terminal:" + strings.Repeat("n", store.MaxName-9)}
	for _, name := range names {
		c := storetest.Find(t, s, name)
		again := storetest.Find(t, s, name)
		check.Equal(t, "conversations", *again, *c)
		check.Equal(t, "name", again.Name(), name)
	}
	known := check.Must(s.Known(ctx))(t)
	slices.Reverse(known)
	check.EqualAll(t, "result", known, names)
	for _, name := range []string{"", "\xff", strings.Repeat("n", store.MaxName+1)} {
		if _, err := s.Conversation(ctx, name); err == nil {
			t.Errorf("%q is accepted as a name", name)
		}
	}
	check.Error(t, check.ErrorOf(s.Find(ctx, "terminal:none")), store.ErrNotFound)
}

// Concurrent callers who name a conversation get the same one, also from a shell beside the bot.
func TestConcurrentConversationLookup(t *testing.T) {
	dir := t.TempDir()
	bot := storetest.OpenStore(t, dir)
	shell := check.Must(store.Open(ctx, store.Options{Dir: dir, Shared: true}))(t)
	defer shell.Close()
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			check.Error(t, check.ErrorOf([]*store.Store{bot, shell}[i%2].Conversation(ctx, "terminal:general")), nil)
		})
	}
	wg.Wait()
	check.Len(t, "conversations", check.Must(bot.Known(ctx))(t), 1)
}

func TestPost(t *testing.T) {
	c := storetest.NewConversation(t)
	notice := store.Outcome{Reply: "notice-1", To: []string{"m1"}, Pieces: []string{"wait", " a minute"}, Failure: true}
	for range 2 {
		check.NoError(t, c.Outbox().Post(ctx, notice))
		notice.Pieces = append(notice.Pieces, " please")
	}
	pieces, err := c.Outbox().Unsent(ctx)
	if err != nil || len(pieces) != 2 || pieces[1].Text != " a minute" || !pieces[0].Failure || !slices.Equal(pieces[0].To, []string{"m1"}) {
		t.Errorf("got two posts: %+v, %v", pieces, err)
	}
	check.NoError(t, storetest.Find(t, c.Store(), "terminal:other").Outbox().Post(ctx, notice))
	check.Equal(t, "id in another conversation", len(check.Must(storetest.Find(t, c.Store(), "terminal:other").Outbox().Unsent(ctx))(t)), 4)
}

func TestDrop(t *testing.T) {
	c := storetest.NewConversation(t)
	check.NoError(t, c.Outbox().Post(ctx, store.Outcome{Reply: "notice-1", Pieces: []string{"a", "b", "c"}}))
	check.NoError(t, c.Outbox().Sending(ctx, 2))
	check.Error(t, storetest.Find(t, c.Store(), "terminal:other").Outbox().Drop(ctx, 1, "no"), store.ErrNotFound)
	for _, row := range []int64{1, 2} {
		check.NoError(t, c.Outbox().Drop(ctx, row, "the channel is gone"))
	}
	pieces := check.Must(c.Outbox().Unsent(ctx))(t)
	check.Len(t, "left", pieces, 1)
	check.Equal(t, "piece", pieces[0].Text, "c")
	check.Equal(t, "answer", len(check.Must(c.Store().Unfinished(ctx))(t)), 1)
	for name, again := range map[string]func() error{
		"sending": func() error { return c.Outbox().Sending(ctx, 1) },
		"sent":    func() error { return c.Outbox().Sent(ctx, 1, "p1") },
		"dropped": func() error { return c.Outbox().Drop(ctx, 1, "again") },
	} {
		if err := again(); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s after it was dropped: %v", name, err)
		}
	}
	check.Equal(t, "rows with the reason", storetest.Number(t, c.Store(), "SELECT count(*) FROM outbox WHERE state = 'dropped' AND error = 'the channel is gone' AND sent_at > 0"), 2)
	check.NoError(t, c.Outbox().Sent(ctx, 3, "p3"))
	check.Error(t, c.Outbox().Drop(ctx, 3, "late"), store.ErrNotFound)
	check.Equal(t, "unfinished", len(check.Must(c.Store().Unfinished(ctx))(t)), 0)
}

func TestPauses(t *testing.T) {
	p := storetest.NewConversation(t).Store().Pauses()
	for _, step := range []struct {
		do   func() error
		want []string
	}{
		{func() error { return p.Pause(ctx, "slack:1/2", "Ann") }, []string{"slack:1/2"}},
		{func() error { return p.Pause(ctx, "", "Bob") }, []string{"", "slack:1/2"}},
		{func() error { return p.Pause(ctx, "", "Ann") }, []string{"", "slack:1/2"}},
		{func() error { return p.Resume(ctx, "") }, []string{"slack:1/2"}},
		{func() error { return p.Resume(ctx, "slack:9/9") }, []string{"slack:1/2"}},
		{func() error { return p.Resume(ctx, "slack:1/2") }, nil},
	} {
		check.NoError(t, step.do())
		check.EqualAll(t, "pauses", check.Must(p.List(ctx))(t), step.want)
	}
}

func TestRefusalsAreCounted(t *testing.T) {
	c := storetest.NewConversation(t)
	check.NoError(t, c.Outbox().Post(ctx, store.Outcome{Reply: "notice-1", Pieces: []string{"a", "b"}}))
	for want := 1; want <= 3; want++ {
		if want == 3 { // across a restart
			c = reopen(t, c)
		}
		check.Equal(t, "refusals", check.Must(c.Outbox().Refused(ctx, 2))(t), want)
	}
	check.Equal(t, "refusals of another piece", check.Must(c.Outbox().Refused(ctx, 1))(t), 1)
	check.NoError(t, c.Outbox().Drop(ctx, 2, "no"))
	check.Error(t, check.ErrorOf(c.Outbox().Refused(ctx, 2)), store.ErrNotFound)
}
