package store_test

import (
	"fmt"
	"slices"
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

// answerUnder finishes the turn of message asked with a reply and a context, and reports
// whether the context was stored.
func answerUnder(t *testing.T, c *store.Conversation, asked int64, ctxOf transcript.Context, version int64) (stored bool) {
	t.Helper()
	ctxOf.Seq = asked
	row := chat.Message{Seq: asked + 1, Turn: asked, Role: llm.RoleAssistant, ID: fmt.Sprint("reply-", asked+1), Text: "so it is", Time: storetest.Day}
	row.Tokens = chat.TokensOf(row)
	outcome := store.Outcome{Turn: asked, Messages: []chat.Message{row}, Reply: row.ID, Pieces: []string{row.Text}, Context: ctxOf, Version: version}
	stored, err := c.Turns().Answer(ctx, outcome)
	check.NoError(t, err)
	return stored
}

// contextsOf returns the contexts that a restart shows, by the message they follow.
func contextsOf(t *testing.T, c *store.Conversation) map[int64]string {
	t.Helper()
	shown := map[int64]string{}
	for _, found := range storetest.Load(t, c).Contexts {
		shown[found.Seq] = found.Text
	}
	return shown
}

func withContext(t *testing.T) (*store.Conversation, memory.Memory) {
	c := storetest.NewConversation(t)
	storetest.Deliver(t, c, storetest.Said(1, "I play the theremin"), storetest.Said(2, "b"))
	kept, _, err := storetest.Remember(memory.Of(c), ctx, summarize.MemoryDraft{Kind: "fact", Content: "Ann plays the theremin.", Messages: []int64{1}}, "Ann")
	check.NoError(t, err)
	storetest.Deliver(t, c, storetest.Asking(3, "what do I play?"))
	answerUnder(t, c, 3, transcript.Context{Text: "time: now", Messages: []int64{1}, Memories: []int64{kept.ID}}, storetest.Load(t, c).Head.Version)
	if got := storetest.Load(t, c).Contexts; len(got) != 1 || got[0].Seq != 3 || got[0].Text != "time: now" ||
		!slices.Equal(got[0].Messages, []int64{1}) || !slices.Equal(got[0].Memories, []int64{kept.ID}) {
		t.Fatalf("got stored %+v", got)
	}
	return c, kept
}

func wantNoContext(t *testing.T, c *store.Conversation) {
	t.Helper()
	check.Equal(t, "shown", len(contextsOf(t, c)), 0)
	check.Equal(t, "rows left", storetest.Number(t, c.Store(), "SELECT (SELECT count(*) FROM messages WHERE context <> '') + (SELECT count(*) FROM quotes)"), 0)
}

func TestTurnContextIsStoredUntilHeadChanges(t *testing.T) {
	t.Run("a context survives another turn", func(t *testing.T) {
		c, _ := withContext(t)
		storetest.Deliver(t, c, storetest.Asking(5, "and you?"))
		check.Equal(t, "stored", answerUnder(t, c, 5, transcript.Context{Text: "time: later"}, storetest.Load(t, c).Head.Version), true)
		if got := contextsOf(t, c); len(got) != 2 || got[5] != "time: later" {
			t.Errorf("got shown %v", got)
		}
	})
	t.Run("a summary removes it", func(t *testing.T) {
		c, _ := withContext(t)
		storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 2))
		wantNoContext(t, c)
	})
	t.Run("any deletion removes it", func(t *testing.T) {
		c, _ := withContext(t)
		storetest.Remove(t, c, 1)
		wantNoContext(t, c)
	})
	t.Run("an edit removes it", func(t *testing.T) {
		c, _ := withContext(t)
		storetest.Edit(t, c, 2, "c")
		wantNoContext(t, c)
	})
	t.Run("a context that quotes a forgotten or purged memory is removed, in other conversations too", func(t *testing.T) {
		for _, what := range []string{"forget", "purge"} {
			c, kept := withContext(t)
			other := storetest.Find(t, c.Store(), "terminal:elsewhere")
			storetest.Deliver(t, other, storetest.Asking(1, "who plays?"))
			answerUnder(t, other, 1, transcript.Context{Text: "Ann plays", Memories: []int64{kept.ID}}, storetest.Load(t, other).Head.Version)
			told := map[string][]int64{}
			c.Store().WatchCopies(func(conversation string, seqs []int64) { told[conversation] = append(told[conversation], seqs...) })
			before := storetest.Load(t, other).Head.Version
			do := memory.In(c.Store()).Forget
			if what == "purge" {
				do = memory.In(c.Store()).Purge
			}
			check.NoError(t, do(ctx, kept.ID))
			wantNoContext(t, c)
			wantNoContext(t, other)
			if !slices.Equal(told[other.Name()], []int64{1}) || storetest.Load(t, other).Head.Version == before {
				t.Errorf("%s: got reported %v", what, told)
			}
		}
	})
}

func TestContextsNotStored(t *testing.T) {
	for claim, test := range map[string]struct {
		meanwhile func(t *testing.T, c *store.Conversation, memory int64)
		quoted    func(memory int64) transcript.Context
		now       bool // under the head that there is then
	}{
		"quotes a memory that was purged": {
			func(*testing.T, *store.Conversation, int64) {},
			func(id int64) transcript.Context { return transcript.Context{Memories: []int64{id + 1}} }, true,
		},
		"is of an older head": {func(t *testing.T, c *store.Conversation, _ int64) {
			storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 2))
		}, func(int64) transcript.Context { return transcript.Context{} }, false},
		"quotes a message deleted during the turn": {
			func(t *testing.T, c *store.Conversation, _ int64) { storetest.Remove(t, c, 1) },
			func(int64) transcript.Context { return transcript.Context{Messages: []int64{1}} }, true,
		},
		"quotes a memory of a message deleted during the turn": {
			func(t *testing.T, c *store.Conversation, _ int64) { storetest.Remove(t, c, 1) },
			func(id int64) transcript.Context { return transcript.Context{Memories: []int64{id}} }, true,
		},
		"quotes a memory forgotten during the turn": {
			func(t *testing.T, c *store.Conversation, id int64) { check.NoError(t, memory.Of(c).Forget(ctx, id)) },
			func(id int64) transcript.Context { return transcript.Context{Memories: []int64{id}} }, true,
		},
	} {
		t.Run("a context that "+claim, func(t *testing.T) {
			c, kept := withContext(t)
			version := storetest.Load(t, c).Head.Version
			storetest.Deliver(t, c, storetest.Asking(5, "and you?"))
			test.meanwhile(t, c, kept.ID)
			if test.now {
				version = storetest.Load(t, c).Head.Version
			}
			made := test.quoted(kept.ID)
			made.Text = "you play the theremin"
			check.Equal(t, "stored", answerUnder(t, c, 5, made, version), false)
		})
	}
	t.Run("a purged memory quoted in its own conversation is reported", func(t *testing.T) {
		c, kept := withContext(t)
		told := map[string][]int64{}
		c.Store().WatchCopies(func(conversation string, seqs []int64) { told[conversation] = append(told[conversation], seqs...) })
		before := storetest.Load(t, c).Head.Version
		check.NoError(t, memory.In(c.Store()).Purge(ctx, kept.ID))
		if !slices.Equal(told[c.Name()], []int64{3}) || storetest.Load(t, c).Head.Version == before {
			t.Errorf("got reported %v, version %d after %d", told, storetest.Load(t, c).Head.Version, before)
		}
	})
	t.Run("a purged conversation has no contexts", func(t *testing.T) {
		c, _ := withContext(t)
		check.NoError(t, privacy.Of(c).Purge(ctx))
		wantNoContext(t, c)
	})
}

func TestDeletionRemovesStoredReasoning(t *testing.T) {
	c := storetest.NewConversation(t)
	storetest.Deliver(t, c, storetest.Said(1, "a secret"), storetest.Asking(2, "what did I say?"))
	storetest.AnswerWith(t, c, 2, 3, `{"fields":{"reasoning_content":"\"she said a secret\""}}`, map[string]string{"weather": "sunny"})
	if got := storetest.Remove(t, c, 1); !slices.Contains(got, int64(3)) {
		t.Errorf("got changed %v", got)
	}
	check.Equal(t, "messages with reasoning", storetest.Number(t, c.Store(), "SELECT count(*) FROM messages WHERE native <> ''"), 0)
}
