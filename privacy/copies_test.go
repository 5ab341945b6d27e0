package privacy_test

import (
	"fmt"
	"slices"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
)

// A conversation of a server finds another one's memory with its tool.
func TestDeletionReachesOthersRecall(t *testing.T) {
	for _, test := range []struct{ do, from, to string }{
		{"delete", "discord:1/10", "discord:1/11"},
		{"delete", "discord:1/10", "discord:1/10/100"},
		{"delete", "discord:1/10/100", "discord:1/10"},
		{"purge", "discord:1/10", "discord:1/11"},
	} {
		t.Run(fmt.Sprintf("%s in %s, found in %s", test.do, test.from, test.to), func(t *testing.T) {
			s := storetest.OpenStore(t, t.TempDir())
			memory.In(s).Share(true)
			a, b := find(t, s, test.from), find(t, s, test.to)
			play, ask := said(1, "I play the "+secret), asking(1, "what does Ann play?")
			play.Audience, ask.Audience = store.ServerWide, store.ServerWide
			deliver(t, a, play, said(2, "well"))
			keep(t, a, "Ann", "Ann plays the "+secret, 1)
			keep(t, a, "Ann", "Ann rows", 2)
			storetest.Run(t, s, "UPDATE memories SET reach = 'server'")
			deliver(t, b, ask)
			answerFinding(t, b, 1, 2, "memory_search", memorySearch(t, b, 1, "plays"))
			found, told := message(t, b, 3).Text, ""
			a.Store().WatchCopies(func(name string, seqs []int64) { told += fmt.Sprint(name, seqs) })
			remove(t, a, 2) // of another memory
			check.Equal(t, "text", message(t, b, 3).Text, found)
			before := storetest.Version(t, b)
			deliver(t, b, asking(2, "again?"))
			if test.do == "purge" {
				check.NoError(t, privacy.Of(a).Purge(ctx))
			} else {
				remove(t, a, 1)
			}
			wantNoSecret(t, b)
			check.Equal(t, "reported", told, test.to+"[3 4]")
			check.That(t, storetest.Version(t, b) != before, "the version is the same")
			check.Equal(t, "text", message(t, b, 3).Text, store.DeletedCopyText)
			answerFinding(t, b, 5, 6, "memory_search", found) // a later answer repeats nothing of it
			wantNoSecret(t, b)
		})
	}
}

func TestCopiesOfPurgedAndErasedMemories(t *testing.T) {
	played := func(t *testing.T) *store.Conversation {
		c := newTalk(t)
		m := asking(1, "what does Bob play?")
		m.AuthorID = "9"
		deliver(t, c, m)
		keep(t, c, "Bob", "Bob plays the "+secret)
		answerFinding(t, c, 1, 2, "memory_search", memorySearch(t, c, 1, "plays"))
		return c
	}
	// A memory that is purged goes out of what searches found, also where it was said.
	c := played(t)
	check.NoError(t, memory.In(c.Store()).Purge(ctx, 1))
	wantNoSecret(t, c)
	// Deleting a person's data reports the changes.
	c = played(t)
	bob := storetest.People["Bob"]
	check.Must(privacy.In(c.Store()).Erase(ctx, bob, c))(t)
	e := check.Must(privacy.Of(c).EraseSome(ctx, bob))(t)
	check.That(t, e.Messages == 0 && e.Memories == 1 && slices.Equal(e.Seqs, []int64{3, 4}), "got %+v", e)
	wantNoSecret(t, c)
	t.Run("memory_save quoted what may be superseded, and that is gone", func(t *testing.T) {
		c := newTalk(t)
		deliver(t, c, said(1, secret), asking(3, "I moved"))
		keep(t, c, "Bob", "Bob plays the loud "+secret+" at home", 1)
		save := func(turn int64, content string) string {
			tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return turn }})
			return check.Must(storetest.Call(tools, "memory_save", `{"content":"`+content+`","kind":"fact"}`))(t)
		}
		answer := save(2, "Bob plays the loud drum at home")
		check.Contains(t, "answer", answer, secret)
		answerFinding(t, c, 2, 3, "memory_save", answer)
		deliver(t, c, asking(5, "again"))
		answer = save(6, "Bob plays the loud flute at home")
		check.EqualAll(t, "changed", remove(t, c, 1), []int64{1, 4, 5})
		answerFinding(t, c, 6, 7, "memory_save", answer+` Memory 1 says: "`+secret+`"`)
		wantNoSecret(t, c)
	})
}
