package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// restore puts a backup in the place of a database, and returns where that one is.
func restore(t *testing.T, dir, backup string) (aside string) {
	t.Helper()
	_, aside, err := store.Restore(ctx, dir, backup)
	check.NoError(t, err)
	return aside
}

func messagesIn(t *testing.T, s *store.Store) int {
	t.Helper()
	return number(t, s, "SELECT count(*) FROM messages")
}

func TestBackupAndRestore(t *testing.T) {
	storetest.SQLiteOnly(t, "files")
	dir := t.TempDir()
	folder := t.TempDir()
	s := storetest.OpenStore(t, dir)
	c := find(t, s, "terminal:general")
	deliver(t, c, said(1, "before the backup"), said(3, "deleted"))
	remove(t, c, 3)
	file := filepath.Join(folder, "a copy.db")
	copied := check.Must(s.Upkeep().Backup(ctx, file))(t)
	check.That(t, copied.Messages == 1 && copied.Conversations == 1 && copied.Bytes > 0, "got %+v", copied)
	was := dump(t, s)
	deliver(t, c, said(2, "after it"))
	// The backup is private and self-contained, and not overwritten.
	check.Len(t, "files", check.Must(os.ReadDir(folder))(t), 1)
	check.Equal(t, "permissions", check.Must(os.Stat(file))(t).Mode().Perm(), 0o600)
	check.Error(t, check.ErrorOf(s.Upkeep().Backup(ctx, file)), fs.ErrExist)
	check.Error(t, check.ErrorOf(s.Upkeep().Backup(ctx, filepath.Join(folder, "none", "x.db"))), fs.ErrNotExist)
	check.Equal(t, "backup", check.Must(store.Inspect(ctx, file))(t), copied)
	// No restore while a bot runs, and none of its database.
	_, _, err := store.Restore(ctx, dir, file)
	check.Error(t, err, store.ErrInUse)
	check.Equal(t, "messages", messagesIn(t, s), 3)
	_, _, err = store.Restore(ctx, t.TempDir(), store.File(dir))
	check.ErrorContains(t, "a database in use as a backup", err, "in use")
	s.Close()
	t.Run("a damaged backup changes nothing", func(t *testing.T) {
		whole := read(t, file)
		broken := t.TempDir()
		for name, text := range map[string]string{
			"cut": whole[:len(whole)/2], "torn": whole[:8192] + string(make([]byte, len(whole)-8192)), "text": "hello", "empty": "",
		} {
			write(t, broken, name, text)
			_, _, err := store.Restore(ctx, dir, filepath.Join(broken, name))
			check.That(t, errors.Is(err, store.ErrBadBackup), "%s: %v", name, err)
		}
		check.Len(t, "database and lock", check.Must(os.ReadDir(dir))(t), 2)
	})
	aside := restore(t, dir, file)
	check.Equal(t, "messages in the old database, beside it", check.Must(store.Inspect(ctx, aside))(t).Messages, 2)
	s = storetest.OpenStore(t, dir)
	check.Equal(t, "the database", dump(t, s), was)
	deliver(t, find(t, s, "terminal:general"), said(4, "and it goes on"))
	s.Close()
	fresh := filepath.Join(t.TempDir(), "new")
	check.Equal(t, "set aside in an empty folder", restore(t, fresh, file), "")
	check.Equal(t, "the database", dump(t, storetest.OpenStore(t, fresh)), was)
	write(t, dir, store.DatabaseName, strings.Repeat("no database ", 1000))
	check.That(t, restore(t, dir, file) != "", "a database that nobody can read is not set aside")
	check.Equal(t, "the database", dump(t, storetest.OpenStore(t, dir)), was)
}

// The log of the old database beside the new one would be replayed into it.
func TestRestoreRemovesOldLog(t *testing.T) {
	storetest.SQLiteOnly(t, "files")
	dir, log := left(t)
	s := storetest.OpenStore(t, dir)
	file := filepath.Join(t.TempDir(), "b.db")
	check.Must(s.Upkeep().Backup(ctx, file))(t)
	deliver(t, find(t, s, "terminal:general"), said(2, "two"))
	base := read(t, store.File(dir))
	tail := read(t, store.File(dir)+"-wal")
	s.Close()
	write(t, dir, store.DatabaseName, base) // as left by a kill
	write(t, dir, store.DatabaseName+"-wal", tail)
	check.Equal(t, "messages in the old database", check.Must(store.Inspect(ctx, restore(t, dir, file)))(t).Messages, 2)
	s = storetest.OpenStore(t, dir)
	check.Equal(t, "restored messages", messagesIn(t, s), 1)
	s.Close()
	// An emptied database is kept beside it with its log.
	write(t, dir, store.DatabaseName, "")
	write(t, dir, store.DatabaseName+"-wal", log)
	check.Equal(t, "the log", read(t, restore(t, dir, file)+"-wal") == log, true)
	check.Equal(t, "restored messages", messagesIn(t, storetest.OpenStore(t, dir)), 1)
}

// Backups made while the clock was wrong neither keep the bot from making others nor push those out.
func TestBackupsFromWrongClock(t *testing.T) {
	storetest.SQLiteOnly(t, "backups of its own")
	dir := t.TempDir()
	s := storetest.OpenStore(t, dir)
	b := backups(dir)
	check.NoError(t, s.Upkeep().Run(ctx, b, storetest.Day))
	made := check.Must(b.List(storetest.Day))(t)
	check.Len(t, "backups of an empty database", made, 0)
	deliver(t, find(t, s, "terminal:general"), said(1, "a"))
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

// Each copy of a bot that writes as fast as it can is whole, can be restored, and has what was accepted up to one moment:
// everything from before the copy, and no message without those before it.
func TestBackupDuringWrites(t *testing.T) {
	storetest.SQLiteOnly(t, "backups of its own")
	c := newTalk(t)
	var accepted, stopped atomic.Int64
	done := make(chan error)
	go func() {
		var err error
		for n := 1; err == nil && stopped.Load() == 0; n++ {
			err = check.ErrorOf(c.Inbox().Deliver(ctx, said(n, fmt.Sprint("message ", n))))
			if err == nil {
				accepted.Store(int64(n))
				err = check.ErrorOf(c.Inbox().Dequeue(ctx, store.All, 1<<30, time.Time{}))
			}
		}
		done <- err
	}()
	for i := range 2 {
		file := filepath.Join(t.TempDir(), fmt.Sprint(i))
		dir := t.TempDir()
		least := accepted.Load()
		check.Must(c.Store().Upkeep().Backup(ctx, file))(t)
		most := accepted.Load() + 1 // one may be on disk already
		restore(t, dir, file)
		restored := storetest.OpenStore(t, dir)
		taken := find(t, restored, "terminal:general")
		deliver(t, taken)
		all := check.Must(taken.Transcript().Page(ctx, 1, 1<<20))(t)
		n := int64(len(all))
		check.Require(t, n >= least && n <= most, "got %d messages, want %d to %d", n, least, most)
		for i, m := range all {
			check.Equal(t, fmt.Sprint("place ", i+1), m.Text, fmt.Sprint("message ", i+1))
		}
		wantSound(t, restored)
	}
	stopped.Store(1)
	check.NoError(t, <-done)
}

// left returns what a killed bot leaves: a database, and a log with the last messages.
func left(t *testing.T) (dir, log string) {
	t.Helper()
	dir = t.TempDir()
	s := storetest.OpenStore(t, dir)
	deliver(t, find(t, s, "terminal:general"), said(1, "I like tea"))
	base := read(t, store.File(dir))
	log = read(t, store.File(dir)+"-wal")
	check.Require(t, log != "", "got no log")
	s.Close()
	write(t, dir, store.DatabaseName, base)
	write(t, dir, store.DatabaseName+"-wal", log)
	return dir, log
}

func wantRefused(t *testing.T, dir string, words ...string) {
	t.Helper()
	err := check.ErrorOf(store.Open(ctx, store.Options{Dir: dir}))
	check.Require(t, errors.Is(err, store.ErrDamaged), "got %v", err)
	check.Contains(t, "error", err.Error(), words...)
	check.Error(t, check.ErrorOf(store.Inspect(ctx, store.File(dir))), store.ErrDamaged)
}

func TestMissingDatabaseIsNotReplaced(t *testing.T) {
	storetest.SQLiteOnly(t, "files")
	dir, log := left(t)
	base := read(t, store.File(dir))
	write(t, dir, store.DatabaseName, "")
	for range 2 { // each call reports it
		wantRefused(t, dir, "put it back, or move the log away")
	}
	check.Equal(t, "log", read(t, store.File(dir)+"-wal") == log, true)
	check.NoError(t, os.Remove(store.File(dir)))
	wantRefused(t, dir, "put it back, or move the log away")
	write(t, dir, store.DatabaseName, base)
	s := storetest.OpenStore(t, dir)
	check.Equal(t, "messages when it is back", messagesIn(t, s), 1)
	s.Close()
	write(t, dir, store.DatabaseName, "")
	wantRefused(t, dir, "nothing was changed: the file is empty")
	check.Equal(t, "file", read(t, store.File(dir)), "")
	// A database deleted with its log is created anew, also by one that was killed then.
	check.NoError(t, os.Remove(store.File(dir)))
	write(t, dir, store.DatabaseName+".new", "")
	check.NoError(t, check.Must(store.Open(ctx, store.Options{Dir: dir}))(t).Close())
	// A replacement leaves no moment without a database.
	aside := check.Must(store.PutAside(ctx, store.File(dir)))(t)
	for _, path := range []string{aside, store.File(dir)} {
		check.NoError(t, check.ErrorOf(store.Inspect(ctx, path)))
	}
}

func TestFilesOfRootBelongToTheFoldersOwner(t *testing.T) {
	const nobody = 65534
	dir := t.TempDir()
	if os.Geteuid() != 0 || os.Chown(dir, nobody, nobody) != nil {
		t.Skip("only root gives files away")
	}
	check.NoError(t, check.Must(store.Open(ctx, store.Options{Dir: dir}))(t).Close())
	for _, name := range []string{store.DatabaseName, store.LockName} {
		check.Equal(t, fmt.Sprintf("owner of %s", name), check.Must(os.Stat(dir+"/"+name))(t).Sys().(*syscall.Stat_t).Uid, nobody)
	}
}

// A second bot is refused with the first one's name; a reader is not.
func TestLockNamesItsHolder(t *testing.T) {
	storetest.SQLiteOnly(t, "a lock")
	dir := t.TempDir()
	s := storetest.OpenStore(t, dir)
	err := check.ErrorOf(store.Open(ctx, store.Options{Dir: dir}))
	check.Error(t, err, store.ErrInUse)
	check.ErrorContains(t, "error", err, "process "+strconv.Itoa(os.Getpid())+" holds ")
	openShared(t, dir)
	write(t, dir, store.LockName, "17\nholds a database") // an older cairn's file has a second line
	check.ErrorContains(t, "error", check.ErrorOf(store.Open(ctx, store.Options{Dir: dir})), "process 17 holds ")
	check.NoError(t, s.Close())
	// A killed bot's files name a live process, as process numbers are reused.
	write(t, dir, store.LockName, strconv.Itoa(os.Getppid())+"\n")
	storetest.OpenStore(t, dir)
}

// TestMissingDatabaseRefusesWrites: writes to an unlinked file are lost when the bot stops.
func TestMissingDatabaseRefusesWrites(t *testing.T) {
	storetest.SQLiteOnly(t, "files")
	for claim, replace := range map[string]func(path string) error{
		"deleted": os.Remove,
		"away":    func(path string) error { return os.Rename(path, path+".away") },
		"replaced by another": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, []byte("SQLite format 3\x00"), 0o600))
		},
		"in a folder that is gone": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
	} {
		t.Run(claim, func(t *testing.T) {
			c := newTalk(t)
			s := c.Store()
			deliverOnly(t, c, said(1, "before"))
			check.NoError(t, s.Upkeep().Writable(ctx))
			check.NoError(t, replace(s.Path()))
			check.Error(t, s.Upkeep().Writable(ctx), store.ErrReplaced)
			check.Error(t, check.ErrorOf(c.Inbox().Deliver(ctx, said(2, "after"))), store.ErrReplaced)
			check.Error(t, check.ErrorOf(s.Conversation(ctx, "terminal:new")), store.ErrReplaced)
			if claim == "away" { // the bot continues when the database is back
				check.NoError(t, os.Rename(s.Path()+".away", s.Path()))
				check.EqualAll(t, "dequeued", texts(deliver(t, c, said(2, "after"))), []string{"before", "after"})
			}
		})
	}
}
