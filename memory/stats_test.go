package memory

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/chat"
	"cairn/internal/check"
)

// chosen returns the contents of the memories that a filter selects.
func chosen(t *testing.T, s *Store, f Filter) string {
	t.Helper()
	found, _, err := MemoriesIn(s).List(ctx, f)
	check.NoError(t, err)
	var all []string
	for _, m := range found {
		all = append(all, m.Content)
	}
	return strings.Join(all, "|")
}

// gathered returns a store with memories of three people.
func gathered(t *testing.T) *Store {
	c := newConversation(t)
	third := said(3, "A boat, please")
	third.Author, third.AuthorID = "Özge", "U7"
	deliver(t, c, said(1, "I have a boat"), said(2, "I have a dog"), third)
	keep(t, c, "Bob", "Bob has a boat", 1)
	keep(t, c, "Ann", "Ann has a dog", 2)
	tools := MemoriesOf(c).Tools(ToolOptions{Turn: func() int64 { return 3 }})
	check.Must(call(tools, "memory_save", `{"content": "Özge has a boat", "kind": "goal", "messages": [3], "about": "Özge"}`))(t)
	run(t, c.store, "UPDATE memories SET said_at = ? WHERE id = 1", day.AddDate(0, -1, 0).UnixMilli())
	run(t, c.store, "UPDATE memories SET importance = 0.1 * id, confirmed = 4 - id")
	run(t, c.store, "UPDATE memories SET expires_at = ? WHERE id = 2", time.Now().AddDate(0, 0, 1).UnixMilli())
	keep(t, find(t, c.store, "terminal:other"), "Bob", "Bob is away")
	run(t, c.store, "UPDATE memories SET said_at = ? WHERE id = 4", day.AddDate(0, 1, 0).UnixMilli())
	return c.store
}

func TestMemoriesOfAPersonAndATimeInAnOrder(t *testing.T) {
	s := gathered(t)
	for want, f := range map[string]Filter{
		"Bob is away|Bob has a boat":    {About: "bob"},
		"Özge has a boat":               {About: "özge"},
		"":                              {About: "Bo"},
		"Bob has a boat":                {Until: day},
		"Özge has a boat|Ann has a dog": {Since: day, Until: day.AddDate(0, 0, 1)},
		"Bob has a boat|Ann has a dog|Özge has a boat|Bob is away": {Sort: "id"},
		"Ann has a dog|Bob is away|Özge has a boat|Bob has a boat": {Sort: "expires"},
		"Özge has a boat|Ann has a dog|Bob has a boat":             {Sort: "importance", Conversation: "terminal:general"},
		"Bob has a boat|Ann has a dog|Özge has a boat":             {Sort: "confirmed", Conversation: "terminal:general"},
		"Bob has a boat|Özge has a boat":                           {Sort: "confirmed", Query: "boat"},
		"Özge has a boat|Bob has a boat":                           {Sort: "said", Query: "boat", State: "current"},
	} {
		check.Equal(t, fmt.Sprintf("%+v", f), chosen(t, s, f), want)
	}
	t.Run("a platform's id names a person too", func(t *testing.T) {
		check.Equal(t, "about U7", chosen(t, s, Filter{About: "U7"}), "Özge has a boat")
	})
	t.Run("an order that does not exist is refused", func(t *testing.T) {
		if _, _, err := MemoriesIn(s).List(ctx, Filter{Sort: "beauty"}); err == nil || !strings.Contains(err.Error(), "confirmed, expires, id, importance, said, saved") {
			t.Error(err)
		}
	})
	t.Run("an export takes the same filter", func(t *testing.T) {
		n := 0
		check.NoError(t, MemoriesIn(s).Export(ctx, Filter{About: "bob"}, func(Exported, []chat.Message) error { n++; return nil }))
		check.Equal(t, "memories", n, 2)
	})
}

func TestStatistics(t *testing.T) {
	s := gathered(t)
	check.NoError(t, MemoriesOf(find(t, s, "terminal:general")).Pin(ctx, 1, true))
	run(t, s, "UPDATE memories SET expires_at = 5 WHERE id = 2")
	got := check.Must(MemoriesIn(s).Statistics(ctx, Filter{State: "all"}))(t)
	want := Statistics{
		Total: 4, Pinned: 1,
		Kind:    []Count{{"fact", 3}, {"goal", 1}},
		State:   []Count{{"active", 3}, {"expired", 1}},
		Person:  []Count{{"Bob", 2}, {"Ann", 1}, {"Özge", 1}},
		Channel: []Count{{"terminal:general", 3}, {"terminal:other", 1}},
		Month: []Count{
			{day.AddDate(0, -1, 0).Format("2006-01"), 1}, {day.Format("2006-01"), 2}, {day.AddDate(0, 1, 0).Format("2006-01"), 1},
		},
		Origin: []Count{{"person", 3}, {"assistant", 1}},
	}
	check.Equal(t, "the statistics", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
	for want, f := range map[int]Filter{
		1: {Conversation: "terminal:other"}, 2: {About: "Bob"}, 3: {}, 4: {State: "current"}, 0: {Kind: "todo"},
	} {
		if got := check.Must(MemoriesIn(s).Statistics(ctx, f))(t); got.Total != want || got.Kind == nil {
			t.Errorf("%+v: %+v", f, got)
		}
	}
	check.Error(t, check.ErrorOf(MemoriesIn(s).Statistics(ctx, Filter{Conversation: "terminal:lost"})), ErrNotFound)
}

func TestUntil(t *testing.T) {
	now := time.Date(2026, 5, 10, 12, 0, 0, 0, time.Local)
	for text, want := range map[string]time.Time{
		"2026-05-08":       time.Date(2026, 5, 9, 0, 0, 0, 0, time.Local),
		"2026-04":          time.Date(2026, 5, 1, 0, 0, 0, 0, time.Local),
		"2026-05-08T15:00": time.Date(2026, 5, 8, 15, 0, 0, 0, time.Local),
		"7d":               now.AddDate(0, 0, -7),
	} {
		if got, err := Until(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if _, err := Until("soon", now); err == nil {
		t.Error("soon is a time")
	}
}
