package memory

import (
	"testing"
	"time"

	"cairn/internal/check"
)

func TestTriesSurviveAStart(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	c := find(t, s, "terminal:general")
	deliverOnly(t, c, incomplete(1, "a"), incomplete(2, "b"))
	tries := func(want ...int) []Inbound {
		t.Helper()
		found, err := c.Inbox().Incomplete(ctx)
		if err != nil || len(found) != len(want) {
			t.Fatalf("%+v, %v", found, err)
		}
		for i, m := range found {
			if m.Tries != want[i] {
				t.Errorf("%s was tried %d times, want %d", m.ID, m.Tries, want[i])
			}
		}
		return found
	}
	check.NoError(t, c.Inbox().Try(ctx, tries(0, 0)[:1]))
	if n, err := c.Inbox().TryPast(ctx); n != 0 || err != nil {
		t.Error(n, err)
	}
	s.Close()
	s = openStore(t, dir)
	c = find(t, s, "terminal:general")
	check.NoError(t, c.Inbox().Try(ctx, tries(1, 0)))
	if n, err := c.Inbox().TryPast(ctx); n != 1 || err != nil {
		t.Error(n, err)
	}
	deliverOnly(t, c, incomplete(1, "a")) // a redelivery is nothing new
	tries(2, 1)
	edited := incomplete(1, "c")
	edited.Time = day.Add(time.Hour)
	if _, changed, err := c.Transcript().Edit(ctx, edited); !changed || err != nil {
		t.Fatal(changed, err)
	}
	tries(0, 1)
}
