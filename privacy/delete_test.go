package privacy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/llm"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

func TestDelete(t *testing.T) {
	c := newTalk(t)
	// A waiting message is removed, is not redelivered, and leaves nothing in the view.
	m := asking(9, secret)
	m.Attachments = []chat.Attachment{{Kind: "image", Data: []byte(secret)}}
	deliverOnly(t, c, m, said(1, "a"))
	before := storetest.Version(t, c)
	check.Len(t, "seqs", remove(t, c, 9), 0)
	wantNoSecret(t, c)
	check.Equal(t, "stored pictures", number(t, c.Store(), "SELECT count(*) FROM files"), 0)
	r := check.Must(c.Inbox().Deliver(ctx, m))(t)[0]
	check.That(t, !r.Fresh && r.Seq == 0, "delivered again: %+v", r)
	taken := deliver(t, c)
	check.That(t, len(taken) == 1 && taken[0].ID == "m1", "dequeued %+v", taken)
	check.Equal(t, "version", storetest.Version(t, c), before)
	// A dequeued message leaves a tombstone with author, id and seq.
	m = said(2, "my "+secret)
	m.Quote = secret
	m.Attachments = []chat.Attachment{{Kind: "image", Name: secret, Data: []byte(secret)}}
	deliver(t, c, m, said(3, "c"))
	check.EqualAll(t, "seqs", remove(t, c, 2), []int64{2})
	wantNoSecret(t, c)
	check.Len(t, "found by its words", storetest.Recalled(t, c, secret), 0)
	wantSeqs(t, c, 1, 3)
	const tombstone = "SELECT count(*) FROM messages WHERE seq = 2 AND deleted_at > 0 AND author = 'Ann' AND platform_id = 'm2'"
	check.Equal(t, "tombstones", number(t, c.Store(), tombstone), 1)
	r = check.Must(c.Inbox().Deliver(ctx, m))(t)[0]
	check.That(t, !r.Fresh && r.Seq == 2, "delivered again: %+v", r)
	check.Equal(t, "the next one", deliver(t, c, said(4, "d"))[0].Seq, 4)
	check.Equal(t, "version", storetest.Version(t, c), before+1)
	check.Len(t, "deleted again", remove(t, c, 2, 99), 0)
	check.Equal(t, "version", storetest.Version(t, c), before+1)
	r = check.Must(c.Inbox().Deliver(ctx, said(99, "it was unknown when it was deleted")))(t)[0]
	check.That(t, !r.Fresh && r.Seq == 0, "got %+v", r)
	t.Run("its quotes are removed, waiting or dequeued, and the quoting messages are reported", func(t *testing.T) {
		c := newTalk(t)
		taken := deliver(t, c, storetest.Quoting(2, "I disagree", "m0", "Bob: "+secret), said(3, "c"))
		deliverOnly(t, c, storetest.Quoting(4, "I disagree", "m0", "Bob: "+secret))
		changed := storetest.Changed(t, c, func() { check.NoError(t, privacy.Of(c).Delete(ctx, []string{"m0"})) })
		check.EqualAll(t, "seqs", changed, []int64{1}) // said before the bot came
		wantNoSecret(t, c)
		m := message(t, c, 1)
		check.That(t, m.Quote == "" && m.ReplyTo == "m0" && m.Tokens == chat.TokensOf(m) && m.Tokens <= taken[0].Tokens, "%+v", m)
		check.EqualAll(t, "found by its words", storetest.Recalled(t, c, "disagree"), []int64{1})
	})
	t.Run("what the bot said before a call stays in the search index", func(t *testing.T) {
		c := newTalk(t)
		deliver(t, c, asking(1, "what time is it?"))
		calls := []llm.Call{{ID: "1", Name: "weather", Arguments: `{"in": "` + secret + `"}`}}
		check.Must(c.Turns().Finish(ctx, store.Outcome{Turn: 1, Messages: []chat.Message{
			{Seq: 2, Turn: 1, Role: llm.RoleAssistant, Text: "the clock in the harbour says nine", Calls: calls},
			{Seq: 3, Turn: 1, Role: llm.RoleTool, CallID: "1", Tool: "weather", Text: secret},
		}}))(t)
		remove(t, c, 1)
		wantNoSecret(t, c)
		check.EqualAll(t, "found", storetest.Recalled(t, c, "harbour"), []int64{2})
	})
}

// The last question of a turn closes it.
func TestDeletingUnansweredMessage(t *testing.T) {
	open := func(c *store.Conversation, want int64, to ...string) {
		t.Helper()
		turn, _, err := c.Turns().Unanswered(ctx)
		check.NoError(t, err)
		check.Equal(t, "open turn, and in the view", [2]int64{turn.Seq, storetest.Load(t, c).Open}, [2]int64{want, want})
		check.EqualAll(t, "it answers", turn.To, to)
	}
	for _, n := range []int{1, 3} {
		c := newTalk(t)
		deliver(t, c, asking(1, "what time is it?"), said(2, "by the way"), asking(3, "well?"))
		remove(t, c, n)
		open(c, 1, fmt.Sprint("m", 4-n))
		remove(t, c, 4-n)
		open(c, 0)
		check.Error(t, check.ErrorOf(c.Turns().Retry(ctx, 1)), store.ErrNotFound)
		check.Error(t, check.ErrorOf(c.Turns().Finish(ctx, store.Outcome{Turn: 1, Reply: "r", Pieces: []string{"nine"}})), store.ErrNotFound)
		check.Len(t, "outbox", check.Must(c.Outbox().Unsent(ctx))(t), 0)
		turn := deliver(t, c, asking(4, "what time is it?"))[0].Seq // one that was answered stays so
		storetest.Finish(t, c, turn, "reply-2", "nine")
		remove(t, c, 4)
		check.Equal(t, "answered", number(t, c.Store(), "SELECT answered FROM messages WHERE seq = ?", turn), 1)
		wantSeqs(t, c, 2, turn+1)
	}
}

func TestDeletingRememberedMessage(t *testing.T) {
	c := imported(t, 9)
	s := c.Store()
	alone := keep(t, c, "Ann", "Ann plays the "+secret+".", 2).ID
	two := keep(t, c, "Ann", "Ann plays music.", 2, 5).ID
	free := keep(t, c, "Ann", "The standup is at nine.").ID
	both := keep(t, c, "Ann", "Bob hates the "+secret+".", 6, 7).ID
	old := keep(t, c, "Ann", "Ann plays nothing.", 1).ID
	forgotten := keep(t, c, "Ann", "Ann plays cards.", 1).ID
	again := keep(t, c, "Ann", "Ann plays chess.", 1).ID
	storetest.Run(t, s, "UPDATE memories SET state = 'superseded', superseded_by = ? WHERE id IN (?, ?, ?)", alone, old, forgotten, again)
	check.NoError(t, memory.In(s).Forget(ctx, forgotten))
	now := keep(t, c, "Bob", "Ann plays chess.", 3).ID
	remove(t, c, 2)
	remove(t, c, 6, 7)
	wantNoMemory(t, c, alone, both)
	wantNoSecret(t, c)
	check.Lacks(t, "found", foundBy(t, c, 9, "memory_search", secret).Text, "plays")
	check.EqualAll(t, "sources of one that another message supports", storetest.Memory(t, s, two).Sources, []int64{5})
	check.That(t, storetest.Memory(t, s, free).Content != "", "one of no message is gone")
	// What it superseded becomes current again, unless an active one says the same.
	check.NoError(t, memory.In(s).Restore(ctx, forgotten))
	for id, want := range map[int64]string{old: "active0", forgotten: "active0", again: "superseded0", now: "active0"} {
		m := storetest.Memory(t, s, id)
		check.Equal(t, m.Content, fmt.Sprint(m.State, m.SupersededBy), want)
	}
}

// TestQuotingMemoryIsDeletedWithItsSources: the message is deleted while the summarizer runs, when the memory is saved, or then
// and after a worker has read it.
func TestQuotingMemoryIsDeletedWithItsSources(t *testing.T) {
	for _, deleted := range []string{"while it runs", "when it is saved", "when it is saved, and was read"} {
		t.Run(deleted, func(t *testing.T) {
			c := imported(t, 9)
			if strings.HasSuffix(deleted, "read") {
				storetest.Repair(t, c, transcript.Worker, transcript.Span{From: 1, To: 3}, storetest.Fact{Text: "Ann plays music.", Seq: 1})
			}
			j := storetest.Begin(t, c, transcript.Summary{Kind: transcript.Leaf, By: transcript.Extractive, Span: transcript.Span{From: 1, To: 9}})
			runs := deleted == "while it runs"
			if runs {
				remove(t, c, 2)
			}
			d := summarize.MemoryDraft{Kind: "fact", Content: "Ann: I play the " + secret + ". I live in Rome.", Messages: []int64{2, 5}}
			fresh := check.Must(j.Store(ctx, summarize.Summary{Text: "summary", Tokens: 2, Memories: []summarize.MemoryDraft{d}}))(t)
			check.Equal(t, "saved", len(fresh) == 1, !runs)
			if !runs {
				remove(t, c, 2)
			}
			wantNoSecret(t, c)
		})
	}
}

func TestEditOfRememberedMessage(t *testing.T) {
	for _, is := range []struct {
		claim, said, memory, edited string
		from                        []int64
		stays                       bool
	}{
		{"a wrong number goes", "remember that my locker is 10", "Bob's locker is 10", "remember that my locker is 11", []int64{1}, false},
		{"a name goes", "my sister's name is Jhon", "Bob has a sister, Jhon", "my sister's name is John", []int64{1}, false},
		{"what was taken out goes, in whatever words", "I am allergic to peanuts and nuts", "Bob cannot eat some foods", "(removed)", []int64{1}, false},
		{"a corrected word that it does not have matters not", "I liek green tea with milk", "Bob likes green tea", "I like green tea with milk", []int64{1}, true},
		{"an addition matters not", "my locker is 10", "Bob's locker is 10", "my locker is 10, on the left", []int64{1}, true},
		{"another message supports it", "my locker is 10", "Bob's locker is 10", "my locker is 11", []int64{1, 2}, true},
	} {
		t.Run(is.claim, func(t *testing.T) {
			c := newTalk(t)
			deliver(t, c, said(1, is.said), said(2, "well"))
			old := keep(t, c, "Bob", "Bob's old fact").ID
			id := keep(t, c, "Bob", is.memory, is.from...).ID
			storetest.Run(t, c.Store(), "UPDATE memories SET state = 'superseded', superseded_by = ? WHERE id = ?", id, old)
			storetest.Edit(t, c, 1, is.edited)
			want := map[bool]string{true: "fact: " + is.memory, false: "fact: Bob's old fact"}[is.stays]
			check.EqualAll(t, "memories", storetest.Contents(t, c), []string{want})
		})
	}
	for _, tool := range []string{"memory_search", "recall"} {
		t.Run("what searches found of it goes: "+tool, func(t *testing.T) {
			c := newTalk(t)
			deliver(t, c, said(1, "my locker is "+secret), said(2, "well"))
			if tool == "memory_search" {
				keep(t, c, "Bob", "Bob's locker is "+secret, 1)
			}
			deliver(t, c, asking(3, "where?"))
			found := foundBy(t, c, 3, tool, "locker")
			check.Contains(t, "found", found.Text, secret)
			answerFinding(t, c, 3, tool, found)
			storetest.Edit(t, c, 1, "my locker is "+secret+" or so") // which takes nothing out
			check.Equal(t, "text", message(t, c, 5).Text, found.Text)
			storetest.Edit(t, c, 1, "my locker is open")
			check.Equal(t, "text", message(t, c, 5).Text, store.DeletedCopyText)
			wantNoSecret(t, c)
		})
	}
}

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
			a := find(t, s, test.from)
			b := find(t, s, test.to)
			deliver(t, a, storetest.Within(store.ServerWide, said(1, "I play the "+secret)), said(2, "well"))
			keep(t, a, "Ann", "Ann plays the "+secret, 1)
			keep(t, a, "Ann", "Ann rows", 2)
			storetest.Run(t, s, "UPDATE memories SET reach = 'server'")
			deliver(t, b, storetest.Within(store.ServerWide, asking(1, "what does Ann play?")))
			found := foundBy(t, b, 1, "memory_search", "plays")
			answerFinding(t, b, 1, "memory_search", found)
			var told []string
			a.Store().Watch(func(name string) { told = append(told, name) })
			remove(t, a, 2) // of another memory
			check.Equal(t, "text", message(t, b, 3).Text, found.Text)
			check.EqualAll(t, "reported", told, []string{test.from})
			told = nil
			before := storetest.Version(t, b)
			deliver(t, b, asking(2, "again?"))
			if test.do == "purge" {
				check.NoError(t, privacy.Of(a).Purge(ctx))
			} else {
				remove(t, a, 1)
			}
			wantNoSecret(t, b)
			check.EqualAll(t, "reported", told, slices.Sorted(slices.Values([]string{test.from, test.to})))
			check.That(t, storetest.Version(t, b) != before, "the version is the same")
			check.Equal(t, "text", message(t, b, 3).Text, store.DeletedCopyText)
			answerFinding(t, b, 5, "memory_search", found) // a later answer repeats nothing of it
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
		answerFinding(t, c, 1, "memory_search", foundBy(t, c, 1, "memory_search", "plays"))
		return c
	}
	// A memory that is purged goes out of what searches found, also where it was said.
	c := played(t)
	check.NoError(t, memory.In(c.Store()).Purge(ctx, 1))
	wantNoSecret(t, c)
	// Deleting a person's data raises the version.
	c = played(t)
	bob := storetest.People["Bob"]
	check.Must(privacy.In(c.Store()).Erase(ctx, store.Person{ID: bob}, c))(t)
	before := storetest.Version(t, c)
	e := check.Must(privacy.Of(c).EraseSome(ctx, bob))(t)
	check.That(t, e.Messages == 0 && e.Memories == 1 && storetest.Version(t, c) > before, "got %+v", e)
	wantNoSecret(t, c)
	t.Run("memory_save quoted what may be superseded, and that is gone", func(t *testing.T) {
		c := newTalk(t)
		deliver(t, c, said(1, secret), asking(3, "I moved, and play the drum and the flute"))
		keep(t, c, "Bob", "Bob plays the loud "+secret+" at home", 1)
		const similar = `{"content":"Bob plays the loud drum at home","kind":"fact"}`
		answer := check.Must(storetest.Call(storetest.ToolsAt(c, 2), "memory_save", similar))(t)
		check.Contains(t, "answer", answer.Text, secret)
		answerFinding(t, c, 2, "memory_save", answer)
		deliver(t, c, asking(5, "the flute again"))
		check.EqualAll(t, "changed", remove(t, c, 1), []int64{1, 4, 5})
		answerFinding(t, c, 6, "memory_save", answer) // a later answer repeats nothing of it
		wantNoSecret(t, c)
	})
}
