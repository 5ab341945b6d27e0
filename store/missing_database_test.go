package store_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

// left returns what a killed bot leaves: a database, and a log with the last messages.
func left(t *testing.T) (dir string, log []byte) {
	t.Helper()
	dir = t.TempDir()
	s := storetest.OpenStore(t, dir)
	storetest.Deliver(t, storetest.Find(t, s, "terminal:general"), storetest.Said(1, "I like tea"))
	log, err := os.ReadFile(store.File(dir) + "-wal")
	if err != nil || len(log) == 0 {
		t.Fatal("got no log", err)
	}
	base := check.Must(os.ReadFile(store.File(dir)))(t)
	s.Close()
	write(t, dir, store.DatabaseName, string(base))
	write(t, dir, store.DatabaseName+"-wal", string(log))
	return dir, log
}

func wantRefused(t *testing.T, dir string, words ...string) {
	t.Helper()
	_, err := store.Open(ctx, store.Options{Dir: dir})
	check.Require(t, errors.Is(err, store.ErrDamaged), "got %v", err)
	for _, word := range words {
		check.That(t, strings.Contains(err.Error(), word), "got no %q in %v", word, err)
	}
}

func TestMissingDatabaseIsNotReplaced(t *testing.T) {
	t.Run("an emptied file", func(t *testing.T) {
		dir := t.TempDir()
		storetest.OpenStore(t, dir).Close()
		write(t, dir, store.DatabaseName, "")
		wantRefused(t, dir, "the file is empty", "`cairn doctor`", "`cairn restore FILE`")
		wantRefused(t, dir, "the file is empty") // as each call reports
		check.Equal(t, "size", check.Must(os.Stat(store.File(dir)))(t).Size(), 0)
	})
	t.Run("an emptied file with its log", func(t *testing.T) {
		dir, log := left(t)
		write(t, dir, store.DatabaseName, "")
		check.Error(t, check.ErrorOf(store.Inspect(ctx, store.File(dir))), store.ErrDamaged)
		wantRefused(t, dir, "bring it back, or move the log away")
		check.Equal(t, "log", string(check.Must(os.ReadFile(store.File(dir)+"-wal"))(t)) == string(log), true)
	})
	t.Run("a missing file with its log", func(t *testing.T) {
		dir, _ := left(t)
		base := read(t, store.File(dir))
		check.NoError(t, os.Remove(store.File(dir)))
		wantRefused(t, dir, "bring it back, or move the log away")
		check.Error(t, check.ErrorOf(store.Inspect(ctx, store.File(dir))), store.ErrDamaged)
		write(t, dir, store.DatabaseName, base)
		check.Equal(t, "messages after the restore", storetest.Number(t, storetest.OpenStore(t, dir), "SELECT count(*) FROM messages"), 1)
	})
	t.Run("a backup replaces it, and the rest is kept beside it", func(t *testing.T) {
		dir, log := left(t)
		file := dir + "/b.db"
		s := storetest.OpenStore(t, dir)
		check.Must(s.Upkeep().Backup(ctx, file))(t)
		s.Close()
		write(t, dir, store.DatabaseName, "")
		write(t, dir, store.DatabaseName+"-wal", string(log))
		aside := restore(t, dir, file)
		check.Equal(t, "the log is missing", string(check.Must(os.ReadFile(aside+"-wal"))(t)) == string(log), true)
		check.Equal(t, "messages", storetest.Number(t, storetest.OpenStore(t, dir), "SELECT count(*) FROM messages"), 1)
	})
}

func TestDatabaseCreation(t *testing.T) {
	t.Run("a database deleted with its log is created anew, also by one that was killed then", func(t *testing.T) {
		dir := t.TempDir()
		storetest.OpenStore(t, dir).Close()
		check.NoError(t, os.Remove(store.File(dir)))
		write(t, dir, store.DatabaseName+".new", "")
		check.NoError(t, check.Must(store.Open(ctx, store.Options{Dir: dir}))(t).Close())
	})
	t.Run("a replacement leaves no moment without a database", func(t *testing.T) {
		dir := t.TempDir()
		storetest.OpenStore(t, dir).Close()
		aside := check.Must(store.PutAside(ctx, store.File(dir)))(t)
		for _, path := range []string{aside, store.File(dir)} {
			check.NoError(t, check.ErrorOf(store.Inspect(ctx, path)))
		}
	})
	t.Run("files created by root belong to the folder's owner", func(t *testing.T) {
		const nobody = 65534
		dir := t.TempDir()
		if os.Geteuid() != 0 || os.Chown(dir, nobody, nobody) != nil {
			t.Skip("only root gives files away")
		}
		check.NoError(t, check.Must(store.Open(ctx, store.Options{Dir: dir}))(t).Close())
		for _, name := range []string{store.DatabaseName, store.LockName} {
			info := check.Must(os.Stat(dir + "/" + name))(t)
			check.Equal(t, fmt.Sprintf("owner of %s", name), info.Sys().(*syscall.Stat_t).Uid, nobody)
		}
	})
}

// A second bot is refused with the first one's name; a reader is not.
func TestLockNamesItsHolder(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		s := storetest.OpenStore(t, dir)
		_, err := store.Open(ctx, store.Options{Dir: dir})
		check.Error(t, err, store.ErrInUse)
		check.Contains(t, "error", err.Error(), "process "+strconv.Itoa(os.Getpid())+" holds ")
		check.NoError(t, check.Must(store.Open(ctx, store.Options{Dir: dir, Shared: true}))(t).Close())
		check.NoError(t, s.Close())
	}
	// An older cairn's file has a second line.
	s := storetest.OpenStore(t, dir)
	write(t, dir, store.LockName, "17\nholds a database")
	check.Contains(t, "error", check.ErrorOf(store.Open(ctx, store.Options{Dir: dir})).Error(), "process 17 holds ")
	check.NoError(t, s.Close())
	// A killed bot's files name a live process, as process numbers are reused.
	write(t, dir, store.LockName, strconv.Itoa(os.Getppid())+"\n")
	storetest.OpenStore(t, dir)
}

// TestMissingDatabaseRefusesWrites: writes to an unlinked file are lost when the bot stops.
func TestMissingDatabaseRefusesWrites(t *testing.T) {
	for claim, replace := range map[string]func(path string) error{
		"deleted": os.Remove,
		"replaced by another": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, []byte("SQLite format 3\x00"), 0o600))
		},
		"in a folder that is gone": func(path string) error { return os.RemoveAll(path[:len(path)-len("/"+store.DatabaseName)]) },
	} {
		t.Run(claim, func(t *testing.T) {
			s := storetest.OpenStore(t, t.TempDir())
			c := storetest.Find(t, s, "terminal:general")
			storetest.DeliverOnly(t, c, storetest.Said(1, "before"))
			check.NoError(t, s.Upkeep().Writable(ctx))
			check.NoError(t, replace(s.Path()))
			check.Error(t, s.Upkeep().Writable(ctx), store.ErrReplaced)
			if r, err := c.Inbox().Deliver(ctx, storetest.Said(2, "after")); !errors.Is(err, store.ErrReplaced) {
				t.Errorf("got an accepted message: %+v, %v", r, err)
			}
			check.Error(t, check.ErrorOf(s.Conversation(ctx, "terminal:new")), store.ErrReplaced)
		})
	}
	t.Run("the bot continues when the database is back", func(t *testing.T) {
		s := storetest.OpenStore(t, t.TempDir())
		c := storetest.Find(t, s, "terminal:general")
		check.NoError(t, os.Rename(s.Path(), s.Path()+".away"))
		if _, err := c.Inbox().Deliver(ctx, storetest.Said(1, "hello")); !errors.Is(err, store.ErrReplaced) {
			t.Fatalf("got %v", err)
		}
		check.NoError(t, os.Rename(s.Path()+".away", s.Path()))
		check.Equal(t, "dequeued", len(storetest.Deliver(t, c, storetest.Said(1, "hello"))), 1)
	})
}
