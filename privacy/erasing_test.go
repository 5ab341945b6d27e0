package privacy_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/transcript"
)

func rememberAbout(t *testing.T, c *store.Conversation, content, about string, messages ...int64) int64 {
	t.Helper()
	m, _, err := storetest.Remember(memory.Of(c), ctx, summarize.MemoryDraft{Kind: "fact", Content: content, About: about, Messages: messages}, "")
	check.NoError(t, err)
	return m.ID
}

func eraseAll(t *testing.T, c *store.Conversation, author string) (all privacy.Erased) {
	t.Helper()
	for {
		some := check.Must(privacy.Of(c).EraseSome(ctx, author))(t)
		all.Messages += some.Messages
		all.Memories += some.Memories
		if some.Done {
			return all
		}
	}
}

// saidBy returns message n by person "a" or "b", under any name.
func saidBy(n int, id, name, text string) store.Inbound {
	m := storetest.Said(n, text)
	m.AuthorID, m.Author = id, name
	return m
}

func TestErasing(t *testing.T) {
	t.Run("a person's messages are deleted by id, never by name; later ones stay", func(t *testing.T) {
		c := storetest.NewConversation(t)
		var all []store.Inbound
		for n := 1; n <= 200; n++ {
			m := saidBy(n, "a", "Ann", fmt.Sprintf("the %s of day %d", storetest.Secret, n))
			if n%2 == 0 {
				m = saidBy(n, "b", "Ann", fmt.Sprintf("the weather of day %d", n)) // of one name
			}
			all = append(all, m)
		}
		storetest.Deliver(t, c, all...)
		id := storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 100)
		storetest.Run(t, c.Store(), "UPDATE compactions SET text = 'all about the xylophone' WHERE id = ?", id)
		storetest.ApplyRows(t, c, id)
		storetest.DeliverOnly(t, c, saidBy(201, "a", "Ann", storetest.Secret), saidBy(202, "b", "Ann", "I wait"))
		check.Equal(t, "answer", check.Must(privacy.Of(c).Traces(ctx, "a"))(t), (privacy.Holding{c.Name(), 101, 0}))
		waiting := check.Must(privacy.In(c.Store()).Erase(ctx, "a", c))(t)
		check.Equal(t, "waited", waiting, 1)
		storetest.Deliver(t, c, saidBy(203, "a", "Ann", "hello again"))
		check.Equal(t, "answer", eraseAll(t, c, "a").Messages, 100)
		storetest.WantNoSecret(t, c)
		page, err := c.Transcript().Page(ctx, 1, 500)
		if err != nil || len(page) != 102 || page[100].Text != "I wait" || page[101].Text != "hello again" {
			t.Errorf("got %d messages left, %v", len(page), err)
		}
		check.Equal(t, "authors in tombstones", storetest.Number(t, c.Store(), "SELECT count(*) FROM messages WHERE deleted_at IS NOT NULL AND (author <> '' OR author_id <> '')"), 0)
		check.Equal(t, "the erasure is not finished", storetest.Number(t, c.Store(), "SELECT count(*) FROM erasures"), 0)
		if n := storetest.Number(t, c.Store(), "SELECT count(*) FROM members WHERE name = 'Ann'"); n == 0 {
			t.Error("the other person's name was erased")
		}
		check.HasPrefix(t, "stack", storetest.Shape(storetest.Load(t, c).Head.Stack), "placeholder emergency 1-100")
		if r, err := c.Inbox().Deliver(ctx, saidBy(1, "a", "Ann", storetest.Secret)); err != nil || r.Fresh {
			t.Errorf("delivered again: %+v, %v", r, err)
		}
	})
	t.Run("memories first said by or about the person are deleted, whoever else supports them", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, saidBy(1, "a", "Ann", "x"), saidBy(2, "b", "Bob", "y"), saidBy(3, "b", "Bob", "z"))
		saidByAnn := rememberAbout(t, c, "the launch is on Friday", "", 1, 2)
		aboutAnn := rememberAbout(t, c, "Ann likes tea", "Ann", 2)
		onlyAnn := rememberAbout(t, c, "the boat is blue", "", 1) // which goes with the message
		confirmed := rememberAbout(t, c, "the office moves", "", 2)
		rememberAbout(t, c, "the office moves", "", 1)
		m := check.Must(memory.Of(c).Keep(ctx, memory.KeepRequest{MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: "the standup is at nine"}, Person: "Ann", PersonID: "a"}))(t)
		check.Equal(t, "answer", check.Must(privacy.Of(c).Traces(ctx, "a"))(t), (privacy.Holding{c.Name(), 1, 4}))
		check.Must(privacy.In(c.Store()).Erase(ctx, "a", c))(t)
		later := rememberAbout(t, c, "Ann likes coffee", "Ann", 3)
		check.Equal(t, "memories counted", eraseAll(t, c, "a").Memories, 4)
		for _, id := range []int64{saidByAnn, aboutAnn, onlyAnn, m.ID} {
			if _, err := memory.In(c.Store()).Details(ctx, id); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("memory %d: %v", id, err)
			}
		}
		if m, err := memory.In(c.Store()).Details(ctx, confirmed); err != nil || !slices.Equal(m.Sources, []int64{2}) {
			t.Errorf("%+v, %v", m, err)
		}
		if m, err := memory.In(c.Store()).Details(ctx, later); err != nil {
			t.Errorf("%+v, %v", m, err)
		}
		check.Equal(t, "rows with the name", storetest.Number(t, c.Store(), "SELECT count(*) FROM memory_people WHERE author_id = 'a' AND memory <> ?", later), 0)
		check.Equal(t, "words left", storetest.Number(t, c.Store(), "SELECT count(*) FROM memory_terms WHERE memory NOT IN (SELECT id FROM memories)"), 0)
	})
}

func TestErasingQuotes(t *testing.T) {
	t.Run("replies quote nothing of theirs any more, even if the bot never read it", func(t *testing.T) {
		c := storetest.NewConversation(t)
		quoting := func(n int, quote string) store.Inbound {
			m := saidBy(n, "b", "Bob", "I disagree")
			m.ReplyTo, m.Quote = fmt.Sprint("before-", n), quote
			return m
		}
		theirs := "Ann: \"the " + storetest.Secret + "\""
		storetest.Deliver(t, c, saidBy(1, "a", "Ann", "hello"), quoting(2, theirs), quoting(3, "Anna: \"tea\""))
		storetest.DeliverOnly(t, c, quoting(4, theirs))
		check.Must(privacy.In(c.Store()).Erase(ctx, "a", c))(t)
		eraseAll(t, c, "a")
		storetest.WantNoSecret(t, c)
		check.Equal(t, "quote of somebody else", check.Must(c.Transcript().Message(ctx, 3))(t).Quote, "Anna: \"tea\"")
	})
	t.Run("a reply that still quotes what the bot has read deletes nothing of others, nor of later", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, saidBy(1, "a", "Ann", "hello"), saidBy(2, "b", "Ann", "tea"))
		check.Must(privacy.In(c.Store()).Erase(ctx, "a", c))(t)
		storetest.Deliver(t, c, saidBy(3, "a", "Ann", "hello again"))
		storetest.DeliverOnly(t, c, saidBy(4, "b", "Ann", "I wait"))
		for n := 5; n <= 7; n++ {
			m := saidBy(n, "c", "Carl", "I agree")
			m.ReplyTo, m.Quote = fmt.Sprint("m", n-3), "Ann: \"well\""
			storetest.DeliverOnly(t, c, m)
		}
		check.Equal(t, "messages deleted", eraseAll(t, c, "a").Messages, 1)
		storetest.Deliver(t, c)
		page := check.Must(c.Transcript().Page(ctx, 1, 9))(t)
		check.EqualAll(t, "left", storetest.Seqs(page), []int64{2, 3, 4, 5, 6, 7})
	})
}

func TestErasingEverywhere(t *testing.T) {
	t.Run("everywhere means all conversations of the connector, and survives the process", func(t *testing.T) {
		dir := t.TempDir()
		s := storetest.OpenStore(t, dir)
		for _, name := range []string{"discord:1/2", "discord:@me/3", "discord:1/4", "slack:T/C"} {
			storetest.Deliver(t, storetest.Find(t, s, name), saidBy(1, "a", "Ann", storetest.Secret), saidBy(2, "b", "Bob", "y"))
		}
		storetest.Deliver(t, storetest.Find(t, s, "discord:1/5"), saidBy(1, "b", "Bob", "y"))
		in, all, err := privacy.In(s).Everywhere(ctx, "discord", "a")
		if err != nil || len(in) != 3 || len(all) != 3 || all.Total() != (privacy.Holding{Messages: 3}) {
			t.Fatalf("%v, %+v, %v", in, all, err)
		}
		check.Must(privacy.In(s).Erase(ctx, "a", in...))(t)
		check.NoError(t, s.Close())
		s = storetest.OpenStore(t, dir)
		due, err := privacy.In(s).Erasures(ctx)
		check.Require(t, err == nil && len(due) == 3, "%+v, %v", due, err)
		for _, one := range due {
			eraseAll(t, storetest.Find(t, s, one.Conversation), one.Author)
		}
		storetest.Run(t, s, "DELETE FROM message_terms WHERE conversation = (SELECT id FROM conversations WHERE name = 'slack:T/C')")
		storetest.Run(t, s, "UPDATE messages SET text = '' WHERE conversation = (SELECT id FROM conversations WHERE name = 'slack:T/C')")
		storetest.WantNoSecret(t, storetest.Find(t, s, "discord:1/2"))
	})
	t.Run("a person without messages is no member", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, saidBy(1, "a", "Ann", "x"), saidBy(2, "b", "Bob", "y"))
		check.Must(privacy.In(c.Store()).Erase(ctx, "a", c))(t)
		eraseAll(t, c, "a")
		check.Equal(t, "the name is still stored", storetest.Number(t, c.Store(), "SELECT count(*) FROM members WHERE name = 'Ann'"), 0)
		check.Equal(t, "names of others", storetest.Number(t, c.Store(), "SELECT count(*) FROM members WHERE name = 'Bob'"), 1)
	})
	t.Run("an empty id matches nobody", func(t *testing.T) {
		c := storetest.NewConversation(t)
		check.Error(t, check.ErrorOf(privacy.In(c.Store()).Erase(ctx, "", c)), privacy.ErrNobody)
	})
	t.Run("a name is found in any case, in any script, with the id of who has it", func(t *testing.T) {
		c := storetest.NewConversation(t)
		storetest.Deliver(t, c, saidBy(1, "z", "Женя", "x"), saidBy(2, "z", "Женя К", "y"), saidBy(3, "b", "Bob", "z"), saidBy(4, "", "женя", "no id"))
		for _, who := range []string{"ЖЕНЯ", "женя к", "z", "terminal:z"} {
			found := check.Must(privacy.In(c.Store()).Find(ctx, "", who))(t)
			check.Len(t, who, found, 1)
			check.Equal(t, "id", found[0].ID, "z")
		}
		check.Len(t, "people called Z", check.Must(privacy.In(c.Store()).Find(ctx, "", "Z"))(t), 0)
	})
}

func TestOptingOut(t *testing.T) {
	c := storetest.NewConversation(t)
	ann, bob := storetest.Said(2, "I like tea"), storetest.Said(1, "Ann likes tea")
	ann.AuthorID, ann.Author, bob.AuthorID, bob.Author = "a", "Ann Lee", "b", "Bob"
	storetest.Deliver(t, c, ann, bob)
	before, _, err := storetest.Remember(memory.Of(c), ctx, summarize.MemoryDraft{Kind: "fact", Content: "tea is hot", Messages: []int64{1}}, "")
	check.NoError(t, err)
	worker := storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 1, 2)
	save := func(arguments string) error {
		_, err := storetest.Call(worker.Tools(9), "memory_save", arguments)
		return err
	}
	check.NoError(t, save(`{"content":"tea is for five","kind":"fact","messages":[1]}`))
	check.NoError(t, save(`{"content":"Bob reads","kind":"fact","messages":[2]}`))
	if changed, err := privacy.Of(c).OptOut(ctx, "a", "Ann Lee", true); err != nil || !changed {
		t.Fatal(changed, err)
	}
	var out *memory.OptedOutError
	t.Run("nothing is saved from their messages, about them, or with their name", func(t *testing.T) {
		for _, d := range []summarize.MemoryDraft{
			{Kind: "fact", Content: "tea", Messages: []int64{1}},
			{Kind: "fact", Content: "tea", Messages: []int64{2, 1}},
			{Kind: "fact", Content: "she likes tea", About: "Ann Lee", Messages: []int64{2}},
			{Kind: "fact", Content: "I heard that ann  LEE's tea is green", Messages: []int64{2}},
			{Kind: "fact", Content: "I heard of Ann Lee"},
		} {
			if _, _, err := storetest.Remember(memory.Of(c), ctx, d, "Bob"); !errors.As(err, &out) {
				t.Errorf("%+v: %v", d, err)
			}
		}
		if _, err := memory.Of(c).Keep(ctx, memory.KeepRequest{MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: "tea"}, Person: "Ann Lee", PersonID: "a"}); !errors.As(err, &out) {
			t.Errorf("own request: %v", err)
		}
		if _, _, err := storetest.Remember(memory.Of(c), ctx, summarize.MemoryDraft{Kind: "fact", Content: "Anna Leed drinks", Messages: []int64{2}}, "Bob"); err != nil {
			t.Errorf("another person's request: %v", err)
		}
	})
	t.Run("a worker sees the opt-out, is refused, and drops its drafts", func(t *testing.T) {
		read, err := worker.Messages(ctx, 1, 2, 9)
		check.That(t, err == nil && read[0].Unremembered && !read[1].Unremembered, "%+v, %v", read, err)
		if err := save(`{"content":"more tea","kind":"fact","messages":[1]}`); !errors.As(err, &out) {
			t.Errorf("%v", err)
		}
		fresh, err := worker.Store(ctx, summarize.Summary{Text: "s", Tokens: 1, Memories: []summarize.MemoryDraft{{Kind: "fact", Content: "tea!", Messages: []int64{1}}}})
		check.That(t, err == nil && len(fresh) == 1 && fresh[0].Content == "Bob reads", "saved %+v, %v", fresh, err)
	})
	t.Run("earlier data stays, and the person may opt in again", func(t *testing.T) {
		check.Equal(t, "state of the memory", storetest.Memory(t, c.Store(), before.ID).State, "active")
		if changed, err := privacy.Of(c).OptOut(ctx, "a", "Ann Lee", false); err != nil || !changed {
			t.Fatal(changed, err)
		}
		if _, _, err := storetest.Remember(memory.Of(c), ctx, summarize.MemoryDraft{Kind: "fact", Content: "green tea", Messages: []int64{1}}, ""); err != nil {
			t.Error(err)
		}
	})
}
