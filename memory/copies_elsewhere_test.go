package memory

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/check"
)

// searched has a conversation of a server find a memory of another one with its tool.
func searched(t *testing.T, s *Store, from, to string) (a, b *Conversation) {
	t.Helper()
	MemoriesIn(s).Share(true)
	a, b = find(t, s, from), find(t, s, to)
	m := said(1, "I play the "+secret)
	m.Audience = ServerWide
	deliver(t, a, m, said(2, "well"))
	keep(t, a, "Ann", "Ann plays the "+secret, 1)
	keep(t, a, "Ann", "Ann rows", 2)
	run(t, s, "UPDATE memories SET reach = 'server'")
	m = asking(1, "what does Ann play?")
	m.Audience = ServerWide
	deliver(t, b, m)
	found := check.Must(call(MemoriesOf(b).Tools(ToolOptions{Turn: func() int64 { return 1 }}), "memory_search", `{"query":"plays"}`))(t)
	answerWith(t, b, 1, 2, "", map[string]string{"memory_search": found})
	run(t, s, "UPDATE messages SET calls = '' WHERE role = 'assistant'") // the double's call repeats it
	return a, b
}

func TestWhatOthersFoundOfWhatIsGone(t *testing.T) {
	for _, test := range []struct {
		name, from, to string
		do             func(*testing.T, *Conversation)
	}{
		{"deleted in a channel, found in another", "discord:1/10", "discord:1/11", func(t *testing.T, c *Conversation) { remove(t, c, 1) }},
		{"deleted in a channel, found in its thread", "discord:1/10", "discord:1/10/100", func(t *testing.T, c *Conversation) { remove(t, c, 1) }},
		{"deleted in a thread, found in its channel", "discord:1/10/100", "discord:1/10", func(t *testing.T, c *Conversation) { remove(t, c, 1) }},
		{"a channel is purged", "discord:1/10", "discord:1/11", func(t *testing.T, c *Conversation) {
			check.NoError(t, PrivacyOf(c).Purge(ctx))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := openStore(t, t.TempDir())
			told := ""
			s.WatchCopies(func(name string, seqs []int64) { told += fmt.Sprint(name, seqs) })
			a, b := searched(t, s, test.from, test.to)
			before := version(t, b)
			test.do(t, a)
			wantNoSecret(t, b)
			if want := test.to + "[3]"; told != want || version(t, b) == before {
				t.Errorf("told %q", told)
			}
			check.Equal(t, "the result", check.Must(b.Transcript().Message(ctx, 3))(t).Text, copyGone)
		})
	}
	t.Run("of another memory nothing changes", func(t *testing.T) {
		s := openStore(t, t.TempDir())
		s.WatchCopies(func(name string, seqs []int64) { t.Error(name, seqs) })
		a, b := searched(t, s, "discord:1/10", "discord:1/11")
		remove(t, a, 2)
		if m, err := b.Transcript().Message(ctx, 3); err != nil || m.Text == copyGone {
			t.Errorf("%+v, %v", m, err)
		}
	})
	t.Run("an answer that is written later repeats nothing of it", func(t *testing.T) {
		s := openStore(t, t.TempDir())
		a, b := searched(t, s, "discord:1/10", "discord:1/11")
		found := check.Must(b.Transcript().Message(ctx, 3))(t)
		deliver(t, b, asking(2, "again?"))
		remove(t, a, 1)
		answerWith(t, b, 5, 6, "", map[string]string{"memory_search": found.Text})
		run(t, s, "UPDATE messages SET calls = '' WHERE role = 'assistant'")
		wantNoSecret(t, b)
	})
}

func TestCopiesOfPurgedAndErasedMemories(t *testing.T) {
	t.Run("a memory that is purged goes out of what searches found, also where it was said", func(t *testing.T) {
		s := openStore(t, t.TempDir())
		c := find(t, s, "terminal:general")
		deliver(t, c, asking(1, "what does Ann play?"))
		keep(t, c, "Ann", "Ann plays the "+secret)
		found := check.Must(call(MemoriesOf(c).Tools(ToolOptions{Turn: func() int64 { return 1 }}), "memory_search", `{"query":"plays"}`))(t)
		answerWith(t, c, 1, 2, "", map[string]string{"memory_search": found})
		run(t, s, "UPDATE messages SET calls = '' WHERE role = 'assistant'")
		check.NoError(t, MemoriesIn(s).Purge(ctx, 1))
		wantNoSecret(t, c)
	})
	t.Run("who has somebody forgotten is told what changed here", func(t *testing.T) {
		s := openStore(t, t.TempDir())
		c := find(t, s, "terminal:general")
		m := asking(1, "what does Bob play?")
		m.AuthorID = "9"
		deliver(t, c, m)
		keep(t, c, "Bob", "Bob plays the "+secret)
		found := check.Must(call(MemoriesOf(c).Tools(ToolOptions{Turn: func() int64 { return 1 }}), "memory_search", `{"query":"plays"}`))(t)
		answerWith(t, c, 1, 2, "", map[string]string{"memory_search": found})
		run(t, s, "UPDATE messages SET calls = '' WHERE role = 'assistant'")
		check.Must(PrivacyIn(s).Erase(ctx, people["Bob"], c))(t)
		if e, err := PrivacyOf(c).EraseSome(ctx, people["Bob"]); err != nil || e.Messages != 0 || e.Memories != 1 || !slices.Equal(e.Seqs, []int64{3}) {
			t.Errorf("%+v, %v", e, err)
		}
		wantNoSecret(t, c)
	})
	t.Run("memory_save quoted what may be superseded, and that is gone", func(t *testing.T) {
		c := newConversation(t)
		deliver(t, c, said(1, secret), asking(3, "I moved"))
		keep(t, c, "Bob", "Bob plays the loud "+secret+" at home", 1)
		save := func(turn int64, content string) string {
			answer := check.Must(call(MemoriesOf(c).Tools(ToolOptions{Turn: func() int64 { return turn }}), "memory_save", `{"content":"`+content+`","kind":"fact"}`))(t)
			return answer
		}
		answer := save(2, "Bob plays the loud drum at home")
		if !strings.Contains(answer, secret) {
			t.Fatalf("it answers %q", answer)
		}
		answerWith(t, c, 2, 3, "", map[string]string{"memory_save": answer})
		run(t, c.store, "UPDATE messages SET calls = '' WHERE role = 'assistant'")
		deliver(t, c, asking(5, "again"))
		answer = save(6, "Bob plays the loud flute at home")
		check.EqualAll(t, "changed", remove(t, c, 1), []int64{1, 4})
		answerWith(t, c, 6, 7, "", map[string]string{"memory_save": answer + ` Memory 1 says: "` + secret + `"`})
		run(t, c.store, "UPDATE messages SET calls = '' WHERE role = 'assistant'")
		wantNoSecret(t, c)
	})
}
