package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/store"
	"cairn/store/postgres"
	"cairn/testkit/check"
	"cairn/testkit/pgtest"
	"cairn/testkit/storetest"
)

// onServer opens the store of a database for a bot.
func onServer(address string) (*store.Store, error) {
	return store.Open(ctx, store.Options{Postgres: address, Schema: "cairn"})
}

// Several processes may start on an empty database, or after an update of the program, at the same moment.
func TestProcessesStartTogether(t *testing.T) {
	const size = 6
	c := pgtest.New(t)
	start := func(what, database string) {
		t.Helper()
		var wait sync.WaitGroup
		failed := make([]error, size)
		for i := range size {
			wait.Go(func() {
				s, err := onServer(c.Address(database))
				if err == nil {
					err = s.Close()
				}
				failed[i] = err
			})
		}
		wait.Wait()
		err := errors.Join(failed...)
		check.That(t, err == nil, "a database that is %s: %v", what, err)
	}
	for n := range 3 {
		database := fmt.Sprint("fresh", n)
		check.NoError(t, c.Run("postgres", "CREATE DATABASE "+database))
		start("empty", database)
		restore := store.AddMigrations("-- Additive: nobody reads it yet.\nCREATE TABLE notes (\n  id INTEGER PRIMARY KEY AUTOINCREMENT\n) STRICT;")
		start("of an older version", database)
		restore()
	}
}

// wantWords fails unless opening a store at an address fails with words, and without the password "hush-hush".
func wantWords(t *testing.T, address string, words ...string) error {
	t.Helper()
	s, err := onServer(address)
	if err == nil {
		t.Errorf("%s opens; want the error %q", address, words)
		check.NoError(t, s.Close())
		return nil
	}
	check.Contains(t, "the error", err.Error(), words...)
	check.Lacks(t, "the error", err.Error(), "hush")
	_, err = store.ExamineServer(ctx, address, "cairn")
	check.That(t, err != nil, "doctor finds nothing wrong with %s", words)
	check.Contains(t, "doctor's error", fmt.Sprint(err), words...)
	check.Lacks(t, "doctor's error", fmt.Sprint(err), "hush")
	return err
}

func TestFailuresOfPostgresInWords(t *testing.T) {
	t.Parallel()
	c := pgtest.New(t)
	run := func(database, script string) {
		t.Helper()
		check.NoError(t, c.Run(database, script))
	}
	wantWords(t, "mysql://ann:hush-hush@host/database", "must look like", "postgres://user@host/database")
	wantWords(t, "postgres://ann:hush-%zz-hush@host/database", "write other characters", "%40 for @")
	wantWords(t, "postgres://ann:hush-hush@127.0.0.1/database?sslmode=sure", "sslmode is invalid")
	wantWords(t, "postgres://ann:hush-hush@127.0.0.1:1/database", "nothing listens at postgres://ann@127.0.0.1:1/database")
	wantWords(t, "postgres://ann:hush-hush@nowhere.invalid/database", "nowhere.invalid")
	wantWords(t, c.Address("missing"), "the server has no database missing", "CREATE DATABASE")

	run("postgres", "CREATE USER ann PASSWORD 'rose'")
	check.NoError(t, c.Write("pg_hba.conf", "local all cairn trust\nlocal all ann scram-sha-256\n"))
	run("postgres", "SELECT pg_reload_conf()")
	time.Sleep(200 * time.Millisecond) // the server reads the file
	wantWords(t, c.AddressOf("ann:hush-hush", "postgres"), "the server refuses the user ann", "password")
	wantWords(t, c.AddressOf("ann:rose", "postgres"), "the user ann may not create or use the schema cairn", "CREATE SCHEMA cairn AUTHORIZATION ann")
	run("postgres", "CREATE SCHEMA cairn")
	wantWords(t, c.AddressOf("ann:rose", "postgres"), "the user ann may not create or use the schema cairn", "ALTER SCHEMA cairn OWNER TO ann")
	run("postgres", "DROP SCHEMA cairn")
	run("postgres", "CREATE SCHEMA cairn AUTHORIZATION ann")
	check.NoError(t, check.Must(onServer(c.AddressOf("ann:rose", "postgres")))(t).Close())

	run("postgres", "CREATE DATABASE other")
	run("other", "CREATE SCHEMA cairn")
	run("other", "CREATE TABLE cairn.orders (id BIGINT)")
	wantWords(t, c.Address("other"), "has tables of another program")
	run("other", "CREATE TABLE cairn.cairn (version BIGINT, written BIGINT); INSERT INTO cairn.cairn VALUES (999, 0)")
	wantWords(t, c.Address("other"), "written by a newer cairn", "version 999")
	check.Error(t, check.ErrorOf(onServer(c.Address("other"))), store.ErrNewer)
	run("other", "UPDATE cairn.cairn SET version = 3")
	wantWords(t, c.Address("other"), "version 3, which no cairn wrote")

	check.NoError(t, c.Write("standby.signal", ""))
	c.Down()
	check.NoError(t, c.Up())
	wantWords(t, c.AddressOf("ann:rose", "postgres"), "the server is a standby")
	wantWords(t, c.AddressOf("ann:rose", "postgres")+",/nowhere", "no server at postgres://ann@/postgres?host=", ",/nowhere is the primary", "promote a standby")
	check.NoError(t, check.Must(store.Open(ctx, store.Options{Postgres: c.AddressOf("ann:rose", "postgres"), Schema: "cairn", Shared: true}))(t).Close())
	c.Down()
	err := wantWords(t, c.Address("postgres"), "start the server, or correct the address")
	check.That(t, !errors.Is(err, fs.ErrNotExist), "a server that is down counts as a store that does not exist")
	check.NoError(t, c.Up())
}

func TestOldServerIsRefused(t *testing.T) {
	c := pgtest.Shared(t)
	defer store.RequirePostgres(990_000)()
	wantWords(t, c.Address("postgres"), "the server is PostgreSQL 1", "use 99 or newer")
}

func TestFullDiskOfTheServer(t *testing.T) {
	c := pgtest.Shared(t)
	s := check.Must(onServer(c.Address(storetest.NewDatabase(t))))(t)
	defer s.Close()
	talk := find(t, s, "terminal:general")
	for code, want := range map[string]error{"53100": store.ErrFull, "XX001": store.ErrDamaged} {
		place := s.Upkeep().Place()
		_, database, _ := strings.Cut(place, "@/")
		database, _, _ = strings.Cut(database, "?")
		check.NoError(t, c.Run(database, `CREATE OR REPLACE FUNCTION cairn.refuse() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '`+code+`'; END $$`))
		check.NoError(t, c.Run(database, "CREATE OR REPLACE TRIGGER refuse BEFORE INSERT ON cairn.inbox FOR EACH ROW EXECUTE FUNCTION cairn.refuse()"))
		_, err := talk.Inbox().Deliver(ctx, said(1, "hello"))
		check.Error(t, err, want)
		check.Lacks(t, "the error", err.Error(), store.DatabaseName)
	}
}

func TestServerStopsAndStarts(t *testing.T) {
	t.Parallel()
	c := pgtest.New(t)
	s := check.Must(onServer(c.Address("postgres")))(t)
	defer s.Close()
	talk := find(t, s, "terminal:general")
	deliver(t, talk, said(1, "hello"))
	c.Down()
	for range 3 {
		_, err := talk.Inbox().Deliver(ctx, said(2, "are you there?"))
		check.That(t, err != nil, "a message is stored while the server is down")
		check.That(t, strings.Contains(err.Error(), "tried again") || strings.Contains(err.Error(), "start the server"), "the error has no words: %v", err)
		check.That(t, s.Upkeep().Intact(ctx) != nil, "the database is intact while the server is down")
		check.That(t, s.Upkeep().Readable(ctx) != nil, "the database is readable while the server is down")
	}
	check.NoError(t, c.Up())
	deliver(t, talk, said(2, "are you there?"))
	check.NoError(t, s.Upkeep().Readable(ctx))
	check.Len(t, "messages", peek(t, talk).Messages, 2)
}

func TestUpgradeOnPostgres(t *testing.T) {
	c := pgtest.Shared(t)
	name := storetest.NewDatabase(t)
	s := check.Must(onServer(c.Address(name)))(t)
	deliver(t, find(t, s, "terminal:general"), said(1, "hello"))
	check.NoError(t, s.Close())
	open := func(shared bool, migrations ...string) (*store.Store, error) {
		defer store.AddMigrations(migrations...)()
		return store.Open(ctx, store.Options{Postgres: c.Address(name), Schema: "cairn", Shared: shared})
	}
	next := "-- Not a PRAGMA.\nALTER TABLE messages ADD COLUMN mood TEXT NOT NULL DEFAULT 'fine';\nCREATE TABLE moods (\n  id INTEGER PRIMARY KEY AUTOINCREMENT,\n" +
		"  window INTEGER,\n  share REAL,\n  vector BLOB,\n  name TEXT NOT NULL\n) STRICT;\nINSERT INTO moods (name) VALUES ('calm'), ('Zen');"
	for text, words := range map[string]string{
		"CREATE TRIGGER x AFTER INSERT ON pins BEGIN SELECT 1; END": `"CREATE TRIGGER", which only SQLite understands`,
		"UPDATE messages SET text = iif(1, 'a', 'b')":               "only SQLite understands",
		"ALTER TABLE nowhere ADD COLUMN x INTEGER":                  "does not exist",
	} {
		_, err := open(false, next, text)
		check.ErrorContains(t, "an upgrade", err, "migrate to version", words)
	}
	check.ErrorContains(t, "a process beside the bot", check.ErrorOf(open(true, next)), "start the bot once to upgrade it")
	older := join(t, c.Address(name))
	check.ErrorContains(t, "an upgrade beside an older process", check.ErrorOf(open(false, next)), "processes of an older version", "stop them first")
	added := check.Must(open(false, "-- Additive: nobody reads it yet.\nCREATE TABLE notes (\n  id INTEGER PRIMARY KEY AUTOINCREMENT\n) STRICT;"))(t)
	deliver(t, find(t, older.Store, "terminal:general"), said(2, "I still work"))
	check.NoError(t, added.Close())
	storetest.Run(t, older.Store, "DROP TABLE notes")
	storetest.Run(t, older.Store, "UPDATE cairn SET version = version - 1")
	check.NoError(t, older.End(ctx))
	s = check.Must(open(false, next))(t)
	version := len(store.Migrations) + 1
	check.NoError(t, s.View(ctx, func(tx *store.Tx) {
		check.EqualAll(t, "the version, rows of a new table, and a new column", []any{
			store.Get[int](tx, "SELECT version FROM cairn"), store.Get[string](tx, "SELECT name FROM moods ORDER BY name LIMIT 1"), store.Get[string](tx, "SELECT mood FROM messages"),
		}, []any{version, "Zen", "fine"})
	}))
	check.NoError(t, s.Close())
	s = check.Must(open(false, next))(t) // nothing is left to do
	check.NoError(t, s.Close())
	check.Error(t, check.ErrorOf(onServer(c.Address(name))), store.ErrNewer)
}

// A migration that PostgreSQL cannot run would keep every bot there from starting.
func TestMigrationsAreTranslated(t *testing.T) {
	for i, text := range store.Migrations[store.FirstVersion:] {
		_, err := postgres.Migration(text)
		check.That(t, err == nil, "migration %d: %v", store.FirstVersion+i+1, err)
	}
	for text, want := range map[string]string{
		"ALTER TABLE pins ADD COLUMN why TEXT NOT NULL DEFAULT '';": `ALTER TABLE pins ADD COLUMN why TEXT COLLATE "C" NOT NULL DEFAULT '';`,
		"CREATE TABLE a (\n  id INTEGER\n) STRICT, WITHOUT ROWID;":  "CREATE TABLE a (\n  id BIGINT\n);",
		"UPDATE pins SET why = 'a' WHERE rowid = 1;":                "",
		"INSERT OR IGNORE INTO pins SELECT * FROM others;":          "",
		"UPDATE pins SET why = 'a' WHERE why GLOB 'a*';":            "",
	} {
		got, err := postgres.Migration(text)
		check.Equal(t, text, got, want)
		check.Equal(t, text+": whether it is refused", err != nil, want == "")
	}
}

func TestExamineServer(t *testing.T) {
	c := pgtest.New(t)
	found := check.Must(store.ExamineServer(ctx, c.Address("postgres"), "cairn"))(t)
	facts := strings.Join(found.Facts, "\n")
	check.Contains(t, "facts", facts, "PostgreSQL 1", "which answers in ", " ms", "not encrypted and do not leave this machine", "warning: fsync is off", "there is none yet")
	check.Lacks(t, "facts", facts, "synchronous_commit")
	check.NoError(t, c.Run("postgres", "ALTER ROLE cairn SET synchronous_commit = off"))
	s := check.Must(onServer(c.Address("postgres")))(t)
	deliver(t, find(t, s, "terminal:general"), said(1, "hello"))
	check.NoError(t, s.Close())
	found = check.Must(store.ExamineServer(ctx, c.Address("postgres"), "cairn"))(t)
	check.Contains(t, "facts", strings.Join(found.Facts, "\n"), "warning: synchronous_commit is off")
	check.That(t, found.Exists && found.Contents.Messages == 1 && found.Contents.Version == len(store.Migrations) && found.Contents.Bytes > 0, "got %+v", found)
}

// A user without any rights of an administrator sees how the standbys follow.
func TestExamineStandbys(t *testing.T) {
	t.Parallel()
	c := pgtest.New(t)
	check.NoError(t, c.Run("postgres", "CREATE ROLE ann LOGIN; CREATE SCHEMA cairn AUTHORIZATION ann"))
	facts := func(address string) string {
		t.Helper()
		return strings.Join(check.Must(store.ExamineServer(ctx, address, "cairn"))(t).Facts, "\n")
	}
	const lagging = "warning: the standbys follow asynchronously"
	check.Lacks(t, "without a standby", facts(c.AddressOf("ann", "postgres")), "standbys")
	check.Contains(t, "with a second server, which is away", facts(c.AddressOf("ann", "postgres")+",/nowhere"), lagging)
	pgtest.NewStandby(t, c, false)
	check.Contains(t, "with a standby", facts(c.AddressOf("ann", "postgres")), lagging)
	pgtest.NewStandby(t, c, true)
	check.Contains(t, "with a synchronous one", facts(c.AddressOf("ann", "postgres")), "the standbys follow synchronously")
	for _, setting := range []string{"local", "off"} {
		check.NoError(t, c.Run("postgres", "ALTER ROLE ann SET synchronous_commit = "+setting))
		check.Contains(t, "with synchronous_commit = "+setting, facts(c.AddressOf("ann", "postgres")), lagging)
	}
}
