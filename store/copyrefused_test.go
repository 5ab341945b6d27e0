package store_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/pgtest"
	"cairn/testkit/storetest"
)

// smallStore makes a store with a conversation of two messages, and returns where it is.
func smallStore(t *testing.T) store.Options {
	t.Helper()
	storetest.SQLiteOnly(t, "a file")
	o := store.Options{Dir: t.TempDir()}
	s := check.Must(store.Open(ctx, o))(t)
	deliver(t, find(t, s, "terminal:general"), said(1, "I have a dog"), said(2, "and I a cat"))
	check.NoError(t, s.Close())
	return o
}

// refused wants a copy to fail with an error and words.
func refused(t *testing.T, from, to store.Options, want error, words ...string) {
	t.Helper()
	_, err := store.Copy(ctx, from, to, quiet)
	if want != nil {
		check.Error(t, err, want)
	}
	check.ErrorContains(t, "a copy", err, words...)
}

// startOn opens a store as a bot does, until stop is called.
func startOn(t *testing.T, o store.Options) (stop func()) {
	t.Helper()
	s := check.Must(store.Open(ctx, o))(t)
	if o.Postgres == "" {
		return func() { check.NoError(t, s.Close()) }
	}
	l := check.Must(s.Processes().Join(ctx, store.Process{Name: "host:1"}, time.Hour))(t)
	renewing, end := context.WithCancel(ctx)
	var renewer sync.WaitGroup
	renewer.Go(func() {
		for renewing.Err() == nil {
			_, _ = l.Renew(ctx)
			time.Sleep(100 * time.Millisecond)
		}
	})
	return func() {
		end()
		renewer.Wait()
		check.NoError(t, errors.Join(l.End(ctx), s.Close()))
	}
}

func copyRefusesSources(t *testing.T, empty func(*testing.T) store.Options) {
	here := smallStore(t)
	there := empty(t)
	refused(t, empty(t), there, store.ErrNotFound, "there is no data yet")
	bot := startOn(t, here)
	refused(t, here, there, store.ErrInUse, "stop it")
	bot()
	beside := openShared(t, here.Dir)
	copyTo(t, here, there)
	check.NoError(t, beside.Close())
	bot = startOn(t, there)
	refused(t, here, there, store.ErrInUse, "stop it")
	bot()
	restore := store.AddMigrations("CREATE TABLE more (id INTEGER PRIMARY KEY) STRICT;")
	refused(t, there, empty(t), nil, "an older cairn wrote it: start the bot once to upgrade it")
	refused(t, empty(t), there, store.ErrNotFound)
	restore()
	copyTo(t, there, empty(t)) // it was not upgraded
}

func copyRefusesTargets(t *testing.T, empty func(*testing.T) store.Options) {
	here := smallStore(t)
	there := empty(t)
	copyTo(t, here, there)
	refused(t, here, there, store.ErrNotEmpty, "name a database without data")
	restore := store.AddMigrations("CREATE TABLE more (id INTEGER PRIMARY KEY) STRICT;")
	refused(t, here, there, nil, "an older cairn wrote it")
	restore()
	half := empty(t)
	check.That(t, !stopped(t, here, half, steps(5)), "the copy was finished")
	const words = "it is an unfinished copy of "
	place := store.File(here.Dir) + ": run the same `cairn copy` again, or delete it and copy anew"
	refused(t, smallStore(t), half, store.ErrUnfinished, words+place)
	refused(t, half, empty(t), store.ErrUnfinished, words+place)
	for _, shared := range []bool{false, true} {
		half.Shared = shared
		err := check.ErrorOf(store.Open(ctx, half))
		check.Error(t, err, store.ErrUnfinished)
		check.ErrorContains(t, "a start of the bot", err, words+place)
	}
	half.Shared = false
	if half.Postgres != "" {
		check.ErrorContains(t, "doctor", check.ErrorOf(store.ExamineServer(ctx, half.Postgres, half.Schema)), words+place)
	} else {
		check.ErrorContains(t, "doctor", check.ErrorOf(store.Inspect(ctx, store.File(half.Dir))), words+place)
		_, _, err := store.Restore(ctx, t.TempDir(), store.File(half.Dir))
		check.ErrorContains(t, "a restore", err, words+place)
	}
	copyTo(t, here, half)
	check.NoError(t, check.Must(store.Open(ctx, half))(t).Close())
}

func TestCopyRefuses(t *testing.T) {
	for name, empty := range map[string]func(*testing.T) store.Options{"SQLite": onSQLite, "PostgreSQL": onPostgres} {
		t.Run("a source, "+name, func(t *testing.T) { copyRefusesSources(t, empty) })
		t.Run("a target, "+name, func(t *testing.T) { copyRefusesTargets(t, empty) })
	}
}

// changing runs a statement on the target of a copy that is stopped before its rows are compared, and returns the error of the next one.
func changing(t *testing.T, here, there store.Options, statement string) error {
	t.Helper()
	check.That(t, !stopped(t, here, there, func(p store.CopyProgress) bool { return p.Compared }), "the copy was finished")
	if there.Postgres == "" {
		runScripts(t, there.Dir, statement)
	} else {
		database := strings.Split(strings.Split(there.Postgres, "@/")[1], "?")[0]
		check.NoError(t, pgtest.Shared(t).Run(database, "SET search_path = cairn; "+statement))
	}
	return check.ErrorOf(store.Copy(ctx, here, there, quiet))
}

func TestCopyFindsDifferences(t *testing.T) {
	const row = "the row with conversation 1, term cat, seq 2 in the source, "
	for statement, words := range map[string][]string{
		"UPDATE messages SET text = 'I have a cat' WHERE seq = 1": {
			"the table messages differs: the source has 2 rows with the digest ", ", the copy 2 with ", "the row with id 4294967297 in the source, the row with id 4294967297 in the copy",
		},
		"UPDATE message_terms SET tf = 2 WHERE term = 'cat'":       {"the table message_terms differs: ", row + "the row with conversation 1, term cat, seq 2 in the copy; delete the copy"},
		"UPDATE message_terms SET term = 'cau' WHERE term = 'cat'": {row + "the row with conversation 1, term cau, seq 2 in the copy"},
		"DELETE FROM message_terms WHERE term = 'cat'":             {"the source or the copy has changed since the copy began, in the table message_terms"},
		"INSERT INTO models (name, updated_at) VALUES ('m', 1)":    {"has changed since the copy began, in the table models: delete the copy"},
		"INSERT INTO members VALUES (1, 'z', 'z', 'z')":            {"has changed since the copy began, in the table members"},
		"DELETE FROM message_terms WHERE term > 'cat'":             nil, // the copy goes on from there
	} {
		targets := map[string]func(*testing.T) store.Options{"SQLite": onSQLite}
		if strings.HasPrefix(statement, "UPDATE") {
			targets["PostgreSQL"] = onPostgres
		}
		for name, empty := range targets {
			t.Run(name+": "+statement, func(t *testing.T) {
				there := empty(t)
				err := changing(t, smallStore(t), there, statement)
				if words == nil {
					check.NoError(t, err)
					return
				}
				check.ErrorContains(t, "a copy", err, words...)
				check.Error(t, check.ErrorOf(store.Open(ctx, there)), store.ErrUnfinished)
			})
		}
	}
}
