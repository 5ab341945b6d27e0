package memory_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/compactor/summarize"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// places are the places of two servers, and who may read each.
var places = map[string]store.Audience{
	"discord:1/10": store.ServerWide, "discord:1/11": store.ServerWide,
	"discord:1/12": store.Members, "discord:1/13": "", // a private channel, and one of which nothing was reported
	"discord:1/10/100": store.ServerWide, "discord:1/10/101": store.Members, // a private thread
	"discord:1/12/120": store.ChannelWide, "discord:1/12/121": store.Members,
	"discord:10/10": store.ServerWide,                                 // a server whose name begins like the other's
	"discord:2/10":  store.ServerWide, "slack:1/10": store.ServerWide, // another connector
	"discord:@me/7": store.Members, "discord:@me/8": store.Members, "slack:1/D7": store.Members, "slack:1/D7/1.5": store.ChannelWide,
	`discord:1/%`: store.ServerWide, `discord:_/10`: store.ServerWide, `discord:%/10`: store.Members,
	`discord:1'; DROP TABLE memories; --/10`: store.ServerWide, `discord:1/10" OR "1"="1`: store.Members,
	`discord:1/10/100) OR (1=1`: store.Members, "terminal:general": "", "terminal:other": "",
}

// Each place remembers where it is.
func TestScopes(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	for name, audience := range places {
		c := find(t, s, name)
		deliver(t, c, storetest.Within(audience, said(1, "we meet at "+name)))
		save(t, toolsAt(c, 1), "We meet at "+name, 1, "")
	}
	recalls := func(name, query string) []string { // the places of the memories
		t.Helper()
		memories, total, err := memory.Of(find(t, s, name)).List(ctx, memory.Filter{Query: query})
		check.Require(t, err == nil && total == len(memories), "%d of %d, %v", len(memories), total, err)
		return slices.Sorted(slices.Values(storetest.Map(memories, func(m memory.Memory) string { return m.Conversation })))
	}
	besides := map[string]string{ // its own, it has another place's
		"discord:1/10": "discord:1/10/100", "discord:1/10/100": "discord:1/10", "discord:1/10/101": "discord:1/10",
		"discord:1/12": "discord:1/12/120", "discord:1/12/120": "discord:1/12", "discord:1/12/121": "discord:1/12",
		"slack:1/D7": "slack:1/D7/1.5", "slack:1/D7/1.5": "slack:1/D7", `discord:1/10/100) OR (1=1`: "discord:1/10",
	}
	pool := []string{"discord:1/%", "discord:1/10", "discord:1/10/100", "discord:1/11"}
	wants := func(shared bool, queries ...string) {
		for name := range places {
			want := []string{name}
			if more, ok := besides[name]; ok {
				want = append(want, more)
			}
			slices.Sort(want)
			if shared && slices.Contains(pool, name) {
				want = pool
			}
			for _, query := range queries {
				check.EqualAll(t, fmt.Sprintf("shared %v: %s recalls %q", shared, name, query), recalls(name, query), want)
			}
		}
	}
	// Each keeps its own; a thread has its channel's too, and a channel those of the threads all its readers may read.
	wants(false, "", "meet", `NEAR(meet*) OR "`, "meet %' OR 1=1 --")
	// Switched on, the public channels of one server of one connector have theirs in common, and nothing else has.
	memory.In(s).Share(true)
	wants(true, "", "meet", `meet" OR "`)

	c := find(t, s, "discord:1/11")
	for _, server := range []bool{false, true} {
		d := summarize.MemoryDraft{Kind: "fact", Content: fmt.Sprintf("The cake is kept in cupboard %v", server)}
		check.Must(memory.Of(c).Keep(ctx, memory.KeepRequest{Server: server, Person: "Ann", PersonID: "0", MemoryDraft: d}))(t)
	}
	cake := func(want []string, names ...string) {
		t.Helper()
		for _, name := range names {
			check.EqualAll(t, name, recalls(name, "cake"), want)
		}
	}
	// What is for a channel stays in it, and what is for the server is known everywhere on it.
	cake([]string{"discord:1/11", "discord:1/11"}, "discord:1/11")
	cake([]string{"discord:1/11"}, "discord:1/10", "discord:1/10/100")
	cake(nil, "discord:1/12", "discord:1/10/101", "discord:2/10", "discord:@me/7")
	// A channel that is closed is in common with none from then on.
	for _, audience := range []store.Audience{"", store.Members} {
		m := storetest.Within(audience, said(2, "hello "+string(audience)))
		m.ID += string(audience)
		check.Must(c.Inbox().Deliver(ctx, m))(t)
		_, here, err := memory.Of(c).Shared(ctx)
		check.NoError(t, err)
		check.Equal(t, fmt.Sprintf("found for %q", audience), here, audience == "")
	}
	cake(nil, "discord:1/10")
	check.EqualAll(t, "its own", recalls("discord:1/11", ""), []string{"discord:1/11", "discord:1/11", "discord:1/11"})
	memory.In(s).Share(false)
	check.EqualAll(t, "switched off again", recalls("discord:1/10", ""), []string{"discord:1/10", "discord:1/10/100"})
}

// A model cannot reach another conversation by its IDs, with or without sharing.
func TestModelCannotReachOtherConversations(t *testing.T) {
	for _, shared := range []bool{false, true} {
		s := storetest.OpenStore(t, t.TempDir())
		memory.In(s).Share(shared)
		secret := map[string]int64{}
		for _, name := range []string{"discord:1/12", "discord:@me/7", "discord:@me/8", "discord:2/10"} {
			c := find(t, s, name)
			for n := range 30 {
				deliverOnly(t, c, said(n+1, "the plum is ripe in "+name))
			}
			deliver(t, c)
			secret[name] = keep(t, c, "Ann", "The plum of "+name+" is ripe", 20).ID
			worker(t, c, 1, 4)
		}
		for _, name := range []string{"discord:1/10", "discord:@me/9", "discord:1/12/5"} {
			c := find(t, s, name)
			deliver(t, c, storetest.Within(store.ServerWide, said(1, "hello")), said(2, "what is ripe under the blue sky?"))
			for foreign, id := range secret {
				if name == "discord:1/12/5" && foreign == "discord:1/12" { // a thread recalls its channel's memories
					continue
				}
				t.Run(fmt.Sprintf("%s from %s, shared %v", foreign, name, shared), func(t *testing.T) {
					wantOutOfReach(t, c, find(t, s, foreign), id)
				})
			}
		}
	}
}

// wantOutOfReach tries to reach a conversation, and a memory of it, with the tools of another.
func wantOutOfReach(t *testing.T, c, foreign *store.Conversation, id int64) {
	t.Helper()
	tools := toolsAt(c, 2)
	for _, tool := range []string{"memory_search", "recall"} {
		answer := call(t, tools, tool, fmt.Sprintf(`{"query": "plum ripe", "channel": %q, "conversation": %[1]q, "id": %d, "before": %[2]d}`, foreign.Name(), id))
		check.Lacks(t, tool, answer, foreign.Name())
	}
	for _, refused := range []struct{ tool, arguments string }{
		{"expand", `{"from": 20, "to": 25}`},
		{"expand", `{"compaction": 1}`},
		{"expand", `{"compaction": 2}`},
		{"expand", fmt.Sprintf(`{"from": %d, "to": %d}`, foreign.ID()<<32|1, foreign.ID()<<32|9)},
		{"memory_save", arguments("x", 20, "")},
		{"memory_save", arguments("x", foreign.ID()<<32|20, "")},
	} {
		check.That(t, check.ErrorOf(storetest.Call(tools, refused.tool, refused.arguments)) != nil, "%+v is answered", refused)
	}
	over := fmt.Sprintf(`{"content": "The sky is %sblue", "kind": "fact", "supersedes": %d}`, strings.Repeat("so ", int(id)), id)
	check.Contains(t, "memory_save", call(t, tools, "memory_save", over), "supersedes none")
	for what, err := range map[string]error{
		"forget": memory.Of(c).Forget(ctx, id), "restore": memory.Of(c).Restore(ctx, id), "pin": memory.Of(c).Pin(ctx, id, true),
		"look": check.ErrorOf(memory.Of(c).Details(ctx, id)),
	} {
		check.That(t, errors.Is(err, store.ErrNotFound), "%s: %v", what, err)
	}
	m := details(t, c.Store(), id)
	check.That(t, m.State == "active" && !m.Pinned, "got %+v", m)
}

// A thread may read its channel's memories, but neither change them nor request their messages.
func TestThreadReadsChannelMemories(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	channel := find(t, s, "discord:1/12")
	thread := find(t, s, "discord:1/12/5")
	deliver(t, channel, said(1, "the plum is ripe"))
	deliver(t, thread, said(1, "which one? the plum?"))
	saved := keep(t, channel, "Bob", "The plum is ripe", 1)
	answer := call(t, toolsAt(thread, 1), "memory_search", `{"query": "plum"}`)
	check.Contains(t, "answer", answer, `"from":"discord:1/12"`)
	check.Lacks(t, "answer", answer, `"messages"`)
	check.Contains(t, "answer", save(t, toolsAt(thread, 1), "The plum is gone", 1, fmt.Sprintf(`, "supersedes": %d`, saved.ID)), "supersedes none")
	check.Error(t, memory.Of(thread).Forget(ctx, saved.ID), store.ErrNotFound)
}

func TestPrivateMemoriesDoNotLeak(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	memory.In(s).Share(true)
	here := find(t, s, "discord:1/10")
	there := find(t, s, "discord:1/11")
	for _, c := range []*store.Conversation{here, there} {
		deliver(t, c, storetest.Within(store.ServerWide, said(1, "hello")))
	}
	keep(t, here, "Ann", "my parrot is called Coco")
	search := func() string {
		found := searched(t, here, "parrott", 5)
		check.Len(t, "found", found, 1)
		return fmt.Sprint(found[0].Parts[0]) // of the words; the last part is its age
	}
	before := search()
	keep(t, there, "Bob", "Miss Parrott sells parrots") // a word here, not there
	check.Equal(t, "found", search(), before)
}
