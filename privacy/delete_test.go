package privacy_test

import (
	"errors"
	"fmt"
	"testing"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/transcript"
)

func TestDelete(t *testing.T) {
	t.Run("a waiting message is removed, is not redelivered, and leaves nothing in the view", func(t *testing.T) {
		c := storetest.NewConversation(t)
		m := storetest.Said(1, storetest.Secret)
		m.Addressed = true
		m.Attachments = []chat.Attachment{{Kind: "image", Data: []byte(storetest.Secret)}}
		storetest.DeliverOnly(t, c, m, storetest.Said(2, "b"))
		before := storetest.Version(t, c)
		if got := storetest.Remove(t, c, 1); got != nil {
			t.Errorf("seqs %v", got)
		}
		storetest.WantNoSecret(t, c)
		check.Equal(t, "the picture is still stored", storetest.Number(t, c.Store(), "SELECT count(*) FROM files"), 0)
		if r, err := c.Inbox().Deliver(ctx, m); err != nil || r.Fresh || r.Seq != 0 {
			t.Errorf("delivered again: %+v, %v", r, err)
		}
		taken := storetest.Deliver(t, c)
		check.Len(t, "dequeued", taken, 1)
		check.Equal(t, "id", taken[0].ID, "m2")
		check.Equal(t, "version", storetest.Version(t, c), before)
	})
	t.Run("a dequeued message leaves a tombstone with author, id and seq", func(t *testing.T) {
		c := storetest.NewConversation(t)
		m := storetest.Said(2, "my "+storetest.Secret)
		m.Quote = storetest.Secret
		m.Attachments = []chat.Attachment{{Kind: "image", Name: storetest.Secret, Data: []byte(storetest.Secret)}}
		storetest.Deliver(t, c, storetest.Said(1, "a"), m, storetest.Said(3, "c"))
		before := storetest.Version(t, c)
		check.EqualAll(t, "seqs", storetest.Remove(t, c, 2), []int64{2})
		storetest.WantNoSecret(t, c)
		if got := storetest.Recalled(t, c, storetest.Secret); got != nil {
			t.Errorf("got %v found by its words", got)
		}
		check.EqualAll(t, "transcript", storetest.Seqs(check.Must(c.Transcript().Page(ctx, 1, 9))(t)), []int64{1, 3})
		var author, id string
		err := c.Store().View(ctx, func(tx *store.Tx) error {
			return tx.QueryRow("SELECT author, platform_id FROM messages WHERE seq = 2 AND deleted_at > 0").Scan(&author, &id)
		})
		check.NoError(t, err)
		check.Equal(t, "the tombstone", author, "Ann")
		check.Equal(t, "id", id, "m2")
		if r, err := c.Inbox().Deliver(ctx, m); err != nil || r.Fresh || r.Seq != 2 {
			t.Errorf("delivered again: %+v, %v", r, err)
		}
		check.Equal(t, "the next one", storetest.Deliver(t, c, storetest.Said(4, "d"))[0].Seq, 4)
		check.Equal(t, "version", storetest.Version(t, c), before+1)
		if again := storetest.Remove(t, c, 2); again != nil || storetest.Version(t, c) != before+1 {
			t.Errorf("deleted again: %v", again)
		}
	})
}

func TestDeletingAmongOtherMessages(t *testing.T) {
	t.Run("unknown ids are ignored", func(t *testing.T) {
		c := storetest.NewConversation(t)
		before := storetest.Dump(t, c.Store())
		if got := storetest.Remove(t, c, 1, 2); got != nil || storetest.Dump(t, c.Store()) != before {
			t.Errorf("seqs %v", got)
		}
		if r, err := c.Inbox().Deliver(ctx, storetest.Said(1, "a")); err != nil || !r.Fresh {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("its quotes are removed, waiting or dequeued, and the quoting messages are reported", func(t *testing.T) {
		c := storetest.NewConversation(t)
		quoting := func(n int, to string) store.Inbound {
			m := storetest.Said(n, "I disagree")
			m.ReplyTo, m.Quote = to, "Bob: "+storetest.Secret
			return m
		}
		taken := storetest.Deliver(t, c, quoting(2, "m0"), storetest.Said(3, "c"))
		storetest.DeliverOnly(t, c, quoting(4, "m0"))
		got, err := privacy.Of(c).Delete(ctx, []string{"m0"}) // said before the bot came
		check.NoError(t, err)
		check.EqualAll(t, "seqs", got, []int64{1})
		storetest.WantNoSecret(t, c)
		m, err := c.Transcript().Message(ctx, 1)
		if err != nil || m.Quote != "" || m.ReplyTo != "m0" || m.Tokens != chat.TokensOf(m) || m.Tokens > taken[0].Tokens {
			t.Errorf("%+v, %v", m, err)
		}
		check.EqualAll(t, "found by its words", storetest.Recalled(t, c, "disagree"), []int64{1})
	})
	t.Run("what the bot said before a call stays in the search index", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, storetest.Asking(1, "what time is it?"))
		check.NoError(t, c.Turns().Finish(ctx, store.Outcome{Turn: 1, Messages: []chat.Message{
			{Seq: 2, Turn: 1, Role: llm.RoleAssistant, Text: "the clock in the harbour says nine", Calls: []llm.Call{{ID: "1", Name: "weather", Arguments: `{"in": "` + storetest.Secret + `"}`}}},
			{Seq: 3, Turn: 1, Role: llm.RoleTool, CallID: "1", Tool: "weather", Text: storetest.Secret},
		}}))
		storetest.Remove(t, c, 1)
		storetest.WantNoSecret(t, c)
		check.EqualAll(t, "found", storetest.Recalled(t, c, "harbour"), []int64{2})
	})
}

func TestDeletingUnansweredMessage(t *testing.T) {
	ask := func(n int) store.Inbound {
		m := storetest.Said(n, "what time is it?")
		m.Addressed = true
		return m
	}
	open := func(t *testing.T, c *store.Conversation) int64 {
		t.Helper()
		turn, ok, err := c.Turns().Unanswered(ctx)
		check.NoError(t, err)
		state := storetest.Load(t, c)
		check.Equal(t, "turn in the view", ok, (state.Open != 0))
		check.Equal(t, "turn in the view", state.Open, turn.Seq)
		return turn.Seq
	}
	t.Run("the only question of a turn closes it", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, ask(1), storetest.Said(2, "by the way"))
		storetest.Remove(t, c, 1)
		check.Equal(t, "open turn", open(t, c), 0)
		check.Error(t, check.ErrorOf(c.Turns().Retry(ctx, 1)), store.ErrNotFound)
		check.Error(t, c.Turns().Finish(ctx, store.Outcome{Turn: 1, Reply: "r", Pieces: []string{"nine"}}), store.ErrNotFound)
		if pieces, _ := c.Outbox().Unsent(ctx); pieces != nil {
			t.Errorf("got outbox %+v", pieces)
		}
	})
	t.Run("either of two questions leaves the turn open", func(t *testing.T) {
		for _, n := range []int{1, 3} {
			c := storetest.NewConversation(t)
			storetest.Deliver(t, c, ask(1), storetest.Said(2, "by the way"), ask(3))
			storetest.Remove(t, c, n)
			check.Equal(t, fmt.Sprintf("without message %d turn", n), open(t, c), 1)
			turn, _, err := c.Turns().Unanswered(ctx)
			check.NoError(t, err)
			check.EqualAll(t, fmt.Sprintf("without message %d it answers", n), turn.To, []string{fmt.Sprint("m", 4-n)})
			storetest.Remove(t, c, 4-n)
			check.Equal(t, "open turn", open(t, c), 0)
		}
	})
	t.Run("an answered turn stays answered", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, ask(1))
		storetest.Finish(t, c, 1, 2, "reply-2", "nine")
		storetest.Remove(t, c, 1)
		check.Equal(t, "answered", storetest.Number(t, c.Store(), "SELECT answered FROM messages WHERE seq = 1"), 1)
		check.EqualAll(t, "transcript", storetest.Seqs(check.Must(c.Transcript().Page(ctx, 1, 9))(t)), []int64{2})
	})
}

func TestDeletingRememberedMessage(t *testing.T) {
	c := storetest.Imported(t, 9)
	alone := storetest.Keep(t, c, "Ann", "Ann plays the "+storetest.Secret+".", 2).ID
	two := storetest.Keep(t, c, "Ann", "Ann plays music.", 2, 5).ID
	free := storetest.Keep(t, c, "Ann", "The standup is at nine.").ID
	both := storetest.Keep(t, c, "Ann", "Bob hates the "+storetest.Secret+".", 6, 7).ID
	old := storetest.Keep(t, c, "Ann", "Ann plays nothing.", 1).ID
	forgotten := storetest.Keep(t, c, "Ann", "Ann plays cards.", 1).ID
	said := storetest.Keep(t, c, "Ann", "Ann plays chess.", 1).ID
	storetest.Run(t, c.Store(), "UPDATE memories SET state = 'superseded', superseded_by = ? WHERE id IN (?, ?, ?)", alone, old, forgotten, said)
	check.NoError(t, memory.In(c.Store()).Forget(ctx, forgotten))
	again := storetest.Keep(t, c, "Bob", "Ann plays chess.", 3).ID
	storetest.Remove(t, c, 2)
	storetest.Remove(t, c, 6, 7)
	t.Run("a memory from it alone is deleted", func(t *testing.T) {
		for _, id := range []int64{alone, both} {
			if _, err := memory.In(c.Store()).Details(ctx, id); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("memory %d: %v", id, err)
			}
		}
		storetest.WantNoSecret(t, c)
		check.Equal(t, "found", len(check.Must(storetest.Search(memory.Of(c), ctx, storetest.Secret, 9))(t)), 0)
	})
	t.Run("a memory that another message supports keeps only that source", func(t *testing.T) {
		m := storetest.Memory(t, c.Store(), two)
		check.EqualAll(t, "sources", m.Sources, []int64{5})
		if m, err := memory.In(c.Store()).Details(ctx, free); err != nil || m.Content == "" {
			t.Errorf("%+v, %v", m, err)
		}
	})
	t.Run("a memory it superseded becomes current again", func(t *testing.T) {
		check.NoError(t, memory.In(c.Store()).Restore(ctx, forgotten))
		for id, want := range map[int64]string{old: "active", forgotten: "active", said: "superseded", again: "active"} { // no two active ones say the same
			m := storetest.Memory(t, c.Store(), id)
			check.Equal(t, m.Content, fmt.Sprint(m.State, m.SupersededBy), want+"0")
		}
	})
}

func TestQuotingMemoryIsDeletedWithItsSources(t *testing.T) {
	for name, steps := range map[string]struct{ read, running, saved bool }{
		"deleted when it is saved":                          {saved: true},
		"deleted while the summarizer runs":                 {running: true},
		"deleted when it is saved, read by a worker before": {read: true, saved: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := storetest.Imported(t, 9)
			if steps.read {
				storetest.Repair(t, c, transcript.Worker, 1, 3, "Ann plays music.", 1)
			}
			j := storetest.Begin(t, c, transcript.Leaf, transcript.Extractive, 1, 9)
			if steps.running {
				storetest.Remove(t, c, 2)
			}
			fresh, err := j.Store(ctx, summarize.Summary{Text: "summary", Tokens: 2, Memories: []summarize.MemoryDraft{
				{Kind: "fact", Content: "Ann: I play the " + storetest.Secret + ". I live in Rome.", Messages: []int64{2, 5}},
			}})
			check.NoError(t, err)
			check.Equal(t, fmt.Sprintf("saved %+v len(fresh) == 1", fresh), len(fresh) == 1, steps.saved)
			if steps.saved {
				storetest.Remove(t, c, 2)
			}
			storetest.WantNoSecret(t, c)
		})
	}
}
