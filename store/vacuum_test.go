package store_test

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor/summarize"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/memory"
	"cairn/store"
)

// scattered alternately fills two conversations with many messages, so that pages are split;
// every fourth message of the first also has words that contain the secret and its number.
func scattered(t *testing.T, s *store.Store, seed int64, n int) (c *store.Conversation, marked []int) {
	t.Helper()
	r := rand.New(rand.NewSource(seed))
	c = storetest.Find(t, s, "terminal:general")
	other := storetest.Find(t, s, "terminal:other")
	for i := 1; i <= n; {
		var page []store.Inbound
		for ; len(page) < 30; i++ {
			text := ""
			for range 5 + r.Intn(30) {
				text += fmt.Sprintf("w%x ", r.Intn(4000))
			}
			if i%4 == 0 {
				for range 20 {
					text += fmt.Sprintf("w%x%s%d ", r.Intn(4000), storetest.Secret, i)
				}
				marked = append(marked, i)
			}
			page = append(page, storetest.Said(i, text))
		}
		check.Must(c.Past().Import(ctx, page))(t)
		for j := range page {
			page[j].Text = fmt.Sprintf("w%x is another one's", r.Intn(4000))
		}
		check.Must(other.Past().Import(ctx, page))(t)
	}
	return c, marked
}

// backups returns the backups of a data folder, one a day.
func backups(dir string) store.Backups {
	return store.Backups{Every: 24 * time.Hour, Keep: 3, Dir: filepath.Join(dir, store.BackupsName)}
}

func TestErasureFromTheFiles(t *testing.T) {
	check.SkipUnderRace(t)
	t.Run("no file contains deleted text, including split pages, WITHOUT ROWID tables and backups", func(t *testing.T) {
		dir := t.TempDir()
		s := storetest.OpenStore(t, dir)
		c, marked := scattered(t, s, 1, 600)
		secrets := scatteredMemories(t, c, 2, 200)
		check.NoError(t, s.Upkeep().Run(ctx, backups(dir), storetest.Day))
		storetest.Remove(t, c, marked...)
		for _, id := range secrets {
			check.NoError(t, memory.In(s).Purge(ctx, id))
		}
		check.NoError(t, s.EmptyLog(ctx))
		if found := storetest.CountBytes(t, dir, "xylophon"); found[store.DatabaseName] == 0 || len(found) != 2 {
			t.Fatalf("secure_delete and a checkpoint leave the text in %v: the test proves nothing", found)
		}
		check.NoError(t, s.Upkeep().EraseFiles(ctx, backups(dir)))
		storetest.WantNoBytes(t, dir, "xylophon")
		check.Equal(t, "noted deletions", storetest.Number(t, s, "SELECT count(*) FROM unscrubbed"), 0)
		made, err := backups(dir).List(time.Now())
		if err != nil || len(made) != 1 {
			t.Fatal(made, err)
		}
		if holds, err := store.Inspect(ctx, made[0]); err != nil || holds.Messages < 600 {
			t.Errorf("the fresh backup: %+v, %v", holds, err)
		}
		storetest.Deliver(t, c, storetest.Said(5000, "kangaroo"))
		check.Equal(t, "found", len(storetest.Recalled(t, c, "kangaroo")), 1)
		wantSound(t, s)
	})
	t.Run("a shell's deletion is noted for a running bot", func(t *testing.T) {
		dir := t.TempDir()
		bot := storetest.OpenStore(t, dir)
		secrets := scatteredMemories(t, storetest.Find(t, bot, "terminal:general"), 2, 40)
		shell := check.Must(store.Open(ctx, store.Options{Dir: dir, Shared: true}))(t)
		for _, id := range secrets {
			check.NoError(t, memory.In(shell).Purge(ctx, id))
		}
		check.NoError(t, shell.Close())
		check.NoError(t, bot.Upkeep().Run(ctx, store.Backups{}, time.Now().Add(store.EraseWithin)))
		storetest.WantNoBytes(t, dir, "xylophon")
	})
	t.Run("a disk without room leaves the deletion noted", func(t *testing.T) {
		err := store.CheckRoom(t.TempDir(), 1<<60)
		check.Error(t, err, store.ErrNoRoom)
		check.Contains(t, "error", err.Error(), " MB and has ")
		dir := t.TempDir()
		s := storetest.OpenStore(t, dir)
		c := storetest.Find(t, s, "terminal:general")
		storetest.Deliver(t, c, storetest.Said(1, storetest.Secret))
		storetest.Remove(t, c, 1)
		write(t, dir, store.BackupsName, "a file where the folder of backups must be")
		rewritten := make(map[int]bool) // the versions of the schema, which VACUUM raises
		for range 3 {
			if err := s.Upkeep().EraseFiles(ctx, backups(dir)); err == nil {
				t.Fatal("backups")
			}
			check.Equal(t, "noted deletions", storetest.Number(t, s, "SELECT count(*) FROM unscrubbed"), 1)
			rewritten[storetest.Number(t, s, "PRAGMA schema_version")] = true
		}
		check.Equal(t, "rewritten by how many attempts", len(rewritten), 1)
		check.NoError(t, os.Remove(filepath.Join(dir, store.BackupsName)))
		check.NoError(t, s.Upkeep().EraseFiles(ctx, backups(dir)))
		storetest.WantNoBytes(t, dir, storetest.Secret)
	})
}

// An erasure that follows a backup within a second gives its backup the name of a later second.
func TestErasureRenewsBackupOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := storetest.OpenStore(t, dir)
		defer s.Close()
		c := storetest.Find(t, s, "terminal:general")
		storetest.Deliver(t, c, storetest.Said(1, "one"), storetest.Said(2, "two"))
		for range 2 {
			check.NoError(t, s.Upkeep().Run(ctx, backups(dir), time.Now()))
			check.Len(t, "backups", check.Must(backups(dir).List(time.Now()))(t), 1)
			storetest.Remove(t, c, 2)
			storetest.Run(t, s, "UPDATE unscrubbed SET id = 1") // that was long ago
		}
	})
}

// TestKillDuringRewrite kills processes at various moments while they rewrite their database.
func TestKillDuringRewrite(t *testing.T) {
	check.SkipUnderRace(t)
	dir := t.TempDir()
	s := storetest.OpenStore(t, dir)
	c, marked := scattered(t, s, 1, 600)
	storetest.Remove(t, c, marked...)
	was := storetest.Dump(t, s)
	s.Close()
	for i := range 4 {
		bot, out := startBot(t, "CAIRN_TEST_ERASE="+dir)
		if _, err := out.Read(make([]byte, 1)); err != nil { // it starts
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i*14) * time.Millisecond)
		check.NoError(t, bot.Process.Kill())
		_ = bot.Wait() // it was killed
		s := storetest.OpenStore(t, dir)
		wantSound(t, s)
		if now := storetest.Dump(t, s); now != was {
			t.Fatalf("got\n%s\nwant\n%s", now, was)
		}
		s.Close()
	}
	s = storetest.OpenStore(t, dir)
	check.NoError(t, s.Upkeep().EraseFiles(ctx, store.Backups{}))
	storetest.WantNoBytes(t, dir, "xylophon")
}

// eraseAgainAndAgain rewrites a database until its process is killed.
func eraseAgainAndAgain(dir string) {
	s, err := store.Open(ctx, store.Options{Dir: dir})
	if err != nil {
		panic(err)
	}
	fmt.Print("x")
	for {
		if err := s.Upkeep().Vacuum(ctx); err != nil {
			panic(err)
		}
	}
}

// scatteredMemories saves many memories in a conversation, every fourth one secret, so that pages
// are split; it returns the numbers of the secret ones.
func scatteredMemories(t *testing.T, c *store.Conversation, seed int64, n int) (secrets []int64) {
	t.Helper()
	r := rand.New(rand.NewSource(seed))
	for i := range n {
		text := fmt.Sprintf("w%d", i)
		for range 10 {
			text += fmt.Sprintf(" w%x", r.Intn(1<<20))
			if i%4 == 0 {
				text += fmt.Sprintf(" w%x%s%d", r.Intn(4000), storetest.Secret, i)
			}
		}
		m, _, err := storetest.Remember(memory.Of(c), ctx, summarize.MemoryDraft{Kind: "fact", Content: text}, "Ada")
		check.NoError(t, err)
		if i%4 == 0 {
			secrets = append(secrets, m.ID)
		}
	}
	return secrets
}

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
