package memory_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
)

func TestSearchMemories(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	c, other := storetest.Find(t, s, "terminal:general"), storetest.Find(t, s, "terminal:other")
	remember := func(c *store.Conversation, kind, content string, importance float64) {
		t.Helper()
		if _, fresh, err := storetest.Remember(memory.Of(c), ctx, summarize.MemoryDraft{Kind: kind, Content: content, Importance: importance}, "Ann"); err != nil || !fresh {
			t.Fatal(fresh, err)
		}
	}
	remember(c, "preference", "Ann drinks black tea", 0.9)
	remember(c, "preference", "Ann drinks green tea, 绿茶", 0.2)
	remember(c, "fact", "Ann's bicycle is red", 0.5)
	remember(other, "fact", "Carol sells tea", 0.5)
	remember(c, "event", "The meeting is in May", 0.5)
	check.NoError(t, memory.Of(c).Forget(ctx, 5))
	for _, test := range []struct {
		claim string
		f     memory.Filter
		want  []int64
		total int
	}{
		{"of equal matches the more important comes first", memory.Filter{Conversation: c.Name(), Query: "drinks"}, []int64{1, 2}, 2},
		{"without a query the newest come first", memory.Filter{Conversation: c.Name()}, []int64{3, 2, 1}, 3},
		{"all conversations can be searched", memory.Filter{Query: "Carol bicycle"}, []int64{4, 3}, 2},
		{"one kind can be searched", memory.Filter{Kind: "fact", Query: "tea bicycle"}, []int64{3, 4}, 2},
		{"one character of Chinese is found", memory.Filter{Query: "茶"}, []int64{2}, 1},
		{"one character of Chinese finds nothing of other conversations", memory.Filter{Conversation: other.Name(), Query: "茶"}, nil, 0},
		{"what was forgotten is there for who asks for it", memory.Filter{State: "forgotten", Query: "meeting"}, []int64{5}, 1},
		{"pages leave the total as it is", memory.Filter{Limit: 2, Offset: 1}, []int64{3, 2}, 4},
		{"a page behind the end is empty", memory.Filter{Limit: 2, Offset: 9}, nil, 4},
		{"a negative page is the first", memory.Filter{Limit: -1, Offset: -7}, []int64{4, 3, 2, 1}, 4},
		{"a query of words that tell nothing finds nothing", memory.Filter{Query: "the?"}, nil, 0},
	} {
		t.Run(test.claim, func(t *testing.T) {
			// Memories of the same millisecond are ordered by their numbers.
			storetest.Run(t, s, "UPDATE memories SET said_at = 0")
			found, total, err := memory.In(s).List(ctx, test.f)
			check.NoError(t, err)
			var list []int64
			for _, m := range found {
				list = append(list, m.ID)
			}
			check.EqualAll(t, "found", list, test.want)
			check.Equal(t, "total", total, test.total)
		})
	}
	for _, f := range []memory.Filter{{Kind: "rumour"}, {State: "lost"}, {Conversation: "terminal:none"}} {
		if _, _, err := memory.In(s).List(ctx, f); err == nil {
			t.Errorf("%+v: no error", f)
		}
	}
	check.Error(t, check.ErrorOf(memory.In(s).Details(ctx, 99)), store.ErrNotFound)
}

func TestRankingOfMemories(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	c := storetest.Find(t, s, "terminal:general")
	storetest.Deliver(t, c, spoken(1, 0, "Caroline", "hello"), spoken(2, 0, "Bob", "hello"))
	storetest.Keep(t, c, "Caroline", "Caroline drinks green tea")
	storetest.Keep(t, c, "Bob", "Bob drinks green tea")
	storetest.Keep(t, c, "Bob", "Bob's greyhound is called Pepper")
	first := func(query string) memory.Memory {
		t.Helper()
		found, _, err := memory.In(s).List(ctx, memory.Filter{Query: query})
		check.Require(t, err == nil && len(found) != 0, "%q: %+v, %v", query, found, err)
		sum := 0.0
		for _, p := range found[0].Parts {
			sum += p.Value
		}
		if math.Abs(sum-found[0].Score) > 1e-9 {
			t.Errorf("parts %v: got sum %v, want %v", found[0].Parts, sum, found[0].Score)
		}
		return found[0]
	}
	m := first("what tea does Caroline drink")
	check.Equal(t, "of a person", m.ID, 1)
	check.Equal(t, "second part of the score", m.Parts[1].Name, "speaker")
	check.Equal(t, "with a typo", first("greyhuond").ID, 3)
	check.Equal(t, "by a name alone", first("Bob").Speaker, "Bob")
	storetest.Run(t, s, "UPDATE memories SET said_at = said_at - ? WHERE id = 2", (180 * 24 * time.Hour).Milliseconds())
	check.Equal(t, "the newer", first("green tea").ID, 1)
	if found, err := storetest.Search(memory.Of(c), ctx, "", 9); err != nil || len(found) != 3 || found[0].Parts != nil {
		t.Errorf("without a query: %+v, %v", found, err)
	}
}

// In a question "I" is the asker, however it is phrased: what they said ranks above what others
// said later in the same words.
func TestFirstPersonIsTheAsker(t *testing.T) {
	c := storetest.NewConversation(t)
	storetest.Deliver(t, c, spoken(1, 0, "Ann", "I booked my flight for 3 June"), spoken(2, 1, "Bob", "I booked my flight for 7 July"))
	for _, name := range []string{"Ann", "Bob"} {
		kept := memory.KeepRequest{Person: name, MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: name + "'s flight is booked"}}
		check.Must(memory.Of(c).Keep(ctx, kept))(t)
	}
	const question = "when is my flight?"
	for n, name := range []string{"Ann", "Bob"} {
		overheard, asked := spoken(8+2*n, 5, "Zoe", "hm"), spoken(9+2*n, 5, name, question)
		asked.Addressed = true
		turn := storetest.Deliver(t, c, asked, overheard)[0].Seq
		tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return turn }})
		for _, tool := range tools[:2] {
			text := check.Must(tool.Run(ctx, json.RawMessage(`{"query": "booked my flight"}`)))(t)
			var answer struct{ Memories, Messages []struct{ Who string } }
			check.NoError(t, json.Unmarshal([]byte(text), &answer))
			if all := append(answer.Memories, answer.Messages...); len(all) < 2 || all[0].Who != name {
				t.Errorf("asked by %s: %s answers %s", name, tool.Name, text)
			}
		}
	}
}
