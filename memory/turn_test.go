package memory

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/llm"
)

func asked(t *testing.T) (*Conversation, int64) {
	c := newConversation(t)
	m := said(1, "what time is it?")
	m.Addressed = true
	return c, deliver(t, c, m)[0].Turn
}

func fullAnswer(turn int64) Outcome {
	return Outcome{
		Turn: turn, Reply: "r1", To: []string{"m1"}, Pieces: []string{"half past", " nine"},
		Messages: []chat.Message{
			{Seq: turn + 1, Turn: turn, Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "c1", Name: "clock", Arguments: "{"}}, Native: []byte(`{"a": 1}`), Time: day, Tokens: 9},
			{Seq: turn + 2, Turn: turn, Role: llm.RoleTool, CallID: "c1", Tool: "clock", Text: "9:30", Time: day, Tokens: 8},
			{Seq: turn + 3, Turn: turn, Role: llm.RoleAssistant, Text: "half past nine", Time: day, Tokens: 7},
		},
	}
}

func TestTurns(t *testing.T) {
	t.Run("an answer, its tools and its pieces are written together, and read back as they were", func(t *testing.T) {
		c, turn := asked(t)
		o := fullAnswer(turn)
		check.NoError(t, c.Turns().Finish(ctx, o))
		state := load(t, c)
		if state.Open != 0 || state.Next != 5 || !reflect.DeepEqual(state.Messages[1:], o.Messages) {
			t.Errorf("loaded %+v", state)
		}
		if _, ok, err := c.Turns().Unanswered(ctx); ok || err != nil {
			t.Errorf("unanswered: %v, %v", ok, err)
		}
		pieces, err := c.Outbox().Unsent(ctx)
		want := []Piece{
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
		before := dump(t, c.store)
		if err := c.Turns().Finish(ctx, bad); err == nil {
			t.Error("a taken seq: no error")
		}
		bad = fullAnswer(turn)
		bad.Messages[1].Role = llm.RoleUser
		if err := c.Turns().Finish(ctx, bad); err == nil {
			t.Error("a person's message: no error")
		}
		check.Equal(t, "a refused outcome changed something", dump(t, c.store), before)
		check.NoError(t, c.Turns().Finish(ctx, fullAnswer(turn)))
		check.Error(t, c.Turns().Finish(ctx, fullAnswer(turn)), ErrNotFound)
	})
}

func TestRetriesAndUnsentPieces(t *testing.T) {
	t.Run("a retry counts, and a failure closes the turn without words of the assistant", func(t *testing.T) {
		c, turn := asked(t)
		if n, err := c.Turns().Retry(ctx, turn); n != 2 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		check.NoError(t, c.Turns().Finish(ctx, Outcome{Turn: turn, Reply: "r1", Pieces: []string{"sorry"}, Failure: true}))
		check.Error(t, check.ErrorOf(c.Turns().Retry(ctx, turn)), ErrNotFound)
		check.Equal(t, "answered", number(t, c.store, "SELECT answered FROM messages"), closed)
		if pieces, err := c.Outbox().Unsent(ctx); err != nil || len(pieces) != 1 || !pieces[0].Failure {
			t.Errorf("%+v, %v", pieces, err)
		}
	})
	t.Run("a piece is unsent until it is sent, and no other conversation can mark it", func(t *testing.T) {
		c, turn := asked(t)
		check.NoError(t, c.Turns().Finish(ctx, fullAnswer(turn)))
		other := find(t, c.store, "terminal:other")
		check.Error(t, other.Outbox().Sent(ctx, 1, "p"), ErrNotFound)
		check.NoError(t, c.Outbox().Sending(ctx, 1))
		if pieces, _ := c.Outbox().Unsent(ctx); len(pieces) != 2 || !pieces[0].Sending || pieces[1].Sending {
			t.Errorf("%+v", pieces)
		}
		check.NoError(t, c.Outbox().Sent(ctx, 1, "p1"))
		if pieces, _ := c.Outbox().Unsent(ctx); len(pieces) != 1 || pieces[0].Row != 2 {
			t.Errorf("%+v", pieces)
		}
		check.Error(t, c.Outbox().Sending(ctx, 1), ErrNotFound)
	})
}

func TestUnfinished(t *testing.T) {
	s := openStore(t, t.TempDir())
	want := func(names ...string) {
		t.Helper()
		if got, err := s.Unfinished(ctx); err != nil || !slices.Equal(got, names) {
			t.Errorf("got %q, %v, want %q", got, err, names)
		}
	}
	asked, done, inbox := find(t, s, "terminal:asked"), find(t, s, "terminal:done"), find(t, s, "terminal:inbox")
	deliver(t, done, said(1, "overheard"))
	want()
	m := said(1, "hi")
	m.Addressed = true
	deliver(t, asked, m)
	deliverOnly(t, inbox, m)
	want("terminal:asked", "terminal:inbox")
	check.NoError(t, asked.Turns().Finish(ctx, Outcome{Turn: 1, Reply: "r", Pieces: []string{"hello"}}))
	deliver(t, inbox)
	want("terminal:asked", "terminal:inbox")
	check.NoError(t, asked.Outbox().Sent(ctx, 1, "p"))
	want("terminal:inbox")
	hide(t, done, 1, 1)
	want("terminal:done", "terminal:inbox") // a placeholder needs to be filled and repaired
}

func TestConversations(t *testing.T) {
	s := openStore(t, t.TempDir())
	names := []string{"terminal:'; --", "discord:1/2/3", "slack:\u202ee\x00", "terminal:" + strings.Repeat("n", maxName-9)}
	for _, name := range names {
		c := find(t, s, name)
		if again := find(t, s, name); *again != *c || again.Name() != name {
			t.Errorf("two handles of %q differ", name)
		}
	}
	if got, err := allNames(s); err != nil || !slices.Equal(got, names) {
		t.Errorf("%q, %v", got, err)
	}
	for _, name := range []string{"", "\xff", strings.Repeat("n", maxName+1)} {
		if _, err := s.Conversation(ctx, name); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
	check.Error(t, check.ErrorOf(s.Find(ctx, "terminal:none")), ErrNotFound)
}
