package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

// restore puts a backup in the place of a database, and returns where that one is.
func restore(t *testing.T, dir, backup string) (aside string) {
	t.Helper()
	_, aside, err := store.Restore(ctx, dir, backup)
	check.NoError(t, err)
	return aside
}

func TestBackupAndRestore(t *testing.T) {
	dir, folder := t.TempDir(), t.TempDir()
	s := storetest.OpenStore(t, dir)
	c := storetest.Find(t, s, "terminal:general")
	storetest.Deliver(t, c, storetest.Said(1, "before the backup"))
	file := filepath.Join(folder, "a copy.db")
	copied, err := s.Upkeep().Backup(ctx, file)
	if err != nil || copied.Messages != 1 || copied.Conversations != 1 || copied.Bytes == 0 {
		t.Fatalf("%+v, %v", copied, err)
	}
	was := storetest.Dump(t, s)
	storetest.Deliver(t, c, storetest.Said(2, "after it"))
	t.Run("the backup is private and self-contained", func(t *testing.T) {
		entries, err := os.ReadDir(folder)
		if err != nil || len(entries) != 1 {
			t.Fatal(entries, err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Error(info.Mode(), err)
		}
	})
	t.Run("an existing file is not overwritten", func(t *testing.T) {
		check.Error(t, check.ErrorOf(s.Upkeep().Backup(ctx, file)), fs.ErrExist)
		check.Error(t, check.ErrorOf(s.Upkeep().Backup(ctx, filepath.Join(folder, "none", "x.db"))), fs.ErrNotExist)
		check.Equal(t, "answer", check.Must(store.Inspect(ctx, file))(t), copied)
	})
	t.Run("no restore while a bot runs", func(t *testing.T) {
		_, _, err := store.Restore(ctx, dir, file)
		check.Error(t, err, store.ErrInUse)
		check.Equal(t, "messages", storetest.Number(t, s, "SELECT count(*) FROM messages"), 2)
	})
	t.Run("a database in use is not accepted as a backup", func(t *testing.T) {
		if _, _, err := store.Restore(ctx, t.TempDir(), filepath.Join(dir, store.DatabaseName)); err == nil || !strings.Contains(err.Error(), "in use") {
			t.Error(err)
		}
	})
	s.Close()
	t.Run("a damaged backup changes nothing", func(t *testing.T) {
		whole := check.Must(os.ReadFile(file))(t)
		for name, bytes := range map[string][]byte{
			"cut": whole[:len(whole)/2], "torn": append(append([]byte{}, whole[:8192]...), make([]byte, len(whole)-8192)...), "text": []byte("hello"), "empty": nil,
		} {
			broken := filepath.Join(t.TempDir(), name)
			check.NoError(t, os.WriteFile(broken, bytes, 0o600))
			if _, _, err := store.Restore(ctx, dir, broken); !errors.Is(err, store.ErrBadBackup) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 { // database and lock
			t.Error(entries, err)
		}
	})
	aside := restore(t, dir, file)
	t.Run("the old database is kept beside it", func(t *testing.T) {
		check.Equal(t, "answer", check.Must(store.Inspect(ctx, aside))(t).Messages, 2)
	})
	s = storetest.OpenStore(t, dir)
	check.Equal(t, "the database", storetest.Dump(t, s), was)
	storetest.Deliver(t, storetest.Find(t, s, "terminal:general"), storetest.Said(3, "and it goes on"))
	s.Close()
	t.Run("into an empty folder", func(t *testing.T) {
		fresh := filepath.Join(t.TempDir(), "new")
		if _, aside, err := store.Restore(ctx, fresh, file); err != nil || aside != "" {
			t.Fatal(aside, err)
		}
		check.Equal(t, "answer", storetest.Dump(t, storetest.OpenStore(t, fresh)), was)
	})
	t.Run("over a database that nobody can read", func(t *testing.T) {
		check.NoError(t, os.WriteFile(filepath.Join(dir, store.DatabaseName), []byte(strings.Repeat("no database ", 1000)), 0o600))
		if _, aside, err := store.Restore(ctx, dir, file); err != nil || aside == "" {
			t.Fatal(aside, err)
		}
		check.Equal(t, "answer", storetest.Dump(t, storetest.OpenStore(t, dir)), was)
	})
}

// The log of the old database beside the new one would be replayed into it.
func TestRestoreRemovesOldLog(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "b.db")
	s := storetest.OpenStore(t, dir)
	storetest.Deliver(t, storetest.Find(t, s, "terminal:general"), storetest.Said(1, "one"))
	check.Must(s.Upkeep().Backup(ctx, file))(t)
	storetest.Deliver(t, storetest.Find(t, s, "terminal:general"), storetest.Said(2, "two"))
	path := filepath.Join(dir, store.DatabaseName)
	log, err := os.ReadFile(path + "-wal")
	if err != nil || len(log) == 0 {
		t.Fatal("got no log", err)
	}
	base := check.Must(os.ReadFile(path))(t)
	s.Close()
	// As left by a kill.
	check.NoError(t, errors.Join(os.WriteFile(path, base, 0o600), os.WriteFile(path+"-wal", log, 0o600)))
	aside := restore(t, dir, file)
	check.Equal(t, "restored messages", storetest.Number(t, storetest.OpenStore(t, dir), "SELECT count(*) FROM messages"), 1)
	check.Equal(t, "old database", check.Must(store.Inspect(ctx, aside))(t).Messages, 2)
}

func TestFirstBackupWaitsForMessages(t *testing.T) {
	dir := t.TempDir()
	s := storetest.OpenStore(t, dir)
	check.NoError(t, s.Upkeep().Run(ctx, backups(dir), time.Now()))
	check.Len(t, "backups of an empty database", check.Must(backups(dir).List(time.Now()))(t), 0)
	c := storetest.Find(t, s, "terminal:general")
	storetest.Deliver(t, c, storetest.Said(1, "a"), storetest.Said(2, "b"))
	storetest.Remove(t, c, 2)
	check.NoError(t, s.Upkeep().Run(ctx, backups(dir), time.Now()))
	made := check.Must(backups(dir).List(time.Now()))(t)
	check.Len(t, "backups", made, 1)
	check.Equal(t, "messages, deleted ones not counted", check.Must(store.Inspect(ctx, made[0]))(t).Messages, 1)
}

// Each copy of a bot that writes as fast as it can is whole, can be restored, and has what was
// accepted up to one moment: everything from before the copy, and no message without those before
// it.
func TestBackupDuringWrites(t *testing.T) {
	s := storetest.OpenStore(t, t.TempDir())
	c := storetest.Find(t, s, "terminal:general")
	var accepted atomic.Int64
	done, stop := make(chan error), make(chan struct{})
	go func() {
		for n := 1; ; n++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if _, err := c.Inbox().Deliver(ctx, storetest.Said(n, fmt.Sprint("message ", n))); err != nil {
				done <- err
				return
			}
			accepted.Store(int64(n))
			if _, err := c.Inbox().Dequeue(ctx, store.All, 1<<30, time.Time{}); err != nil {
				done <- err
				return
			}
		}
	}()
	for i := range 3 {
		file, dir := filepath.Join(t.TempDir(), fmt.Sprint(i)), t.TempDir()
		least := accepted.Load()
		check.Must(s.Upkeep().Backup(ctx, file))(t)
		most := accepted.Load() + 1 // one may be on disk already
		restore(t, dir, file)
		restored := storetest.OpenStore(t, dir)
		taken := storetest.Find(t, restored, "terminal:general")
		check.Must(taken.Inbox().Dequeue(ctx, store.All, 1<<30, time.Time{}))(t)
		all, err := taken.Transcript().Page(ctx, 1, 1<<20)
		if n := int64(len(all)); err != nil || n < least || n > most {
			t.Fatalf("got %d messages, want %d to %d, %v", n, least, most, err)
		}
		for i, m := range all {
			if want := fmt.Sprint("message ", i+1); m.Text != want {
				t.Fatalf("message %d: got %q", i+1, m.Text)
			}
		}
		wantSound(t, restored)
	}
	close(stop)
	check.NoError(t, <-done)
}
