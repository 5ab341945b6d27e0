package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

// left returns what a killed bot leaves: a database, and a log with the last messages.
func left(t *testing.T) (dir, log string) {
	t.Helper()
	dir = t.TempDir()
	s := storetest.OpenStore(t, dir)
	deliver(t, find(t, s, "terminal:general"), said(1, "I like tea"))
	base, log := read(t, store.File(dir)), read(t, store.File(dir)+"-wal")
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
	dir, log := left(t)
	base := read(t, store.File(dir))
	write(t, dir, store.DatabaseName, "")
	for range 2 { // each call reports it
		wantRefused(t, dir, "bring it back, or move the log away")
	}
	check.Equal(t, "log", read(t, store.File(dir)+"-wal") == log, true)
	check.NoError(t, os.Remove(store.File(dir)))
	wantRefused(t, dir, "bring it back, or move the log away")
	write(t, dir, store.DatabaseName, base)
	s := storetest.OpenStore(t, dir)
	check.Equal(t, "messages when it is back", messagesIn(t, s), 1)
	s.Close()
	write(t, dir, store.DatabaseName, "")
	wantRefused(t, dir, "the file is empty", "`cairn doctor`", "`cairn restore FILE`")
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
		info := check.Must(os.Stat(dir + "/" + name))(t)
		check.Equal(t, fmt.Sprintf("owner of %s", name), info.Sys().(*syscall.Stat_t).Uid, nobody)
	}
}

// A second bot is refused with the first one's name; a reader is not.
func TestLockNamesItsHolder(t *testing.T) {
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
