package store_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// writeAt overwrites a file from an offset on: it stays the same file.
func writeAt(offset int64) func(path string) error {
	return func(path string) error {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = file.WriteAt([]byte(strings.Repeat("hello ", 200_000)), offset)
		return errors.Join(err, file.Close())
	}
}

// What others do to the file of a running bot is noticed, and then nothing is accepted.
func TestDatabaseFileOfARunningBot(t *testing.T) {
	storetest.SQLiteOnly(t, "files")
	older := newTalk(t)
	deliverOnly(t, older, said(1, "older"))
	check.NoError(t, older.Store().Upkeep().Vacuum(ctx))
	check.NoError(t, older.Store().Close())
	for name, c := range map[string]struct {
		do   func(path string) error
		want error
	}{
		"unchanged":                    {func(string) error { return nil }, nil},
		"overwritten":                  {writeAt(0), store.ErrDamaged},
		"overwritten behind its start": {writeAt(8192), store.ErrDamaged},
		"emptied":                      {func(path string) error { return os.Truncate(path, 0) }, store.ErrDamaged},
		"cut short":                    {func(path string) error { return os.Truncate(path, 8192) }, store.ErrDamaged},
		"overwritten by another database": {func(path string) error {
			content, err := os.ReadFile(older.Store().Path())
			return errors.Join(err, os.WriteFile(path, content, 0o600))
		}, store.ErrDamaged},
		"deleted":         {os.Remove, store.ErrReplaced},
		"its log deleted": {func(path string) error { return os.Remove(path + "-wal") }, store.ErrReplaced},
	} {
		t.Run(name, func(t *testing.T) {
			conv := newTalk(t)
			s := conv.Store()
			for i := range 300 {
				deliver(t, conv, said(i+1, strings.Repeat("word ", 100)))
			}
			check.NoError(t, s.Upkeep().Intact(ctx))
			check.NoError(t, c.do(s.Path()))
			began := time.Now()
			err := s.Upkeep().Intact(ctx)
			t.Logf("%v: %v", time.Since(began), err)
			if c.want == nil {
				check.NoError(t, err)
				return
			}
			check.Error(t, err, c.want)
			check.Error(t, check.ErrorOf(conv.Inbox().Deliver(ctx, said(1000, "after"))), c.want)
			check.Error(t, s.Upkeep().Readable(ctx), c.want)
			check.Error(t, s.Upkeep().InPlace(), c.want)
		})
	}
}

// The first read that meets damage is remembered: the bot is not ready from then on, though other pages can still be read.
func TestDamageThatAReadMeets(t *testing.T) {
	storetest.SQLiteOnly(t, "files")
	conv := newTalk(t)
	s := conv.Store()
	for i := range 300 {
		deliver(t, conv, said(i+1, strings.Repeat("word ", 100)))
	}
	check.NoError(t, s.EmptyLog(ctx))
	check.NoError(t, s.Upkeep().Damage())
	check.NoError(t, writeAt(8192)(s.Path()))
	check.NoError(t, s.Upkeep().Writable(ctx))
	check.NoError(t, s.Upkeep().Damage())
	check.Error(t, check.ErrorOf(s.Upkeep().Check(ctx)), store.ErrDamaged)
	check.Error(t, s.Upkeep().Damage(), store.ErrDamaged)
	check.NoError(t, s.Upkeep().Writable(ctx))
	check.NoError(t, s.Upkeep().InPlace())
}
