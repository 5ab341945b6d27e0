package store_test

import (
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
		if err != nil || !reflect.DeepEqual(pieces, want) {
			t.Errorf("outbox %+v, %v", pieces, err)
		}
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
