package memory_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/transcript"
)

func TestWorkerSaves(t *testing.T) {
	save := func(t *testing.T, j summarize.Job, arguments string) (string, error) {
		t.Helper()
		return storetest.Call(j.Tools(20), "memory_save", arguments)
	}
	t.Run("code says who said it, when, where, and by which compaction it was saved", func(t *testing.T) {
		c := storetest.Imported(t, 9)
		j := storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 2, 6)
		check.Equal(t, "answer", check.Must(save(t, j, `{"content": "Bob likes tea", "kind": "preference", "importance": 0.25, "messages": [5, 3, 3], "about": "bob"}`))(t), "Noted.")
		check.NoError(t, check.ErrorOf(save(t, j, `{"content": "Ann has a cat", "kind": "fact", "messages": [4]}`)))
		if got := storetest.Contents(t, c); got != nil {
			t.Errorf("saved before the summary: %q", got)
		}
		fresh, err := j.Store(ctx, summarize.Summary{Text: "summary", Tokens: 2})
		want := []summarize.MemoryDraft{
			{ID: 1, Kind: "preference", Content: "Bob likes tea", Importance: 0.25, Messages: []int64{3, 5}, About: "Bob"},
			{ID: 2, Kind: "fact", Content: "Ann has a cat", Importance: 0.6, Messages: []int64{4}, About: "Ann"},
		}
		check.That(t, err == nil && reflect.DeepEqual(fresh, want), "%+v, %v", fresh, err)
		m, err := memory.In(c.Store()).Details(ctx, 1)
		check.Require(t, err == nil && time.Since(m.SavedAt) <= time.Hour, "%+v, %v", m, err)
		m.SavedAt = time.Time{}
		if want := (memory.Memory{
			ID: 1, Conversation: "terminal:general", Kind: "preference", Content: "Bob likes tea", Importance: 0.25,
			Speaker: "Bob", SpeakerID: "1", About: "Bob", AboutID: "1", Reach: "server", By: "worker", Compaction: j.ID(), SaidAt: storetest.Said(3, "").Time, Confirmed: 1, Sources: []int64{3, 5}, State: "active",
		}); !reflect.DeepEqual(m.Memory, want) {
			t.Errorf("got  %+v\nwant %+v", m, want)
		}
		check.Equal(t, "messages", len(m.Messages), 2)
		check.Equal(t, "saved by compaction", int64(storetest.Number(t, c.Store(), "SELECT compaction FROM memories WHERE id = 1")), j.ID())
	})
	t.Run("there is a limit, and the same again does not count", func(t *testing.T) {
		c := storetest.Imported(t, 9)
		j := storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 1, 9)
		tools := j.Tools(2)
		for i, content := range []string{"Ann rows", "Bob reads", "ANN  rows!", "Bob swims"} {
			_, err := storetest.Call(tools, "memory_save", fmt.Sprintf(`{"content": %q, "kind": "fact", "messages": [%d]}`, content, i+1))
			if refused := i == 3; (err != nil) != refused {
				t.Errorf("%s: %v", content, err)
			}
		}
		if _, err := storetest.Call(j.Tools(1), "memory_save", `{"content": "Bob swims", "kind": "fact", "messages": [9]}`); err != nil {
			t.Errorf("the next chunk has its own limit: %v", err)
		}
		check.Must(j.Store(ctx, summarize.Summary{Text: "summary", Tokens: 2}))(t)
		check.EqualAll(t, "result", storetest.Contents(t, c), []string{"fact: Ann rows", "fact: Bob reads", "fact: Bob swims"})
		m := storetest.Memory(t, c.Store(), 1)
		check.EqualAll(t, "sources", m.Sources, []int64{1, 3})
	})
	t.Run("a summary that cannot be stored saves no memory either", func(t *testing.T) {
		c := storetest.Imported(t, 9)
		j := storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 1, 9)
		check.Must(save(t, j, `{"content": "Ann rows", "kind": "fact", "messages": [1]}`))(t)
		check.NoError(t, j.Fail(ctx, "cancelled"))
		if _, err := j.Store(ctx, summarize.Summary{Text: "summary", Tokens: 2}); err == nil || storetest.Contents(t, c) != nil {
			t.Errorf("%v, %q", err, storetest.Contents(t, c))
		}
	})
}

func TestModelSavesFromRunningTurn(t *testing.T) {
	c := storetest.NewConversation(t)
	ask := storetest.Said(1, "I moved to Bergen")
	ask.Addressed = true
	turn := storetest.Deliver(t, c, ask)[0].Turn
	var told []memory.Memory
	tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return turn }, OnMemory: func(m memory.Memory) { told = append(told, m) }})
	old := storetest.Keep(t, c, "Bob", "Bob lives in Oslo")
	answer := check.Must(storetest.Call(tools, "memory_save", fmt.Sprintf(`{"content": "Bob lives in Bergen", "kind": "fact", "supersedes": %d}`, old.ID)))(t)
	check.Equal(t, "answer", answer, fmt.Sprintf("Noted; it supersedes memory %d.", old.ID))
	if len(told) != 1 || told[0].By != "assistant" || told[0].Speaker != "Bob" || !slices.Equal(told[0].Sources, []int64{1}) || !told[0].SaidAt.Equal(ask.Time) {
		t.Errorf("got reported %+v", told)
	}
	if m, err := memory.In(c.Store()).Details(ctx, old.ID); err != nil || m.State != "superseded" || m.SupersededBy != told[0].ID {
		t.Errorf("%+v, %v", m, err)
	}
	answer = check.Must(storetest.Call(tools, "memory_save", `{"content": "bob lives in bergen", "kind": "fact"}`))(t)
	check.Contains(t, "imported again", answer, "already known")
	check.Len(t, "reported", told, 1)
	check.Equal(t, "the same message confirms it", storetest.Memory(t, c.Store(), told[0].ID).Confirmed, 1)
	answer = check.Must(storetest.Call(tools, "memory_save", `{"content": "Bob rows", "kind": "fact", "supersedes": 99}`))(t)
	check.Contains(t, "superseding a missing memory", answer, "no memory 99")
	check.Len(t, "reported", told, 2)
}

func TestPersonByName(t *testing.T) {
	c := storetest.Imported(t, 4)
	tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 4 }})
	check.Must(storetest.Call(tools, "memory_save", `{"content": "Bob is tall", "kind": "fact", "messages": [2], "about": "bob"}`))(t)
	if m, err := memory.In(c.Store()).Details(ctx, 1); err != nil || m.About != "Bob" || m.AboutID != "1" || m.SpeakerID != "0" {
		t.Errorf("%+v, %v", m, err)
	}
	two := storetest.NewConversation(t)
	for i, id := range []string{"u1", "u2"} {
		one := storetest.Said(2*i+2, "hello")
		one.AuthorID = id
		storetest.Deliver(t, two, one)
	}
	check.Must(memory.Of(two).Keep(ctx, memory.KeepRequest{MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: "Ann is tall", About: "ann"}, Person: "Bob", PersonID: "u3"}))(t)
	if m, err := memory.In(two.Store()).Details(ctx, 1); err != nil || m.About != "Ann" || m.AboutID != "" {
		t.Errorf("two people with the name: %+v, %v", m, err)
	}
}
