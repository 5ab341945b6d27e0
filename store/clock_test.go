package store_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/memory"
	"cairn/store"
	"cairn/transcript"
)

// jumps are clock changes in both directions.
var jumps = map[string]time.Duration{
	"an hour and more ahead": 2 * time.Hour, "a year ahead": 365 * 24 * time.Hour,
	"an hour and more back": -2 * time.Hour, "a year back": -365 * 24 * time.Hour, "to 1970": -time.Since(time.Unix(0, 0)),
}

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
		if f.Score != f.Score || f.Score < 0 || f.Score > 1e6 {
			t.Errorf("message %d: got score %v", f.Seq, f.Score)
		}
	}
	wantSound(t, s)
}

func TestFactsFromWrongClockExpire(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	for name, at := range map[string]time.Duration{"now": 0, "1970": -time.Since(time.Unix(0, 0)), "next year": 365 * 24 * time.Hour} {
		check.NoError(t, s.Models().Keep(ctx, name, llm.Facts{Window: 4096, Factor: 1.2, Scale: 120, RefusesTools: true}))
		storetest.Run(t, s, "UPDATE models SET updated_at = ? WHERE name = ?", time.Now().Add(at).UnixMilli(), name)
	}
	known := check.Must(s.Models().List(ctx))(t)
	for name, f := range known {
		if believed := name == "now"; (f.Window == 4096) != believed || f.RefusesTools != believed || f.Factor != 1.2 {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// Backups made while the clock was wrong neither keep the bot from making others nor push those out.
func TestBackupsFromWrongClock(t *testing.T) {
	for _, keep := range []int{1, 3} {
		dir := t.TempDir()
		s := storetest.OpenStore(t, dir)
		c := storetest.Find(t, s, "terminal:general")
		storetest.Deliver(t, c, storetest.Said(1, "a"), storetest.Said(2, "b"))
		b := backups(dir)
		b.Keep = keep
		var made []string
		run := func(after time.Duration, want int) {
			t.Helper()
			check.NoError(t, s.Upkeep().Run(ctx, b, storetest.Day.Add(after)))
			made = check.Must(b.List(storetest.Day.Add(after)))(t)
			check.Equal(t, fmt.Sprint("backups after ", after), len(made), min(want, keep))
		}
		const day, years = 24 * time.Hour, 9 * 365 * 24 * time.Hour
		run(years, 1)
		run(0, 2)
		now := check.Must(os.Stat(made[len(made)-1]))(t)
		run(time.Hour, 2)
		check.Equal(t, "still there", os.SameFile(now, check.Must(os.Stat(made[len(made)-1]))(t)), true)
		run(day, 3)
		run(2*day, 3)
		run(3*day, 3)
		check.Contains(t, "the newest backup", made[0], storetest.Day.Add(3*day).Format("20060102"))
		run(years, 3)
		run(4*day, 3)
		storetest.Remove(t, c, 2) // which leaves one backup, without the text
		check.NoError(t, s.Upkeep().EraseFiles(ctx, b))
		made = check.Must(b.List(time.Now()))(t)
		check.Len(t, "backups after an erasure", made, 1)
		check.Equal(t, "messages in it", check.Must(store.Inspect(ctx, made[0]))(t).Messages, 1)
	}
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
