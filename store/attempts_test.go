package store_test

import (
	"fmt"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

func TestAttemptsSurviveRestart(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	c := storetest.Find(t, s, "terminal:general")
	storetest.DeliverOnly(t, c, incomplete(1, "a"), incomplete(2, "b"))
	tries := func(want ...int) []store.Inbound {
		t.Helper()
		found, err := c.Inbox().Incomplete(ctx)
		if err != nil || len(found) != len(want) {
			t.Fatalf("%+v, %v", found, err)
		}
		for i, m := range found {
			check.Equal(t, fmt.Sprintf("attempts of %s", m.ID), m.Tries, want[i])
		}
		return found
	}
	check.NoError(t, c.Inbox().Try(ctx, tries(0, 0)[:1]))
	check.Equal(t, "n", check.Must(c.Inbox().TryPast(ctx))(t), 0)
	c = reopen(t, c)
	check.NoError(t, c.Inbox().Try(ctx, tries(1, 0)))
	check.Equal(t, "n", check.Must(c.Inbox().TryPast(ctx))(t), 1)
	storetest.DeliverOnly(t, c, incomplete(1, "a")) // a redelivery is nothing new
	tries(2, 1)
	edited := incomplete(1, "c")
	edited.Time = storetest.Day.Add(time.Hour)
	edit(t, c, edited)
	tries(0, 1)
}
