package privacy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
)

// answerFinding answers a turn: memory_search finds who plays what, or found if that is given.
func answerFinding(t *testing.T, c *store.Conversation, turn int64, found string) {
	t.Helper()
	if found == "" {
		found = check.Must(storetest.Call(memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return turn }}), "memory_search", `{"query":"plays"}`))(t)
	}
	storetest.AnswerWith(t, c, turn, turn+1, "", map[string]string{"memory_search": found})
	storetest.Run(t, c.Store(), "UPDATE messages SET calls = '' WHERE role = 'assistant'") // the double's call repeats it
}

// searched makes a conversation of a server find another one's memory with its tool.
func searched(t *testing.T, s *store.Store, from, to string) (a, b *store.Conversation) {
	t.Helper()
	memory.In(s).Share(true)
	a, b = storetest.Find(t, s, from), storetest.Find(t, s, to)
	m := storetest.Said(1, "I play the "+storetest.Secret)
	m.Audience = store.ServerWide
	storetest.Deliver(t, a, m, storetest.Said(2, "well"))
	storetest.Keep(t, a, "Ann", "Ann plays the "+storetest.Secret, 1)
	storetest.Keep(t, a, "Ann", "Ann rows", 2)
	storetest.Run(t, s, "UPDATE memories SET reach = 'server'")
	m = storetest.Asking(1, "what does Ann play?")
	m.Audience = store.ServerWide
	storetest.Deliver(t, b, m)
	answerFinding(t, b, 1, "")
	return a, b
}

func TestDeletionReachesOthersRecall(t *testing.T) {
	for _, test := range []struct {
		name, from, to string
		do             func(*testing.T, *store.Conversation)
	}{
		{"deleted in a channel, found in another", "discord:1/10", "discord:1/11", func(t *testing.T, c *store.Conversation) { storetest.Remove(t, c, 1) }},
		{"deleted in a channel, found in its thread", "discord:1/10", "discord:1/10/100", func(t *testing.T, c *store.Conversation) { storetest.Remove(t, c, 1) }},
		{"deleted in a thread, found in its channel", "discord:1/10/100", "discord:1/10", func(t *testing.T, c *store.Conversation) { storetest.Remove(t, c, 1) }},
		{"a channel is purged", "discord:1/10", "discord:1/11", func(t *testing.T, c *store.Conversation) {
			check.NoError(t, privacy.Of(c).Purge(ctx))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := storetest.OpenStore(t, t.TempDir())
			told := ""
			s.WatchCopies(func(name string, seqs []int64) { told += fmt.Sprint(name, seqs) })
			a, b := searched(t, s, test.from, test.to)
			before := storetest.Version(t, b)
			test.do(t, a)
			storetest.WantNoSecret(t, b)
			if want := test.to + "[3]"; told != want || storetest.Version(t, b) == before {
				t.Errorf("got %q", told)
			}
			check.Equal(t, "answer", check.Must(b.Transcript().Message(ctx, 3))(t).Text, store.DeletedCopyText)
		})
	}
	t.Run("other memories are unchanged", func(t *testing.T) {
		s := storetest.OpenStore(t, t.TempDir())
		s.WatchCopies(func(name string, seqs []int64) { t.Error(name, seqs) })
		a, b := searched(t, s, "discord:1/10", "discord:1/11")
		storetest.Remove(t, a, 2)
		if m, err := b.Transcript().Message(ctx, 3); err != nil || m.Text == store.DeletedCopyText {
			t.Errorf("%+v, %v", m, err)
		}
	})
	t.Run("a later answer repeats nothing of it", func(t *testing.T) {
		s := storetest.OpenStore(t, t.TempDir())
		a, b := searched(t, s, "discord:1/10", "discord:1/11")
		found := check.Must(b.Transcript().Message(ctx, 3))(t)
		storetest.Deliver(t, b, storetest.Asking(2, "again?"))
		storetest.Remove(t, a, 1)
		answerFinding(t, b, 5, found.Text)
		storetest.WantNoSecret(t, b)
	})
}

func TestCopiesOfPurgedAndErasedMemories(t *testing.T) {
	t.Run("a memory that is purged goes out of what searches found, also where it was said", func(t *testing.T) {
		s := storetest.OpenStore(t, t.TempDir())
		c := storetest.Find(t, s, "terminal:general")
		storetest.Deliver(t, c, storetest.Asking(1, "what does Ann play?"))
		storetest.Keep(t, c, "Ann", "Ann plays the "+storetest.Secret)
		answerFinding(t, c, 1, "")
		check.NoError(t, memory.In(s).Purge(ctx, 1))
		storetest.WantNoSecret(t, c)
	})
	t.Run("deleting a person's data reports the changes", func(t *testing.T) {
		s := storetest.OpenStore(t, t.TempDir())
		c := storetest.Find(t, s, "terminal:general")
		m := storetest.Asking(1, "what does Bob play?")
		m.AuthorID = "9"
		storetest.Deliver(t, c, m)
		storetest.Keep(t, c, "Bob", "Bob plays the "+storetest.Secret)
		answerFinding(t, c, 1, "")
		check.Must(privacy.In(s).Erase(ctx, storetest.People["Bob"], c))(t)
		if e, err := privacy.Of(c).EraseSome(ctx, storetest.People["Bob"]); err != nil || e.Messages != 0 || e.Memories != 1 || !slices.Equal(e.Seqs, []int64{3}) {
			t.Errorf("%+v, %v", e, err)
		}
		storetest.WantNoSecret(t, c)
	})
	t.Run("memory_save quoted what may be superseded, and that is gone", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, storetest.Said(1, storetest.Secret), storetest.Asking(3, "I moved"))
		storetest.Keep(t, c, "Bob", "Bob plays the loud "+storetest.Secret+" at home", 1)
		save := func(turn int64, content string) string {
			answer := check.Must(storetest.Call(memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return turn }}), "memory_save", `{"content":"`+content+`","kind":"fact"}`))(t)
			return answer
		}
		answer := save(2, "Bob plays the loud drum at home")
		check.Require(t, strings.Contains(answer, storetest.Secret), "got answer %q", answer)
		storetest.AnswerWith(t, c, 2, 3, "", map[string]string{"memory_save": answer})
		storetest.Run(t, c.Store(), "UPDATE messages SET calls = '' WHERE role = 'assistant'")
		storetest.Deliver(t, c, storetest.Asking(5, "again"))
		answer = save(6, "Bob plays the loud flute at home")
		check.EqualAll(t, "changed", storetest.Remove(t, c, 1), []int64{1, 4})
		storetest.AnswerWith(t, c, 6, 7, "", map[string]string{"memory_save": answer + ` Memory 1 says: "` + storetest.Secret + `"`})
		storetest.Run(t, c.Store(), "UPDATE messages SET calls = '' WHERE role = 'assistant'")
		storetest.WantNoSecret(t, c)
	})
}
