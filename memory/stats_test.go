package memory_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
)

// chosen returns the contents of the memories that a filter selects.
func chosen(t *testing.T, s *store.Store, f memory.Filter) string {
	t.Helper()
	found, _, err := memory.In(s).List(ctx, f)
	check.NoError(t, err)
	var all []string
	for _, m := range found {
		all = append(all, m.Content)
	}
	return strings.Join(all, "|")
}

// gathered returns a store with memories of three people.
func gathered(t *testing.T) *store.Store {
	c := storetest.NewConversation(t)
	third := storetest.Said(3, "A boat, please")
	third.Author, third.AuthorID = "Özge", "U7"
	storetest.Deliver(t, c, storetest.Said(1, "I have a boat"), storetest.Said(2, "I have a dog"), third)
	storetest.Keep(t, c, "Bob", "Bob has a boat", 1)
	storetest.Keep(t, c, "Ann", "Ann has a dog", 2)
	tools := memory.Of(c).Tools(memory.ToolOptions{Turn: func() int64 { return 3 }})
	check.Must(storetest.Call(tools, "memory_save", `{"content": "Özge has a boat", "kind": "goal", "messages": [3], "about": "Özge"}`))(t)
	storetest.Run(t, c.Store(), "UPDATE memories SET said_at = ? WHERE id = 1", storetest.Day.AddDate(0, -1, 0).UnixMilli())
	storetest.Run(t, c.Store(), "UPDATE memories SET importance = 0.1 * id, confirmed = 4 - id")
	storetest.Run(t, c.Store(), "UPDATE memories SET expires_at = ? WHERE id = 2", time.Now().AddDate(0, 0, 1).UnixMilli())
	storetest.Keep(t, storetest.Find(t, c.Store(), "terminal:other"), "Bob", "Bob is away")
	storetest.Run(t, c.Store(), "UPDATE memories SET said_at = ? WHERE id = 4", storetest.Day.AddDate(0, 1, 0).UnixMilli())
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
		check.Equal(t, fmt.Sprintf("%+v", f), chosen(t, s, f), strings.TrimSuffix(want, "|"))
	}
	if _, _, err := memory.In(s).List(ctx, memory.Filter{Sort: "beauty"}); err == nil || !strings.Contains(err.Error(), "confirmed, expires, id, importance, said, saved") {
		t.Error(err)
	}
	n := 0 // an export takes the same filter
	check.NoError(t, memory.In(s).Export(ctx, memory.Filter{About: "bob"}, func(memory.Exported, []chat.Message) error { n++; return nil }))
	check.Equal(t, "memories", n, 2)
}

func TestStatistics(t *testing.T) {
	s := gathered(t)
	check.NoError(t, memory.Of(storetest.Find(t, s, "terminal:general")).Pin(ctx, 1, true))
	storetest.Run(t, s, "UPDATE memories SET expires_at = 5 WHERE id = 2")
	got := check.Must(memory.In(s).Statistics(ctx, memory.Filter{State: "all"}))(t)
	want := memory.Statistics{
		Total: 4, Pinned: 1,
		Kind:    []memory.Count{{"fact", 3}, {"goal", 1}},
		State:   []memory.Count{{"active", 3}, {"expired", 1}},
		Person:  []memory.Count{{"Bob", 2}, {"Ann", 1}, {"Özge", 1}},
		Channel: []memory.Count{{"terminal:general", 3}, {"terminal:other", 1}},
		Month: []memory.Count{
			{storetest.Day.AddDate(0, -1, 0).Format("2006-01"), 1}, {storetest.Day.Format("2006-01"), 2}, {storetest.Day.AddDate(0, 1, 0).Format("2006-01"), 1},
		},
		Origin: []memory.Count{{"person", 3}, {"assistant", 1}},
	}
	check.Equal(t, "the statistics", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
	for want, f := range map[int]memory.Filter{
		1: {Conversation: "terminal:other"}, 2: {About: "Bob"}, 3: {}, 4: {State: "current"}, 0: {Kind: "todo"},
	} {
		if got := check.Must(memory.In(s).Statistics(ctx, f))(t); got.Total != want || got.Kind == nil {
			t.Errorf("%+v: %+v", f, got)
		}
	}
	check.Error(t, check.ErrorOf(memory.In(s).Statistics(ctx, memory.Filter{Conversation: "terminal:lost"})), store.ErrNotFound)
}

func TestUntil(t *testing.T) {
	now := time.Date(2026, 5, 10, 12, 0, 0, 0, time.Local)
	for text, want := range map[string]time.Time{
		"2026-05-08":       time.Date(2026, 5, 9, 0, 0, 0, 0, time.Local),
		"2026-04":          time.Date(2026, 5, 1, 0, 0, 0, 0, time.Local),
		"2026-05-08T15:00": time.Date(2026, 5, 8, 15, 0, 0, 0, time.Local),
		"7d":               now.AddDate(0, 0, -7),
	} {
		if got, err := memory.Until(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if _, err := memory.Until("soon", now); err == nil {
		t.Error("soon is accepted as a time")
	}
}
