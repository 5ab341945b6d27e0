package privacy_test

import (
	"errors"
	"fmt"
	"testing"

	"cairn/compactor/summarize"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

func remember(t *testing.T, c *store.Conversation, content, about string, messages ...int64) int64 {
	t.Helper()
	d := summarize.MemoryDraft{Kind: "fact", Content: content, About: about, Messages: messages}
	return check.Must(memory.Of(c).Keep(ctx, memory.KeepRequest{MemoryDraft: d}))(t).ID
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
	m := said(n, text)
	m.AuthorID = id
	m.Author = name
	return m
}

func quoting(n int, to, quote string) store.Inbound {
	m := saidBy(n, "b", "Bob", "I disagree")
	m.ReplyTo = to
	m.Quote = quote
	return m
}

func TestErasing(t *testing.T) {
	t.Run("a person's messages are deleted by id, never by name; later ones stay", func(t *testing.T) {
		c := newTalk(t)
		for n := 1; n <= 200; n += 2 {
			deliverOnly(t, c, saidBy(n, "a", "Ann", fmt.Sprint(secret, n)), saidBy(n+1, "b", "Ann", fmt.Sprint("it rained ", n))) // of one name
		}
		deliver(t, c)
		j := storetest.Worker(t, c, 1, 100)
		check.Must(j.Store(ctx, summarize.Summary{Text: "all about the " + secret}))(t)
		storetest.ApplyRows(t, c, j.ID())
		deliverOnly(t, c, saidBy(201, "a", "Ann", secret), saidBy(202, "b", "Ann", "I wait"))
		check.Equal(t, "held", check.Must(privacy.Of(c).Traces(ctx, store.Person{ID: "a"}))(t), privacy.Holding{Channel: c.Name(), Messages: 101})
		check.Equal(t, "waited", check.Must(privacy.In(c.Store()).Erase(ctx, store.Person{ID: "a"}, c))(t), 1)
		deliver(t, c, saidBy(203, "a", "Ann", "hello again"))
		check.Equal(t, "messages", eraseAll(t, c, "a").Messages, 100)
		wantNoSecret(t, c)
		page := check.Must(c.Transcript().Page(ctx, 1, 500))(t)
		check.Len(t, "messages left", page, 102)
		check.Equal(t, "the last ones", page[100].Text+", "+page[101].Text, "I wait, hello again")
		for what, query := range map[string]string{
			"authors in tombstones":   "SELECT count(*) FROM messages WHERE deleted_at IS NOT NULL AND (author <> '' OR author_id <> '')",
			"erasures not finished":   "SELECT count(*) FROM erasures",
			"the other Ann is erased": "SELECT 1 - count(*) FROM (SELECT DISTINCT name FROM members WHERE name = 'Ann') anns",
		} {
			check.Equal(t, what, number(t, c.Store(), query), 0)
		}
		check.HasPrefix(t, "stack", storetest.Shape(storetest.Load(t, c).Head.Stack), "placeholder emergency 1-100")
		check.Equal(t, "delivered again", check.Must(c.Inbox().Deliver(ctx, saidBy(1, "a", "Ann", secret)))(t)[0].Fresh, false)
	})
	t.Run("memories first said by or about the person are deleted, whoever else supports them", func(t *testing.T) {
		c := newTalk(t)
		deliver(t, c, saidBy(1, "a", "Ann", "x"), saidBy(2, "b", "Bob", "y"), saidBy(3, "b", "Bob", "z"))
		saidByAnn := remember(t, c, "the launch is on Friday", "", 1, 2)
		aboutAnn := remember(t, c, "Ann likes tea", "Ann", 2)
		onlyAnn := remember(t, c, "the boat is blue", "", 1) // which goes with the message
		confirmed := remember(t, c, "the office moves", "", 2)
		remember(t, c, "the office moves", "", 1)
		draft := summarize.MemoryDraft{Kind: "fact", Content: "the standup is at nine"}
		asked := check.Must(memory.Of(c).Keep(ctx, memory.KeepRequest{MemoryDraft: draft, Person: "Ann", PersonID: "a"}))(t).ID
		check.Equal(t, "held", check.Must(privacy.Of(c).Traces(ctx, store.Person{ID: "a"}))(t), privacy.Holding{Channel: c.Name(), Messages: 1, Memories: 4})
		check.Must(privacy.In(c.Store()).Erase(ctx, store.Person{ID: "a"}, c))(t)
		later := remember(t, c, "Ann likes coffee", "Ann", 3)
		check.Equal(t, "memories counted", eraseAll(t, c, "a").Memories, 4)
		wantNoMemory(t, c, saidByAnn, aboutAnn, onlyAnn, asked)
		check.EqualAll(t, "sources", storetest.Memory(t, c.Store(), confirmed).Sources, []int64{2})
		storetest.Memory(t, c.Store(), later)
		check.Equal(t, "rows with the name", number(t, c.Store(), "SELECT count(*) FROM memory_people WHERE author_id = 'a' AND memory <> ?", later), 0)
		check.Equal(t, "words left", number(t, c.Store(), "SELECT count(*) FROM memory_terms WHERE memory NOT IN (SELECT id FROM memories)"), 0)
	})
	t.Run("replies quote nothing of theirs any more, even if the bot never read it", func(t *testing.T) {
		c := newTalk(t)
		theirs := "Ann: \"the " + secret + "\""
		hello := saidBy(1, "a", "Ann", "hello")
		hello.Label = "Ann" // as in a direct message
		deliver(t, c, hello, quoting(2, "before-2", theirs), quoting(3, "before-3", "Anna: \"tea\""))
		deliverOnly(t, c, quoting(4, "before-4", theirs))
		check.Must(privacy.In(c.Store()).Erase(ctx, store.Person{ID: "a"}, c))(t)
		eraseAll(t, c, "a")
		wantNoSecret(t, c)
		check.Equal(t, "quote of somebody else", message(t, c, 3).Quote, "Anna: \"tea\"")
		const names = "SELECT sum(CASE name WHEN 'Ann' THEN 10 WHEN 'Bob' THEN 1 ELSE 0 END) FROM members" // without messages she is no member
		check.Equal(t, "names", number(t, c.Store(), names), 1)
		check.Equal(t, "the place is called", check.Must(c.Transcript().Called(ctx))(t), c.Name())
	})
	t.Run("a reply that still quotes what the bot has read deletes nothing of others, nor of later", func(t *testing.T) {
		c := newTalk(t)
		deliver(t, c, saidBy(1, "a", "Ann", "hello"), saidBy(2, "b", "Ann", "tea"))
		check.Must(privacy.In(c.Store()).Erase(ctx, store.Person{ID: "a"}, c))(t)
		deliver(t, c, saidBy(3, "a", "Ann", "hello again"))
		const well = "Ann: \"well\""
		deliverOnly(t, c, saidBy(4, "b", "Ann", "I wait"), quoting(5, "m2", well), quoting(6, "m3", well), quoting(7, "m4", well))
		check.Equal(t, "messages deleted", eraseAll(t, c, "a").Messages, 1)
		deliver(t, c)
		wantSeqs(t, c, 2, 3, 4, 5, 6, 7)
	})
}

func TestErasingEverywhere(t *testing.T) {
	t.Run("everywhere means all conversations of the connector, and survives the process", func(t *testing.T) {
		dir := t.TempDir()
		s := storetest.OpenStore(t, dir)
		for _, name := range []string{"discord:1/2", "discord:@me/3", "discord:1/4", "slack:T/C", "discord:1/5"} {
			id := map[bool]string{true: "b", false: "a"}[name == "discord:1/5"]
			deliver(t, find(t, s, name), saidBy(1, id, "Ann", "x"), saidBy(2, "b", "Bob", "y"))
		}
		in, all, err := privacy.In(s).Everywhere(ctx, store.Person{Connector: "discord", ID: "a"})
		check.Require(t, err == nil && len(in) == 3 && len(all) == 3 && all.Total() == privacy.Holding{Messages: 3}, "%v, %+v, %v", in, all, err)
		check.Must(privacy.In(s).Erase(ctx, store.Person{ID: "a"}, in...))(t)
		check.NoError(t, s.Close())
		s = storetest.OpenStore(t, dir)
		due := check.Must(privacy.In(s).Erasures(ctx))(t)
		check.Len(t, "erasures", due, 3)
		for _, one := range due {
			eraseAll(t, find(t, s, one.Conversation), one.Author)
		}
		check.Equal(t, "left, in another connector", number(t, s, "SELECT count(*) FROM messages WHERE author_id = 'a'"), 1)
	})
	c := newTalk(t)
	check.Error(t, check.ErrorOf(privacy.In(c.Store()).Erase(ctx, store.Person{ID: ""}, c)), privacy.ErrNobody)
	// A name is found in any case, in any script, with the id of who has it.
	deliver(t, c, saidBy(1, "z", "Женя", "x"), saidBy(2, "z", "Женя К", "y"), saidBy(3, "b", "Bob", "z"), saidBy(4, "", "женя", "no id"))
	for who, want := range map[string]int{"ЖЕНЯ": 1, "женя к": 1, "z": 1, "terminal:z": 1, "Z": 0} {
		found := check.Must(privacy.In(c.Store()).Find(ctx, "", who))(t)
		check.Len(t, who, found, want)
		check.That(t, want == 0 || found[0].ID == "z", "%s: got %+v", who, found)
	}
}

func TestOptingOut(t *testing.T) {
	c := newTalk(t)
	deliver(t, c, saidBy(2, "a", "Ann Lee", "I like tea"), saidBy(1, "b", "Bob", "Ann likes tea, and I read"))
	before := remember(t, c, "tea is hot", "", 1)
	worker := storetest.Worker(t, c, 1, 2)
	save := func(content string, message int) error {
		return check.ErrorOf(storetest.Call(worker.Tools(9), "memory_save", fmt.Sprintf(`{"content":%q,"kind":"fact","messages":[%d]}`, content, message)))
	}
	check.NoError(t, save("tea is for five", 1))
	check.NoError(t, save("Bob reads", 2))
	kept := func(person string, d summarize.MemoryDraft) error {
		d.Kind = "fact"
		return check.ErrorOf(memory.Of(c).Keep(ctx, memory.KeepRequest{MemoryDraft: d, Person: person, PersonID: map[string]string{"Ann Lee": "a"}[person]}))
	}
	check.Equal(t, "out", check.Must(privacy.Of(c).OptOut(ctx, "a", "Ann Lee", true))(t), true)
	for what, err := range map[string]error{
		"from their message":                  kept("Bob", summarize.MemoryDraft{Content: "tea", Messages: []int64{1}}),
		"from their message and another":      kept("Bob", summarize.MemoryDraft{Content: "tea", Messages: []int64{2, 1}}),
		"about them":                          kept("Bob", summarize.MemoryDraft{Content: "she likes tea", About: "Ann Lee", Messages: []int64{2}}),
		"with their name":                     kept("Bob", summarize.MemoryDraft{Content: "I heard that ann  LEE's tea is green", Messages: []int64{2}}),
		"with their name, from no message":    kept("Bob", summarize.MemoryDraft{Content: "I heard of Ann Lee"}),
		"at their own request":                kept("Ann Lee", summarize.MemoryDraft{Content: "tea"}),
		"by a worker that has started before": save("more tea", 1),
	} {
		_, out := errors.AsType[*memory.OptedOutError](err)
		check.That(t, out, "saved %s: %v", what, err)
	}
	check.NoError(t, kept("Bob", summarize.MemoryDraft{Content: "Anna Leed drinks", Messages: []int64{2}}))
	// The worker sees the opt-out, and drops its drafts.
	read := check.Must(worker.Messages(ctx, transcript.Span{From: 1, To: 2}))(t)
	check.That(t, read[0].Unremembered && !read[1].Unremembered, "%+v", read)
	fresh := check.Must(worker.Store(ctx, summarize.Summary{Text: "s", Tokens: 1, Memories: []summarize.MemoryDraft{{Kind: "fact", Content: "tea!", Messages: []int64{1}}}}))(t)
	check.That(t, len(fresh) == 1 && fresh[0].Content == "Bob reads", "saved %+v", fresh)
	// Earlier data stays, and the person may opt in again.
	check.Equal(t, "state of the memory", storetest.Memory(t, c.Store(), before).State, "active")
	check.Equal(t, "in again", check.Must(privacy.Of(c).OptOut(ctx, "a", "Ann Lee", false))(t), true)
	remember(t, c, "green tea", "", 1)
}
