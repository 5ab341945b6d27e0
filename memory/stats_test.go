package memory_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
)

// gathered returns a store with memories of three people.
func gathered(t *testing.T) *store.Store {
	c := newTalk(t)
	deliver(t, c, said(1, "I have a boat"), said(2, "I have a dog"))
	sayHello(t, c, 3, "U7", "Özge")
	keep(t, c, "Bob", "Bob has a boat", 1)
	keep(t, c, "Ann", "Ann has a dog", 2)
	call(t, toolsAt(c, 3), "memory_save", `{"content": "Özge has a boat", "kind": "goal", "messages": [3], "about": "Özge"}`)
	storetest.Run(t, c.Store(), "UPDATE memories SET importance = 0.1 * id, confirmed = 4 - id")
	storetest.Run(t, c.Store(), "UPDATE memories SET expires_at = ? WHERE id = 2", time.Now().AddDate(0, 0, 1).UnixMilli())
	keep(t, find(t, c.Store(), "terminal:other"), "Bob", "Bob is away")
	for id, months := range map[int]int{1: -1, 4: 1} {
		storetest.Run(t, c.Store(), "UPDATE memories SET said_at = ? WHERE id = ?", storetest.Day.AddDate(0, months, 0).UnixMilli(), id)
	}
	return c.Store()
}

func TestListFilters(t *testing.T) {
	s := gathered(t)
	for want, f := range map[string]memory.Filter{
		"Bob is away|Bob has a boat":    {About: "bob"},
		"Özge has a boat":               {About: "özge"},
		"Özge has a boat|":              {About: "U7"}, // the platform's id
		"":                              {About: "Bo"},
		"Bob has a boat":                {Until: storetest.Day},
		"Özge has a boat|Ann has a dog": {Since: storetest.Day, Until: storetest.Day.AddDate(0, 0, 1)},
		"Bob has a boat|Ann has a dog|Özge has a boat|Bob is away": {Sort: "id"},
		"Ann has a dog|Bob is away|Özge has a boat|Bob has a boat": {Sort: "expires"},
		"Özge has a boat|Ann has a dog|Bob has a boat":             {Sort: "importance", Conversation: "terminal:general"},
		"Bob has a boat|Ann has a dog|Özge has a boat":             {Sort: "confirmed", Conversation: "terminal:general"},
		"Bob has a boat|Özge has a boat":                           {Sort: "confirmed", Query: "boat"},
		"Özge has a boat|Bob has a boat":                           {Sort: "said", Query: "boat", State: "current"},
	} {
		found, _, err := memory.In(s).List(ctx, f)
		check.NoError(t, err)
		var contents []string
		for _, m := range found {
			contents = append(contents, m.Content)
		}
		check.Equal(t, fmt.Sprintf("%+v", f), strings.Join(contents, "|"), strings.TrimSuffix(want, "|"))
	}
	_, _, err := memory.In(s).List(ctx, memory.Filter{Sort: "beauty"})
	check.ErrorContains(t, "an order", err, "confirmed, expires, id, importance, said, saved")
	n := 0 // an export takes the same filter
	check.NoError(t, memory.In(s).Export(ctx, memory.Filter{About: "bob"}, func(memory.Exported, []chat.Message) error { n++; return nil }))
	check.Equal(t, "exported memories", n, 2)
}

func TestStatistics(t *testing.T) {
	s := gathered(t)
	check.NoError(t, memory.Of(find(t, s, "terminal:general")).Pin(ctx, 1, true))
	storetest.Run(t, s, "UPDATE memories SET expires_at = 5 WHERE id = 2")
	want := memory.Statistics{
		Total: 4, Pinned: 1,
		Kind:    []memory.Count{{"fact", 3}, {"goal", 1}},
		State:   []memory.Count{{"active", 3}, {"expired", 1}},
		Person:  []memory.Count{{"Bob", 2}, {"Ann", 1}, {"Özge", 1}},
		Channel: []memory.Count{{"terminal:general", 3}, {"terminal:other", 1}},
		Month:   []memory.Count{{"2026-02", 1}, {"2026-03", 2}, {"2026-04", 1}},
		Origin:  []memory.Count{{"person", 3}, {"assistant", 1}},
	}
	got := check.Must(memory.In(s).Statistics(ctx, memory.Filter{State: "all"}))(t)
	check.Equal(t, "the statistics", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
	for want, f := range map[int]memory.Filter{
		1: {Conversation: "terminal:other"}, 2: {About: "Bob"}, 3: {}, 4: {State: "current"}, 0: {Kind: "todo"},
	} {
		got := check.Must(memory.In(s).Statistics(ctx, f))(t)
		check.That(t, got.Total == want && got.Kind != nil, "%+v: %+v", f, got)
	}
	check.Error(t, check.ErrorOf(memory.In(s).Statistics(ctx, memory.Filter{Conversation: "terminal:lost"})), store.ErrNotFound)
}

func TestSearchMemories(t *testing.T) {
	c := newTalk(t)
	s := c.Store()
	other := find(t, s, "terminal:other")
	for _, d := range []summarize.MemoryDraft{
		{Kind: "preference", Content: "Ann drinks black tea", Importance: 0.9},
		{Kind: "preference", Content: "Ann drinks green tea, 绿茶", Importance: 0.2},
		{Kind: "fact", Content: "Ann's bicycle is red"},
		{Kind: "fact", Content: "Carol sells tea"},
		{Kind: "event", Content: "The meeting is in May"},
	} {
		in := map[bool]*store.Conversation{false: c, true: other}[d.Content == "Carol sells tea"]
		check.Must(memory.Of(in).Keep(ctx, memory.KeepRequest{MemoryDraft: d, Person: "Ann"}))(t)
	}
	check.NoError(t, memory.Of(c).Forget(ctx, 5))
	storetest.Run(t, s, "UPDATE memories SET said_at = 0") // those of the same millisecond are ordered by their numbers
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
		found, total, err := memory.In(s).List(ctx, test.f)
		check.NoError(t, err)
		var list []int64
		for _, m := range found {
			list = append(list, m.ID)
		}
		check.EqualAll(t, test.claim, list, test.want)
		check.Equal(t, test.claim+": total", total, test.total)
	}
	for _, f := range []memory.Filter{{Kind: "rumour"}, {State: "lost"}, {Conversation: "terminal:none"}} {
		_, _, err := memory.In(s).List(ctx, f)
		check.That(t, err != nil, "%+v: no error", f)
	}
	check.Error(t, check.ErrorOf(memory.In(s).Details(ctx, 99)), store.ErrNotFound)
}

func TestRankingOfMemories(t *testing.T) {
	c := newTalk(t)
	deliver(t, c, spoken(1, 0, "Caroline", "hello"), spoken(2, 0, "Bob", "hello"))
	keep(t, c, "Caroline", "Caroline drinks green tea")
	keep(t, c, "Bob", "Bob drinks green tea")
	keep(t, c, "Bob", "Bob's greyhound is called Pepper")
	first := func(query string, want int64) memory.Memory {
		t.Helper()
		found := searched(t, c, query, 9)
		check.Require(t, len(found) > 0 && found[0].ID == want, "%q: got %+v", query, found)
		sum := 0.0
		for _, p := range found[0].Parts {
			sum += p.Value
		}
		check.That(t, math.Abs(sum-found[0].Score) < 1e-9, "parts %v: got sum %v, want %v", found[0].Parts, sum, found[0].Score)
		return found[0]
	}
	check.Equal(t, "second part of the score", first("what tea does Caroline drink", 1).Parts[1].Name, "speaker")
	first("greyhuond", 3) // a typo
	check.Equal(t, "by a name alone", first("Bob", 3).Speaker, "Bob")
	storetest.Run(t, c.Store(), "UPDATE memories SET said_at = said_at - ? WHERE id = 2", (180 * 24 * time.Hour).Milliseconds())
	first("green tea", 1) // the newer
	before := dump(t, c.Store())
	found := searched(t, c, "", 9)
	check.That(t, len(found) == 3 && found[0].Parts == nil, "without a query: %+v", found)
	check.Equal(t, "what a search writes", dump(t, c.Store()), before)
}
