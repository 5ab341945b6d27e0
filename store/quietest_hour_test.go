package store_test

import (
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

func TestQuietestHour(t *testing.T) {
	now := time.Date(2026, 5, 4, 14, 30, 0, 0, time.UTC)
	for _, test := range []struct {
		name  string
		quiet int // the hour without traffic; -1: none
		want  time.Time
	}{
		{"comes tomorrow", 3, time.Date(2026, 5, 5, 3, 0, 0, 0, time.UTC)},
		{"comes today", 20, time.Date(2026, 5, 4, 20, 0, 0, 0, time.UTC)},
		{"has begun", 14, now},
		{"is like the others", -1, now},
	} {
		t.Run(test.name, func(t *testing.T) {
			var hours [24]int
			for i := range hours {
				hours[i] = 7
			}
			if test.quiet >= 0 {
				hours[test.quiet] = 0
			}
			check.Equal(t, "answer", store.NextQuietHour(hours, now), test.want)
		})
	}
	t.Run("the quietest hour depends on the last week, and no deletion waits longer than a day", func(t *testing.T) {
		s := storetest.OpenStore(t, t.TempDir())
		c := storetest.Find(t, s, "terminal:general")
		if _, due, err := s.Upkeep().EraseAt(ctx, now); due || err != nil {
			t.Fatal(due, err)
		}
		for i := range 25 {
			storetest.Deliver(t, c, storetest.Said(i+1, "hello"))
		}
		// One message in each hour of the day but the third, and one in the third long ago.
		storetest.Run(t, s, "UPDATE messages SET saved_at = ? + (seq - 2 + (seq = 5)) * 3600000", now.Truncate(24*time.Hour).UnixMilli())
		storetest.Run(t, s, "UPDATE messages SET saved_at = ? WHERE seq = 1", now.Truncate(24*time.Hour).AddDate(0, -1, 0).Add(3*time.Hour).UnixMilli())
		storetest.Remove(t, c, 24)
		storetest.Run(t, s, "UPDATE unscrubbed SET id = ?", now.Add(-2*time.Hour).UnixMilli())
		if when, due, err := s.Upkeep().EraseAt(ctx, now); !due || err != nil || when != time.Date(2026, 5, 5, 3, 0, 0, 0, time.UTC) {
			t.Errorf("%v, %v, %v", when, due, err)
		}
		storetest.Run(t, s, "UPDATE unscrubbed SET id = ?", now.Add(-20*time.Hour).UnixMilli())
		if when, _, err := s.Upkeep().EraseAt(ctx, now); err != nil || !when.Equal(now.Add(4*time.Hour)) {
			t.Errorf("%v, %v", when, err)
		}
		check.NoError(t, s.Upkeep().Run(ctx, store.Backups{}, now))
		if n := storetest.Number(t, s, "SELECT count(*) FROM unscrubbed"); n != 1 {
			t.Fatal("it did not wait for the quietest hour")
		}
		check.NoError(t, s.Upkeep().Run(ctx, store.Backups{}, now.Add(4*time.Hour)))
		check.Equal(t, "it waited longer than a day", storetest.Number(t, s, "SELECT count(*) FROM unscrubbed"), 0)
	})
}
