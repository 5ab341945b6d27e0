package store_test

import (
	"fmt"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
	"cairn/transcript"
)

// jumps are clock changes in both directions.
var jumps = map[string]time.Duration{"a year ahead": 365 * 24 * time.Hour, "to 1970": -time.Since(time.Unix(0, 0))}

// set changes the stamps of all waiting messages as if the clock had been set since.
func set(t *testing.T, s *store.Store, jump time.Duration) {
	t.Helper()
	storetest.Run(t, s, "UPDATE inbox SET received_at = max(received_at - ?, 0)", jump.Milliseconds())
}

func TestClockChangeWhileMessagesWait(t *testing.T) {
	for name, jump := range jumps {
		t.Run(name, func(t *testing.T) {
			c := storetest.NewConversation(t)
			storetest.DeliverOnly(t, c, storetest.Asking(1, "are you there?"))
			set(t, c.Store(), jump)
			taken, err := c.Inbox().Dequeue(ctx, store.All, 1000, time.Now().Add(-time.Hour))
			if err != nil || len(taken) != 1 || !taken[0].Addressed {
				t.Errorf("a message that just arrived is not answered: %+v, %v", taken, err)
			}
			storetest.DeliverOnly(t, c, storetest.Asking(2, "and an hour ago?"))
			set(t, c.Store(), jump)
			taken, err = c.Inbox().Dequeue(ctx, store.All, 1000, time.Now().Add(time.Second)) // which is as if more time had passed
			if err != nil || len(taken) != 1 || taken[0].Addressed {
				t.Errorf("an old message is answered: %+v, %v", taken, err)
			}
			storetest.DeliverOnly(t, c, storetest.Said(3, "never mind"))
			storetest.Remove(t, c, 3)
			check.Equal(t, "arrivals in memory", c.Store().Arrivals(), 0)
		})
	}
}

func TestSeqsFollowArrivalOrder(t *testing.T) {
	dir := t.TempDir()
	s := storetest.OpenStore(t, dir)
	times := []time.Duration{0, 24 * time.Hour, -time.Hour, 365 * 24 * time.Hour, -365 * 24 * time.Hour, -time.Since(time.Unix(0, 0)), time.Minute}
	for i, jump := range times {
		m := storetest.Said(i+1, fmt.Sprintf("message %d about tea", i+1))
		m.Time = time.Now().Add(jump)
		if taken := storetest.Deliver(t, storetest.Find(t, s, "terminal:general"), m); len(taken) != 1 || taken[0].Seq != int64(i+1) {
			t.Fatalf("got dequeued %+v", taken)
		}
		if i == 3 {
			s.Close()
			s = storetest.OpenStore(t, dir)
		}
	}
	c := storetest.Find(t, s, "terminal:general")
	if got := storetest.Seqs(storetest.Load(t, c).Messages); len(got) != len(times) || got[0] != 1 || got[6] != 7 {
		t.Errorf("got view %v", got)
	}
	found, err := memory.Of(c).Recall(ctx, memory.Question{Text: "tea", Limit: 10})
	check.NoError(t, err)
	check.Len(t, "found", found, len(times))
	for _, f := range found {
		check.That(t, f.Score == f.Score && f.Score >= 0 && f.Score <= 1e6, "message %d: got score %v", f.Seq, f.Score)
	}
	wantSound(t, s)
}

// Backups made while the clock was wrong neither keep the bot from making others nor push those out.
func TestBackupsFromWrongClock(t *testing.T) {
	dir := t.TempDir()
	s := storetest.OpenStore(t, dir)
	storetest.Deliver(t, storetest.Find(t, s, "terminal:general"), storetest.Said(1, "a"))
	b := backups(dir)
	var made []string
	const day, years = 24 * time.Hour, 9 * 365 * 24 * time.Hour
	for _, run := range []struct {
		after time.Duration
		want  int
	}{{years, 1}, {0, 2}, {time.Hour, 2}, {day, 3}, {2 * day, 3}, {3 * day, 3}, {years, 3}, {4 * day, 3}} {
		check.NoError(t, s.Upkeep().Run(ctx, b, storetest.Day.Add(run.after)))
		made = check.Must(b.List(storetest.Day.Add(run.after)))(t)
		check.Len(t, fmt.Sprint("backups after ", run.after), made, run.want)
	}
	check.Contains(t, "the newest backup", made[0], storetest.Day.Add(4*day).Format("20060102"))
}

func TestClockChangeAfterSummary(t *testing.T) {
	for name, jump := range jumps {
		t.Run(name, func(t *testing.T) {
			c := storetest.Imported(t, 10)
			storetest.Deliver(t, c, storetest.Asking(11, "do you hear us?"))
			storetest.ApplyRows(t, c, storetest.StoreSummary(t, c, transcript.Leaf, transcript.Worker, 1, 5))
			storetest.Run(t, c.Store(), "UPDATE compactions SET applied_at = applied_at - ?", jump.Milliseconds())
			check.Equal(t, "addressed since the summary", storetest.Load(t, c).Addressed, false)
			storetest.Deliver(t, c, storetest.Asking(12, "and now?"))
			check.Equal(t, "addressed after it", storetest.Load(t, c).Addressed, true)
		})
	}
}

func TestErasureAfterClockChange(t *testing.T) {
	for name, jump := range jumps {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := storetest.OpenStore(t, dir)
			c := storetest.Find(t, s, "terminal:general")
			storetest.Deliver(t, c, storetest.Said(1, "a"), storetest.Said(2, "b"))
			var rewritten []int // the version of the schema, which VACUUM raises
			for n := 1; n <= 2; n++ {
				storetest.Remove(t, c, n)
				if n == 1 {
					storetest.Run(t, s, "UPDATE unscrubbed SET id = max(id - ?, 1)", jump.Milliseconds())
				}
				check.NoError(t, s.Upkeep().EraseFiles(ctx, store.Backups{}))
				rewritten = append(rewritten, storetest.Number(t, s, "PRAGMA schema_version"))
			}
			check.Equal(t, "rewritten for the second deletion", rewritten[1] > rewritten[0], true)
		})
	}
}
