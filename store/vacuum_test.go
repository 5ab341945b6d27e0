package store_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor/summarize"
	"cairn/memory"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// scattered returns a folder with a conversation whose messages and memories split pages: every fourth has words with the
// secret and its number. Another conversation's messages lie between. The file is made once.
func scattered(t *testing.T) (dir string, s *store.Store, c *store.Conversation) {
	t.Helper()
	dir = t.TempDir()
	write(t, dir, store.DatabaseName, string(scatteredFile()))
	s = storetest.OpenStore(t, dir)
	return dir, s, find(t, s, "terminal:general")
}

const (
	scatteredMessages = 150
	scatteredMemories = 40
)

var scatteredFile = sync.OnceValue(func() []byte {
	dir := must(os.MkdirTemp("", "cairn"))
	defer os.RemoveAll(dir)
	s := must(store.Open(ctx, store.Options{Dir: dir}))
	c := must(s.Conversation(ctx, "terminal:general"))
	other := must(s.Conversation(ctx, "terminal:other"))
	r := rand.New(rand.NewPCG(1, 2))
	text := func(i, words int) (text string) {
		for range words {
			text += fmt.Sprintf("w%x ", r.IntN(4000))
			if i%4 == 0 {
				text += fmt.Sprintf("w%x%s%d ", r.IntN(4000), secret, i)
			}
		}
		return text
	}
	for i := 1; i <= scatteredMessages; {
		var page, theirs []store.Inbound
		for ; len(page) < 30; i++ {
			page, theirs = append(page, said(i, text(i, 20))), append(theirs, said(i, text(1, 1)))
		}
		must(c.Past().Import(ctx, page))
		must(other.Past().Import(ctx, theirs))
	}
	for i := range scatteredMemories {
		must(memory.Of(c).Keep(ctx, memory.KeepRequest{MemoryDraft: summarize.MemoryDraft{Kind: "fact", Content: text(i, 10)}, Person: "Ada"}))
	}
	must(0, s.Close())
	return must(os.ReadFile(store.File(dir)))
})

// eraseScattered deletes what has the secret.
func eraseScattered(t *testing.T, c *store.Conversation) {
	t.Helper()
	var marked []int
	for i := 4; i <= scatteredMessages; i += 4 {
		marked = append(marked, i)
	}
	remove(t, c, marked...)
	for id := 1; id <= scatteredMemories; id += 4 {
		check.NoError(t, memory.In(c.Store()).Purge(ctx, int64(id)))
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// backups returns the backups of a data folder, one a day.
func backups(dir string) store.Backups {
	return store.Backups{Every: 24 * time.Hour, Keep: 3, Dir: filepath.Join(dir, store.BackupsName)}
}

func wantErasures(t *testing.T, s *store.Store, n int) {
	t.Helper()
	check.Equal(t, "noted deletions", number(t, s, "SELECT count(*) FROM unscrubbed"), n)
}

func TestErasureFromTheFiles(t *testing.T) {
	storetest.SQLiteOnly(t, "files")
	check.SkipUnderRace(t)
	t.Run("no file contains deleted text, including split pages, WITHOUT ROWID tables and backups", func(t *testing.T) {
		dir, s, c := scattered(t)
		check.NoError(t, s.Upkeep().Run(ctx, backups(dir), storetest.Day))
		eraseScattered(t, c)
		check.NoError(t, s.EmptyLog(ctx))
		found := storetest.FilesWith(t, dir, "xylophon")
		check.Require(t, slices.Contains(found, store.File(dir)) && len(found) == 2, "secure_delete leaves the text in %v: the test proves nothing", found)
		check.NoError(t, s.Upkeep().EraseFiles(ctx, backups(dir)))
		storetest.WantNoBytes(t, dir, "xylophon")
		wantErasures(t, s, 0)
		made := check.Must(backups(dir).List(time.Now()))(t)
		check.Len(t, "backups", made, 1)
		holds := check.Must(store.Inspect(ctx, made[0]))(t)
		check.That(t, holds.Messages >= scatteredMessages, "the fresh backup: %+v", holds)
		deliver(t, c, said(5000, "kangaroo"))
		check.Len(t, "found", storetest.Recalled(t, c, "kangaroo"), 1)
		wantSound(t, s)
	})
	t.Run("a shell's deletion is noted for a running bot", func(t *testing.T) {
		dir, bot, _ := scattered(t)
		eraseScattered(t, find(t, openShared(t, dir), "terminal:general"))
		check.NoError(t, bot.Upkeep().Run(ctx, store.Backups{}, time.Now().Add(store.EraseWithin)))
		storetest.WantNoBytes(t, dir, "xylophon")
	})
	t.Run("a disk without room leaves the deletion noted", func(t *testing.T) {
		err := store.CheckRoom(t.TempDir(), 1<<60)
		check.Error(t, err, store.ErrNoRoom)
		check.ErrorContains(t, "error", err, " MB and has ")
		dir := t.TempDir()
		s := storetest.OpenStore(t, dir)
		c := find(t, s, "terminal:general")
		deliver(t, c, said(1, secret))
		remove(t, c, 1)
		write(t, dir, store.BackupsName, "a file where the folder of backups must be")
		rewritten := make(map[int]bool) // the versions of the schema, which VACUUM raises
		for range 3 {
			check.That(t, s.Upkeep().EraseFiles(ctx, backups(dir)) != nil, "got backups")
			wantErasures(t, s, 1)
			rewritten[number(t, s, "PRAGMA schema_version")] = true
		}
		check.Equal(t, "rewritten by how many attempts", len(rewritten), 1)
		check.NoError(t, os.Remove(filepath.Join(dir, store.BackupsName)))
		check.NoError(t, s.Upkeep().EraseFiles(ctx, backups(dir)))
		storetest.WantNoBytes(t, dir, secret)
	})
}

// An erasure that follows a backup within a second gives its backup the name of a later second.
func TestErasureRenewsBackupOnce(t *testing.T) {
	storetest.SQLiteOnly(t, "files")
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := storetest.OpenStore(t, dir)
		defer s.Close()
		c := find(t, s, "terminal:general")
		deliver(t, c, said(1, "one"), said(2, "two"))
		for range 2 {
			check.NoError(t, s.Upkeep().Run(ctx, backups(dir), time.Now()))
			check.Len(t, "backups", check.Must(backups(dir).List(time.Now()))(t), 1)
			remove(t, c, 2)
			storetest.Run(t, s, "UPDATE unscrubbed SET id = 1") // that was long ago
		}
	})
}

func TestErasureAfterClockChange(t *testing.T) {
	storetest.SQLiteOnly(t, "files")
	for name, jump := range jumps {
		t.Run(name, func(t *testing.T) {
			c := newTalk(t)
			deliver(t, c, said(1, "a"), said(2, "b"))
			rewritten := 0 // the version of the schema, which VACUUM raises
			for n := 1; n <= 2; n++ {
				remove(t, c, n)
				if n == 1 {
					storetest.Run(t, c.Store(), "UPDATE unscrubbed SET id = max(id - ?, 1)", jump.Milliseconds())
				}
				check.NoError(t, c.Store().Upkeep().EraseFiles(ctx, store.Backups{}))
				version := number(t, c.Store(), "PRAGMA schema_version")
				check.That(t, version > rewritten, "not rewritten for deletion %d", n)
				rewritten = version
			}
		})
	}
}

// TestKillDuringRewrite kills processes at various moments while they rewrite their database.
func TestKillDuringRewrite(t *testing.T) {
	storetest.SQLiteOnly(t, "files")
	check.SkipUnderRace(t)
	dir, s, c := scattered(t)
	eraseScattered(t, c)
	was := dump(t, s)
	s.Close()
	for i := range 3 {
		bot, out := startBot(t, "erasing", dir)
		check.Must(out.Read(make([]byte, 1)))(t) // it starts
		time.Sleep(time.Duration(i*14) * time.Millisecond)
		check.NoError(t, bot.Process.Kill())
		_ = bot.Wait() // it was killed
		s := storetest.OpenStore(t, dir)
		wantSound(t, s)
		now := dump(t, s)
		check.Require(t, now == was, "got\n%s\nwant\n%s", now, was)
		s.Close()
	}
	s = storetest.OpenStore(t, dir)
	check.NoError(t, s.Upkeep().EraseFiles(ctx, store.Backups{}))
	storetest.WantNoBytes(t, dir, "xylophon")
}

// eraseAgainAndAgain rewrites a database until its process is killed.
func eraseAgainAndAgain(dir string) {
	s := must(store.Open(ctx, store.Options{Dir: dir}))
	fmt.Print("x")
	for {
		must(0, s.Upkeep().Vacuum(ctx))
	}
}

func TestQuietestHour(t *testing.T) {
	now := time.Date(2026, 5, 4, 14, 30, 0, 0, time.UTC)
	at := func(day, hour int) time.Time { return time.Date(2026, 5, day, hour, 0, 0, 0, time.UTC) }
	for quiet, want := range map[int]time.Time{3: at(5, 3), 20: at(4, 20), 14: now, -1: now} { // it has started; all are alike
		var hours [24]int
		for i := range hours {
			hours[i] = map[bool]int{false: 7}[i == quiet]
		}
		check.Equal(t, fmt.Sprint("quiet at ", quiet), store.NextQuietHour(hours, now), want)
	}
	// The quietest hour depends on the last week, and no deletion waits longer than a day.
	c := newTalk(t)
	s := c.Store()
	eraseAt := func(wantDue bool, want time.Time) {
		t.Helper()
		when, due, err := s.Upkeep().EraseAt(ctx, now)
		check.That(t, due == wantDue && err == nil && (!due || when.Equal(want)), "%v, %v, %v", when, due, err)
	}
	eraseAt(false, now)
	play(t, c, "say 1-25")
	// One message in each hour of the day but the third, and one in the third long ago.
	today := now.Truncate(24 * time.Hour)
	storetest.Run(t, s, "UPDATE messages SET saved_at = ? + (seq - 2 + CASE WHEN seq = 5 THEN 1 ELSE 0 END) * 3600000", today.UnixMilli())
	storetest.Run(t, s, "UPDATE messages SET saved_at = ? WHERE seq = 1", today.AddDate(0, -1, 0).Add(3*time.Hour).UnixMilli())
	remove(t, c, 24)
	storetest.Run(t, s, "UPDATE unscrubbed SET id = ?", now.Add(-2*time.Hour).UnixMilli())
	eraseAt(true, at(5, 3))
	storetest.Run(t, s, "UPDATE unscrubbed SET id = ?", now.Add(-20*time.Hour).UnixMilli())
	eraseAt(true, now.Add(4*time.Hour))
	for wait, left := range []int{1, 1, 1, 1, 0} { // it waits for the quietest hour
		check.NoError(t, s.Upkeep().Run(ctx, store.Backups{}, now.Add(time.Duration(wait)*time.Hour)))
		wantErasures(t, s, left)
	}
}
