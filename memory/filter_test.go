package memory_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// gathered returns a store with memories of three people.
func gathered(t *testing.T) *store.Store {
	c := newTalk(t)
	deliver(t, c, said(1, "I have a boat"), said(2, "I have a dog"))
	sayHello(t, c, 3, "U7", "Özge")
	storetest.Run(t, c.Store(), "UPDATE messages SET quote = ? WHERE seq = 3", storetest.Attested)
	keep(t, c, "Bob", "Bob has a boat", 1)
	keep(t, c, "Ann", "Ann has a dog, 小犬", 2)
	call(t, toolsAt(c, 3), "memory_save", `{"content": "Özge has a boat", "kind": "goal", "messages": [3], "about": "Özge"}`)
	storetest.Run(t, c.Store(), "UPDATE memories SET importance = 0.1 * id, confirmed = 4 - id")
	storetest.Run(t, c.Store(), "UPDATE memories SET expires_at = ? WHERE id = 2", time.Now().AddDate(0, 0, 1).UnixMilli())
	keep(t, find(t, c.Store(), "terminal:other"), "Bob", "Bob is away")
	for id, months := range map[int]int{1: -1, 4: 1} {
		storetest.Run(t, c.Store(), "UPDATE memories SET said_at = ? WHERE id = ?", storetest.Day.AddDate(0, months, 0).UnixMilli(), id)
	}
	return c.Store()
}

func TestList(t *testing.T) {
	s := gathered(t)
	const general, other = "terminal:general", "terminal:other"
	lists := func(f memory.Filter, want string, of int) {
		t.Helper()
		found, total, err := memory.In(s).List(ctx, f)
		check.NoError(t, err)
		contents := storetest.Map(found, func(m memory.Memory) string { return m.Content })
		check.Equal(t, fmt.Sprintf("%+v", f), strings.Join(contents, "|"), want)
		check.Equal(t, fmt.Sprintf("%+v: total", f), total, of)
	}
	for _, test := range []struct {
		f     memory.Filter
		want  string
		total int
	}{
		{memory.Filter{About: "bob"}, "Bob is away|Bob has a boat", 2},
		{memory.Filter{About: "özge"}, "Özge has a boat", 1},
		{memory.Filter{About: "U7"}, "Özge has a boat", 1}, // the platform's id
		{memory.Filter{About: "Bo"}, "", 0},
		{memory.Filter{Until: storetest.Day}, "Bob has a boat", 1},
		{memory.Filter{Since: storetest.Day, Until: storetest.Day.AddDate(0, 0, 1)}, "Özge has a boat|Ann has a dog, 小犬", 2},
		{memory.Filter{Sort: "id"}, "Bob has a boat|Ann has a dog, 小犬|Özge has a boat|Bob is away", 4},
		{memory.Filter{Sort: "expires"}, "Ann has a dog, 小犬|Bob is away|Özge has a boat|Bob has a boat", 4},
		{memory.Filter{Sort: "importance", Conversation: general}, "Özge has a boat|Ann has a dog, 小犬|Bob has a boat", 3},
		{memory.Filter{Sort: "confirmed", Conversation: general}, "Bob has a boat|Ann has a dog, 小犬|Özge has a boat", 3},
		{memory.Filter{Sort: "confirmed", Query: "boat"}, "Bob has a boat|Özge has a boat", 2},
		{memory.Filter{Sort: "said", Query: "boat", State: "current"}, "Özge has a boat|Bob has a boat", 2},
		{memory.Filter{Conversation: general, Query: "boat"}, "Özge has a boat|Bob has a boat", 2}, // the more important comes first
		{memory.Filter{Conversation: general}, "Özge has a boat|Ann has a dog, 小犬|Bob has a boat", 3},
		{memory.Filter{Query: "away dog"}, "Bob is away|Ann has a dog, 小犬", 2},
		{memory.Filter{Kind: "fact", Query: "boat dog"}, "Ann has a dog, 小犬|Bob has a boat", 2},
		{memory.Filter{Query: "犬"}, "Ann has a dog, 小犬", 1},
		{memory.Filter{Conversation: other, Query: "犬"}, "", 0},
		{memory.Filter{Limit: 2, Offset: 1}, "Özge has a boat|Ann has a dog, 小犬", 4},
		{memory.Filter{Query: "boat dog away", Limit: 1, Offset: 3}, "Bob has a boat", 4},
		{memory.Filter{Limit: 2, Offset: 9}, "", 4},
		{memory.Filter{Query: "boat", Offset: 9}, "", 2},
		{memory.Filter{Limit: -1, Offset: -7}, "Bob is away|Özge has a boat|Ann has a dog, 小犬|Bob has a boat", 4},
		{memory.Filter{Query: "the?"}, "", 0},
	} {
		lists(test.f, test.want, test.total)
	}
	storetest.Run(t, s, "UPDATE memories SET said_at = 0, importance = 0.5")
	lists(memory.Filter{Kind: "fact"}, "Bob is away|Ann has a dog, 小犬|Bob has a boat", 3) // those of one millisecond are ordered by their numbers
	check.NoError(t, memory.In(s).Forget(ctx, 4))
	lists(memory.Filter{State: "forgotten", Query: "away"}, "Bob is away", 1)
	for _, f := range []memory.Filter{{Kind: "rumour"}, {State: "lost"}, {Conversation: "terminal:none"}} {
		_, _, err := memory.In(s).List(ctx, f)
		check.That(t, err != nil, "%+v: no error", f)
	}
	_, _, err := memory.In(s).List(ctx, memory.Filter{Sort: "beauty"})
	check.ErrorContains(t, "an order", err, "confirmed, expires, id, importance, oldest, said, saved")
	check.Error(t, check.ErrorOf(memory.In(s).Details(ctx, 99)), store.ErrNotFound)
	n := 0 // an export takes the same filter
	check.NoError(t, memory.In(s).Export(ctx, memory.Filter{About: "ann"}, func(memory.Exported, []chat.Message) error { n++; return nil }))
	check.Equal(t, "exported memories", n, 1)
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

func TestConcerning(t *testing.T) {
	c := newTalk(t)
	other := find(t, c.Store(), "terminal:other")
	say := func(in *store.Conversation, content string) {
		w := memory.KeepRequest{Person: "Özge", PersonID: "U7"}
		w.Kind = "fact"
		w.Content = content
		check.Must(memory.Of(in).Keep(ctx, w))(t)
	}
	say(c, "Özge has a boat")
	for i := range 3 {
		say(other, fmt.Sprintf("room %d is blue", i))
	}
	keep(t, other, "Bob", "Bob is away")
	check.NoError(t, memory.Of(other).Forget(ctx, 2))
	concerning := func(person string, limit, offset int, in ...*store.Conversation) (contents string, total int) {
		found, total, err := memory.Concerning(ctx, c.Store(), in, person, limit, offset)
		check.NoError(t, err)
		return strings.Join(storetest.Map(found, func(m memory.Memory) string { return m.Content }), "|"), total
	}
	for want, of := range map[string]func() (string, int){
		"room 2 is blue|room 1 is blue|Özge has a boat, 3": func() (string, int) { return concerning("U7", 10, 0, c, other) },
		"Özge has a boat, 1":                               func() (string, int) { return concerning("U7", 10, 0, c) },
		"room 1 is blue, 2":                                func() (string, int) { return concerning("U7", 1, 1, other) },
		", 0":                                              func() (string, int) { return concerning("", 10, 0, c, other) },
		", 0 ":                                             func() (string, int) { return concerning("U7", 10, 0) },
	} {
		contents, total := of()
		check.Equal(t, "what concerns the person", fmt.Sprintf("%s, %d", contents, total), strings.TrimSpace(want))
	}
}
