package memory_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
	"cairn/transcript"
)

// town is a store with two servers; each place remembers its own name.
type town struct {
	t *testing.T
	s *store.Store
}

// places are the places of a town, and who may read each.
var places = map[string]store.Audience{
	"discord:1/10":     store.ServerWide,
	"discord:1/11":     store.ServerWide,
	"discord:1/12":     store.Members, // a private channel
	"discord:1/13":     "",            // nothing was reported about it
	"discord:1/10/100": store.ServerWide,
	"discord:1/10/101": store.Members, // a private thread
	"discord:1/12/120": store.ChannelWide,
	"discord:1/12/121": store.Members,
	"discord:10/10":    store.ServerWide, // a server whose name begins like the other's
	"discord:2/10":     store.ServerWide,
	"slack:1/10":       store.ServerWide, // another connector
	"discord:@me/7":    store.Members,
	"discord:@me/8":    store.Members,
	"slack:1/D7":       store.Members,
	"slack:1/D7/1.5":   store.ChannelWide,

	`discord:1/%`:                            store.ServerWide,
	`discord:_/10`:                           store.ServerWide,
	`discord:%/10`:                           store.Members,
	`discord:1'; DROP TABLE memories; --/10`: store.ServerWide,
	`discord:1/10" OR "1"="1`:                store.Members,
	`discord:1/10/100) OR (1=1`:              store.Members,
	"terminal:general":                       "",
	"terminal:other":                         "",
}

func newTown(t *testing.T) *town {
	v := &town{t, storetest.OpenStore(t, t.TempDir())}
	for name, audience := range places {
		c := storetest.Find(t, v.s, name)
		m := storetest.Said(1, "we meet at "+name)
		m.Audience = audience
		storetest.Deliver(t, c, m)
		check.Must(storetest.Call(memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 1 }}), "memory_save", fmt.Sprintf(`{"content": "We meet at %d", "kind": "fact", "messages": [1]}`, c.ID())))(t)
	}
	return v
}

// recalls returns the places whose memories a place recalls.
func (v *town) recalls(name, query string) (found []string) {
	v.t.Helper()
	memories, total, err := memory.Of(storetest.Find(v.t, v.s, name)).List(ctx, memory.Filter{Query: query})
	check.Require(v.t, err == nil && total == len(memories), "%d of %d, %v", len(memories), total, err)
	for _, m := range memories {
		found = append(found, m.Conversation)
	}
	slices.Sort(found)
	return found
}

func TestScopes(t *testing.T) {
	v := newTown(t)
	apart := map[string][]string{
		"discord:1/10":     {"discord:1/10", "discord:1/10/100"},
		"discord:1/10/100": {"discord:1/10", "discord:1/10/100"},
		"discord:1/10/101": {"discord:1/10", "discord:1/10/101"},
		"discord:1/12":     {"discord:1/12", "discord:1/12/120"},
		"discord:1/12/120": {"discord:1/12", "discord:1/12/120"},
		"discord:1/12/121": {"discord:1/12", "discord:1/12/121"},
		"slack:1/D7":       {"slack:1/D7", "slack:1/D7/1.5"},
		"slack:1/D7/1.5":   {"slack:1/D7", "slack:1/D7/1.5"},

		`discord:1/10/100) OR (1=1`: {"discord:1/10", `discord:1/10/100) OR (1=1`},
	}
	pool := []string{"discord:1/%", "discord:1/10", "discord:1/10/100", "discord:1/11"}
	shared := map[string][]string{"discord:1/10": pool, "discord:1/11": pool, "discord:1/10/100": pool, "discord:1/%": pool}
	check := func(t *testing.T, more map[string][]string) {
		for name := range places {
			want := []string{name}
			if apart[name] != nil {
				want = apart[name]
			}
			if more[name] != nil {
				want = more[name]
			}
			for _, query := range []string{"", "meet", `meet" OR "`, "meet*", "NEAR(meet)", "meet %", "meet' OR 1=1 --"} {
				if got := v.recalls(name, query); !slices.Equal(got, want) {
					t.Errorf("%s: recall of %q: got %q, want %q", name, query, got, want)
				}
			}
		}
	}
	t.Run("each keeps its own; a thread has its channel's too, and a channel those of the threads all its readers may read", func(t *testing.T) {
		check(t, nil)
	})
	t.Run("switched on, the public channels of one server of one connector have theirs in common, and nothing else has", func(t *testing.T) {
		memory.In(v.s).Share(true)
		check(t, shared)
	})
}

func TestSharedMemories(t *testing.T) {
	v := newTown(t)
	memory.In(v.s).Share(true)
	t.Run("what is for a channel stays in it, and what is for the server is known everywhere on it", func(t *testing.T) {
		c := storetest.Find(t, v.s, "discord:1/11")
		for _, w := range []memory.KeepRequest{{}, {Server: true}} {
			w.Kind, w.Person, w.PersonID = "fact", "Ann", "0"
			w.Content = fmt.Sprintf("The cake is kept in cupboard %v", w.Server)
			if s, err := memory.Of(c).Keep(ctx, w); err != nil || !s.Fresh {
				t.Fatal(s, err)
			}
		}
		check.Equal(t, "memories found there", len(v.recalls("discord:1/11", "cake")), 2)
		for _, name := range []string{"discord:1/10", "discord:1/10/100"} {
			check.EqualAll(t, name, v.recalls(name, "cake"), []string{"discord:1/11"})
		}
		for _, name := range []string{"discord:1/12", "discord:1/10/101", "discord:2/10", "discord:@me/7"} {
			if got := v.recalls(name, "cake"); got != nil {
				t.Errorf("%s: %q", name, got)
			}
		}
	})
	t.Run("a channel that is closed is in common with none from then on", func(t *testing.T) {
		c := storetest.Find(t, v.s, "discord:1/11")
		for _, audience := range []store.Audience{"", store.Members} {
			m := storetest.Said(2, "hello "+string(audience))
			m.ID += string(audience)
			m.Audience = audience
			check.Must(c.Inbox().Deliver(ctx, m))(t)
			_, here, err := memory.Of(c).Shared(ctx)
			check.NoError(t, err)
			check.Equal(t, fmt.Sprintf("found for %q", audience), here, audience == "")
		}
		if got := v.recalls("discord:1/10", "cake"); got != nil {
			t.Errorf("%q", got)
		}
		check.EqualAll(t, "answer", v.recalls("discord:1/11", ""), []string{"discord:1/11", "discord:1/11", "discord:1/11"})
	})
	t.Run("switched off again, each keeps its own", func(t *testing.T) {
		memory.In(v.s).Share(false)
		check.EqualAll(t, "answer", v.recalls("discord:1/10", ""), []string{"discord:1/10", "discord:1/10/100"})
	})
}

// A model cannot reach another conversation by its IDs, with or without sharing.
func TestModelCannotReachOtherConversations(t *testing.T) {
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprint("shared ", shared), func(t *testing.T) {
			s := storetest.OpenStore(t, t.TempDir())
			memory.In(s).Share(shared)
			secret := map[string]memory.Saved{}
			for _, name := range []string{"discord:1/12", "discord:@me/7", "discord:@me/8", "discord:2/10"} {
				c := storetest.Find(t, s, name)
				past := make([]store.Inbound, 30)
				for i := range past {
					past[i] = storetest.Said(i+1, "the plum is ripe in "+name)
				}
				check.Must(c.Past().Import(ctx, past))(t)
				secret[name] = storetest.Keep(t, c, "Ann", "The plum of "+name+" is ripe", 20)
				storetest.Begin(t, c, transcript.Leaf, transcript.Worker, 1, 4)
			}
			for _, name := range []string{"discord:1/10", "discord:@me/9", "discord:1/12/5"} {
				c := storetest.Find(t, s, name)
				m := storetest.Said(1, "hello")
				m.Audience = store.ServerWide
				storetest.Deliver(t, c, m)
				storetest.Deliver(t, c, storetest.Said(2, "what is ripe?"))
				tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 2 }})
				theirs := ""
				if name == "discord:1/12/5" { // a thread recalls its channel's memories
					theirs = "discord:1/12 "
				}
				for foreign, saved := range secret {
					if strings.TrimSpace(theirs) == foreign {
						continue
					}
					for tool, arguments := range map[string]string{
						"memory_search": `{"query": "plum ripe", "channel": %q, "conversation": %q, "id": %d}`,
						"recall":        `{"query": "plum ripe", "channel": %q, "conversation": %q, "before": %d}`,
					} {
						answer, err := storetest.Call(tools, tool, fmt.Sprintf(arguments, foreign, foreign, saved.ID))
						if err != nil || strings.Contains(answer, foreign) {
							t.Errorf("%s in %s: %s, %v", tool, name, answer, err)
						}
					}
					for _, arguments := range []string{`{"from": 20, "to": 25}`, `{"compaction": 1}`, `{"compaction": 2}`, fmt.Sprintf(`{"from": %d, "to": %d}`, storetest.Find(t, s, foreign).Row(1), storetest.Find(t, s, foreign).Row(9))} {
						if answer, err := storetest.Call(tools, "expand", arguments); err == nil {
							t.Errorf("expand %s in %s: %s", arguments, name, answer)
						}
					}
					answer := check.Must(storetest.Call(tools, "memory_save", fmt.Sprintf(`{"content": "The sky over %s number %d is blue", "kind": "fact", "supersedes": %d}`, name, saved.ID, saved.ID)))(t)
					check.Contains(t, fmt.Sprintf("memory_save in %s", name), answer, "supersedes none")
					for _, messages := range []string{"[20]", fmt.Sprintf("[%d]", storetest.Find(t, s, foreign).Row(20))} {
						if answer, err := storetest.Call(tools, "memory_save", fmt.Sprintf(`{"content": "x", "kind": "fact", "messages": %s}`, messages)); err == nil {
							t.Errorf("memory_save of %s in %s: %s", messages, name, answer)
						}
					}
					for what, err := range map[string]error{
						"forget": memory.Of(c).Forget(ctx, saved.ID), "restore": memory.Of(c).Restore(ctx, saved.ID), "pin": memory.Of(c).Pin(ctx, saved.ID, true),
						"look": check.ErrorOf(memory.Of(c).Details(ctx, saved.ID)),
					} {
						check.That(t, errors.Is(err, store.ErrNotFound), "%s in %s: %v", what, name, err)
					}
					if m, err := memory.In(s).Details(ctx, saved.ID); err != nil || m.State != "active" || m.Pinned {
						t.Errorf("%+v, %v", m, err)
					}
				}
			}
		})
	}
}

// A thread may read its channel's memories, but neither change them nor request their messages.
func TestThreadReadsChannelMemories(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	channel, thread := storetest.Find(t, s, "discord:1/12"), storetest.Find(t, s, "discord:1/12/5")
	storetest.Deliver(t, channel, storetest.Said(1, "the plum is ripe"))
	storetest.Deliver(t, thread, storetest.Said(1, "which one?"))
	saved := storetest.Keep(t, channel, "Bob", "The plum is ripe", 1)
	tools := memory.Of(thread).Tools(memory.ToolOptions{Turn: func() int64 { return 1 }})
	answer := check.Must(storetest.Call(tools, "memory_search", `{"query": "plum"}`))(t)
	check.Contains(t, "answer", answer, `"from":"discord:1/12"`)
	check.Lacks(t, "answer", answer, `"messages"`)
	answer = check.Must(storetest.Call(tools, "memory_save", fmt.Sprintf(`{"content": "The plum is gone", "kind": "fact", "supersedes": %d}`, saved.ID)))(t)
	check.Contains(t, "answer", answer, "supersedes none")
	check.Error(t, memory.Of(thread).Forget(ctx, saved.ID), store.ErrNotFound)
}

func TestPrivateMemoriesDoNotLeak(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	memory.In(s).Share(true)
	here, there := storetest.Find(t, s, "discord:1/10"), storetest.Find(t, s, "discord:1/11")
	for _, c := range []*store.Conversation{here, there} {
		m := storetest.Said(1, "hello")
		m.Audience = store.ServerWide
		storetest.Deliver(t, c, m)
	}
	storetest.Keep(t, here, "Ann", "my parrot is called Coco")
	search := func() string {
		found := check.Must(storetest.Search(memory.Of(here), ctx, "parrott", 5))(t)
		check.Len(t, "found", found, 1)
		return fmt.Sprint(found[0].Parts[0]) // of the words; the last part is its age
	}
	before := search()
	storetest.Keep(t, there, "Bob", "Miss Parrott sells parrots") // a word here, not there
	check.Equal(t, "found", search(), before)
}
