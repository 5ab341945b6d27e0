package memory_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"cairn/compactor/summarize"
	"cairn/memory"
	"cairn/privacy"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
	"cairn/transcript"
)

func TestWorkerSaves(t *testing.T) {
	t.Run("code says who said it, when, where, and by which compaction it was saved", func(t *testing.T) {
		c := imported(t, 9)
		j := worker(t, c, 2, 6)
		answer := call(t, j.Tools(20), "memory_save", `{"content": "Bob likes tea", "kind": "preference", "importance": 0.25, "messages": [5, 3, 3], "about": "bob"}`)
		check.Equal(t, "answer", answer, "Noted.")
		save(t, j.Tools(20), "Ann has a cat", 4, "")
		wantContents(t, c)
		fresh := finish(t, j)
		want := []summarize.MemoryDraft{
			{ID: 1, Kind: "preference", Content: "Bob likes tea", Importance: 0.25, Messages: []int64{3, 5}, About: "Bob"},
			{ID: 2, Kind: "fact", Content: "Ann has a cat", Importance: 0.6, Messages: []int64{4}, About: "Ann"},
		}
		check.That(t, reflect.DeepEqual(fresh, want), "got %+v", fresh)
		m := check.Must(memory.In(c.Store()).Details(ctx, 1))(t)
		check.That(t, time.Since(m.SavedAt) <= time.Hour && len(m.Messages) == 2, "%+v", m)
		m.SavedAt = time.Time{}
		stored := store.Memory{
			ID: 1, Conversation: "terminal:general", Kind: "preference", Content: "Bob likes tea", Importance: 0.25, Speaker: "Bob", SpeakerID: "1", About: "Bob",
			AboutID: "1", Reach: "server", By: "worker", Compaction: j.ID(), SaidAt: said(3, "").Time, Confirmed: 1, Sources: []int64{3, 5}, State: "active",
		}
		check.That(t, reflect.DeepEqual(m.Memory.Memory, stored), "got  %+v\nwant %+v", m, stored)
	})
	t.Run("there is a limit, and a draft that is saved again, also to say what it supersedes, does not count", func(t *testing.T) {
		c := imported(t, 9)
		old := keep(t, c, "Ann", "The standup meets at 9 in the kitchen")
		j := worker(t, c, 1, 9)
		tools := j.Tools(2)
		for n, content := range []string{"The standup meets at 10 in the kitchen", "The standup meets at 10 in the KITCHEN!"} {
			save(t, tools, content, int64(n+2), "")
			save(t, tools, content, 2, fmt.Sprintf(`, "supersedes": %d`, old.ID))
		}
		save(t, tools, "Ann has a boat", 4, "")
		check.That(t, check.ErrorOf(storetest.Call(tools, "memory_save", arguments("Bob swims", 4, ""))) != nil, "a third is saved")
		save(t, j.Tools(1), "Bob swims", 9, "") // the next chunk has its own limit
		finish(t, j)
		wantContents(t, c, "The standup meets at 10 in the kitchen", "Ann has a boat", "Bob swims")
		check.EqualAll(t, "sources", details(t, c.Store(), 2).Sources, []int64{2, 3})
	})
	t.Run("a summary that fails saves its memories, and nobody saves from their messages again", func(t *testing.T) {
		c := imported(t, 9)
		j := worker(t, c, 1, 5)
		save(t, j.Tools(20), "Ann rows", 1, "")
		check.Len(t, "saved", check.Must(j.Fail(ctx, "cancelled"))(t), 1)
		check.That(t, check.ErrorOf(j.Store(ctx, summarize.Summary{Text: "summary", Tokens: 2})) != nil, "it was stored")
		j = worker(t, c, 1, 5)
		save(t, j.Tools(5), "Ann rows boats", 1, "")
		save(t, j.Tools(5), "Ann swims", 2, "") // which was not saved before
		finish(t, j)
		wantContents(t, c, "Ann rows", "Ann swims")
	})
	t.Run("one that fails after what it read was edited saves none", func(t *testing.T) {
		c := imported(t, 9)
		j := worker(t, c, 1, 5)
		save(t, j.Tools(20), "Ann rows", 1, "")
		storetest.Edit(t, c, 3, "something else")
		check.Len(t, "saved", check.Must(j.Fail(ctx, "cancelled"))(t), 0)
		wantContents(t, c)
	})
}

func TestModelSavesFromRunningTurn(t *testing.T) {
	c := newTalk(t)
	turn := deliver(t, c, asking(1, "I moved to Bergen, live there and row"))[0].Turn
	var told []memory.Memory
	tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return turn }, OnMemory: func(m memory.Memory) { told = append(told, m) }})
	old := keep(t, c, "Bob", "Bob lives in Oslo")
	saved := func(content, more string) string {
		return call(t, tools, "memory_save", fmt.Sprintf(`{"content": %q, "kind": "fact"%s}`, content, more))
	}
	check.Equal(t, "answer", saved("Bob lives in Bergen", fmt.Sprintf(`, "supersedes": %d`, old.ID)), fmt.Sprintf("Noted; it supersedes memory %d.", old.ID))
	check.Len(t, "reported", told, 1)
	m := told[0]
	right := m.By == "assistant" && m.Speaker == "Bob" && slices.Equal(m.Sources, []int64{1}) && m.SaidAt.Equal(said(1, "").Time)
	check.That(t, right, "got reported %+v", told)
	was := details(t, c.Store(), old.ID)
	check.That(t, was.State == "superseded" && was.SupersededBy == m.ID, "got %+v", was)
	check.Contains(t, "the same again", saved("bob lives in bergen", ""), "already known")
	check.Len(t, "reported", told, 1)
	check.Equal(t, "the same message confirms it", details(t, c.Store(), m.ID).Confirmed, 1)
	check.Contains(t, "superseding a missing memory", saved("Bob rows", `, "supersedes": 99`), "no memory 99")
	check.Len(t, "reported", told, 2)
}

func TestPersonByName(t *testing.T) {
	c := imported(t, 4)
	save(t, toolsAt(c, 4), "Bob is tall", 2, `, "about": "bob"`)
	m := details(t, c.Store(), 1)
	check.That(t, m.About == "Bob" && m.AboutID == "1" && m.SpeakerID == "0", "%+v", m)
	sayHello(t, c, 5, "u1", "Cleo")
	sayHello(t, c, 6, "u2", "Cleo")
	deliver(t, c, said(8, "Cleo is tall too"))
	save(t, toolsAt(c, 7), "Cleo is tall, like Bob", 7, `, "about": "cleo"`)
	m = details(t, c.Store(), 2)
	check.That(t, m.About == "Cleo" && m.AboutID == "", "two people with the name: %+v", m)
}

func TestMemoriesAreSavedOnce(t *testing.T) {
	t.Run("the extractive's memories give way to a worker's, once it has read all that they rest on", func(t *testing.T) {
		c := imported(t, 9)
		storetest.Repair(t, c, transcript.Extractive, transcript.Span{From: 1, To: 5}, storetest.Fact{Text: "rough one", Seq: 2})
		storetest.Repair(t, c, transcript.Extractive, transcript.Span{From: 1, To: 5}, storetest.Fact{Text: "rough", Seq: 2})
		storetest.Repair(t, c, transcript.Extractive, transcript.Span{From: 6, To: 9}, storetest.Fact{Text: "rough", Seq: 7})
		wantContents(t, c, "rough one", "rough")
		storetest.Repair(t, c, transcript.Worker, transcript.Span{From: 1, To: 5}, storetest.Fact{Text: "fine one", Seq: 2})
		wantContents(t, c, "rough", "fine one")
		storetest.Repair(t, c, transcript.Worker, transcript.Span{From: 6, To: 9}, storetest.Fact{Text: "fine two", Seq: 7})
		wantContents(t, c, "fine one", "fine two")
		check.Equal(t, "state", details(t, c.Store(), 1).State, "replaced")
	})
	t.Run("a worker saves nothing from what a worker has read, whatever became of that row", func(t *testing.T) {
		c := imported(t, 9)
		lost := worker(t, c, 1, 5)
		save(t, lost.Tools(20), "first", 2, "")
		finish(t, lost)
		for _, state := range []string{"stale", "undone"} {
			storetest.Run(t, c.Store(), "UPDATE compactions SET state = ?, extracted = CASE WHEN id = ? THEN extracted ELSE '' END", state, lost.ID())
			storetest.Repair(t, c, transcript.Worker, transcript.Span{From: 1, To: 7}, storetest.Fact{Text: "second", Seq: 2})
			wantContents(t, c, "first")
		}
		j := worker(t, c, 4, 9)
		_, err := storetest.Call(j.Tools(1), "memory_save", arguments("third", 2, ""))
		check.That(t, err != nil, "message 2 is outside the span")
		call(t, j.Tools(1), "memory_save", `{"content": "third", "kind": "fact", "messages": [5, 8]}`)
		finish(t, j)
		wantContents(t, c, "first", "third")
		check.EqualAll(t, "sources", details(t, c.Store(), 2).Sources, []int64{8})
	})
	t.Run("the extractive saves only where nobody did, and skips what does not pass", func(t *testing.T) {
		c := imported(t, 9)
		storetest.Repair(t, c, transcript.Worker, transcript.Span{From: 1, To: 3}, storetest.Fact{Text: "fine", Seq: 1})
		draft := func(kind, content string, importance float64, messages ...int64) summarize.MemoryDraft {
			return summarize.MemoryDraft{Kind: kind, Content: content, Importance: importance, Messages: messages}
		}
		fresh := finish(t, storetest.Begin(t, c, transcript.Summary{Kind: transcript.Leaf, By: transcript.Extractive, Span: transcript.Span{From: 1, To: 9}}), draft("fact", "seen before", 0, 2),
			draft("rumour", "no kind", 0, 5), draft("fact", "no number", math.NaN(), 5), draft("fact", "no messages", 0),
			draft("fact", "good", 0, 5))
		check.That(t, len(fresh) == 1 && fresh[0].Content == "good", "got %+v", fresh)
		wantContents(t, c, "fine", "good")
	})
	t.Run("a worker without tools leaves the extractive's memories to a later worker", func(t *testing.T) {
		c := imported(t, 9)
		j := worker(t, c, 1, 5)
		j.Tools(20)
		finish(t, j, summarize.MemoryDraft{Kind: "fact", Content: "rough", Messages: []int64{2}})
		wantContents(t, c, "rough")
		check.Equal(t, "saved", details(t, c.Store(), 1).By, "extractive")
		storetest.ApplyRows(t, c, j.ID())
		storetest.Repair(t, c, transcript.Extractive, transcript.Span{From: 6, To: 9}, storetest.Fact{Text: "rough two", Seq: 7})
		fold := storetest.Begin(t, c, transcript.Summary{Kind: transcript.Rollup, By: transcript.Worker, Span: transcript.Span{From: 1, To: 9}, Children: transcript.IDs(storetest.Peek(t, c).Head.Stack)})
		save(t, fold.Tools(20), "fine two", 7, "")
		finish(t, fold)
		wantContents(t, c, "rough", "fine two") // the fold has read the first child's text, and the second's messages
	})
}

func TestMemoriesMaskSecrets(t *testing.T) {
	const key = "ghp_" + "k7Zq2WvR9xLbT4mYc8HsJ5nPd3GfA6uEoKi1"
	c := imported(t, 20)
	save(t, toolsAt(c, 1), "in conversation: the token is "+key, 1, "")
	j := worker(t, c, 1, 5)
	save(t, j.Tools(5), "by a worker: the token is "+key, 2, "")
	finish(t, j)
	d := summarize.MemoryDraft{Kind: "fact", Content: "by the extractive summarizer: the token is " + key, Messages: []int64{7}}
	finish(t, storetest.Begin(t, c, transcript.Summary{Kind: transcript.Leaf, By: transcript.Extractive, Span: transcript.Span{From: 6, To: 10}}), d)
	keep(t, c, "Ann", "by a person: the token is "+key)
	const masked = ": the token is [masked: github pat]"
	wantContents(t, c, "in conversation"+masked, "by a worker"+masked, "by the extractive summarizer"+masked, "by a person"+masked)
	check.Len(t, "found by the secret", searched(t, c, key, 10), 0)
}

func sayHello(t *testing.T, c *store.Conversation, n int, id, name string) {
	t.Helper()
	m := said(n, "hello")
	m.AuthorID = id
	m.Author = name
	deliver(t, c, m)
}

// wantSaved fails unless a memory is saved, or refused because it names somebody who opted out.
func wantSaved(t *testing.T, c *store.Conversation, content string, want bool) {
	t.Helper()
	_, err := memory.Of(c).Keep(ctx, memory.KeepRequest{MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: content}, Person: "Ann", PersonID: "0"})
	_, out := errors.AsType[*memory.OptedOutError](err)
	check.That(t, out != want && (out || err == nil), "%q in %s: %v", content, c.Name(), err)
}

// TestOptOutIsByIDNotName: a name that is a word of every other sentence does not keep anyone else's memories from being saved.
func TestOptOutIsByIDNotName(t *testing.T) {
	c := newTalk(t)
	for n, name := range []string{"the", "a", "Will", "Carl"} {
		id := fmt.Sprint("u", n)
		sayHello(t, c, n+2, id, name)
		check.Must(privacy.Of(c).OptOut(ctx, id, name, true))(t)
	}
	for _, free := range []string{"the sky is blue", "The sky is grey", "Ann has a cat", "Bob takes vitamin A", "the shop will open at nine"} {
		wantSaved(t, c, free, true)
	}
	for _, held := range []string{
		"the shop of Will opens at ten", "Will rows", "Will's dog barks", "Ask Will.", "carl rows", "the shop of Carl's opens",
	} {
		wantSaved(t, c, held, false)
	}
}

// Those who are named in a thread or in a task speak in the channel.
func TestOptOutBelowChannel(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	channel := find(t, s, "discord:server/channel")
	elsewhere := find(t, s, "discord:server/other")
	sayHello(t, channel, 2, "u7", "Carl")
	thread := find(t, s, channel.Name()+"/thread")
	deliver(t, thread, said(4, "hi"))
	below := func(c *store.Conversation) *store.Conversation {
		task := check.Must(c.Tasks().Begin(ctx, store.NewTask{Task: store.Task{Agent: "one", Text: "count"}, Message: "count", Max: 9, Chain: 9}))(t)
		return find(t, s, task.Conversation)
	}
	check.Must(privacy.Of(channel).OptOut(ctx, "u7", "Carl", true))(t)
	for _, c := range []*store.Conversation{channel, thread, below(channel), below(thread), below(below(thread))} {
		wantSaved(t, c, "Carl rows", false)
	}
	wantSaved(t, elsewhere, "Carl rows", true) // another Carl
}

// Those who opted out are known by the name they have here, and still after /forget me, unless somebody else here has the name.
func TestOptOutUnderOtherNames(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	here := find(t, s, "discord:1/2")
	there := find(t, s, "discord:3/4")
	sayHello(t, here, 2, "u7", "Carl")
	sayHello(t, there, 2, "u7", "Charly")
	check.Must(privacy.Of(here).OptOut(ctx, "u7", "Carl", true))(t)
	wantSaved(t, there, "Charly rows", false)
	wantSaved(t, there, "Carl rows", false)
	wantSaved(t, here, "Charly swims", true) // nobody here
	check.Must(privacy.In(s).Erase(ctx, store.Person{ID: "u7"}, here, there))(t)
	for _, c := range []*store.Conversation{here, there} {
		check.Equal(t, "done", check.Must(privacy.Of(c).EraseSome(ctx, "u7"))(t).Done, true)
	}
	wantSaved(t, here, "Carl dives", false)
	sayHello(t, there, 3, "u8", "carl")
	wantSaved(t, there, "Carl dives", true)
}
