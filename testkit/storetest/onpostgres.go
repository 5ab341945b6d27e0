// The same tests on PostgreSQL.

package storetest

import (
	"database/sql"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/pgtest"
)

// OnPostgres says that the stores of the tests are in PostgreSQL: the environment variable CAIRN_TEST_POSTGRES is set.
var OnPostgres = os.Getenv("CAIRN_TEST_POSTGRES") != ""

// SQLiteOnly skips a test on PostgreSQL, because it is about what only SQLite has.
func SQLiteOnly(t testing.TB, what string) {
	t.Helper()
	if OnPostgres {
		t.Skip("only SQLite has " + what)
	}
}

// NotOfView is in the error of a statement that would change a view.
var NotOfView = map[bool]string{false: "cannot modify", true: "view"}[OnPostgres]

const (
	empty  = "cairn_empty" // the database that others are copies of
	Schema = "cairn"       // of the tests' databases
)

// makeEmpty makes the database of a store without conversations.
var makeEmpty = sync.OnceValue(func() error {
	c, err := pgtest.Running()
	if err == nil {
		err = c.Run("postgres", "CREATE DATABASE "+empty)
	}
	if err != nil {
		return err
	}
	s, err := store.Open(Ctx, store.Options{Postgres: c.Address(empty), Schema: Schema})
	if err != nil {
		return err
	}
	return s.Close()
})

// Prepare starts what the tests of a package share, for those that open stores in bubbles of testing/synctest.
func Prepare() {
	if OnPostgres {
		_ = makeEmpty() // the first test says what is wrong
	}
}

// places are the folders of the stores that tests have opened: one folder is one database.
var places sync.Map

// DirOf returns the folder of a store that OpenStore has opened.
func DirOf(s *store.Store) string {
	if dir, ok := places.Load(s); ok {
		return dir.(string)
	}
	return filepath.Dir(s.Upkeep().Place())
}

// databases are the databases that exist, by folder.
var databases sync.Map

func databaseOf(dir string) string {
	sum := fnv.New64a()
	sum.Write([]byte(dir))
	return fmt.Sprintf("cairn_%x", sum.Sum64())
}

// NewDatabase makes a database without conversations, and returns its name.
func NewDatabase(t testing.TB) string {
	t.Helper()
	check.NoError(t, makeEmpty())
	name := databaseOf(t.TempDir())
	check.NoError(t, pgtest.Shared(t).Run("postgres", "CREATE DATABASE "+name+" TEMPLATE "+empty))
	return name
}

func openOnPostgres(t check.Tester, dir string) *store.Store {
	t.Helper()
	c := check.Must(pgtest.Running())(t)
	check.NoError(t, makeEmpty())
	name := databaseOf(dir)
	if _, known := databases.LoadOrStore(name, true); !known {
		check.NoError(t, c.Run("postgres", "CREATE DATABASE "+name+" TEMPLATE "+empty))
	}
	s := check.Must(store.Open(Ctx, store.Options{Dir: dir, Postgres: c.Address(name), Schema: Schema}))(t)
	places.Store(s, dir)
	return s
}

// OpenShared opens the store of a folder beside the bot, as a shell command does.
func OpenShared(t testing.TB, dir string) *store.Store {
	t.Helper()
	s := OpenBeside(t, dir)
	t.Cleanup(func() { s.Close() })
	return s
}

// OpenBeside is OpenShared for a test that closes the store itself.
func OpenBeside(t check.Tester, dir string) *store.Store {
	t.Helper()
	o := store.Options{Dir: dir, Shared: true}
	if OnPostgres {
		o.Postgres = check.Must(pgtest.Running())(t).Address(databaseOf(dir))
		o.Schema = Schema
	}
	s := check.Must(store.Open(Ctx, o))(t)
	places.Store(s, dir)
	return s
}

// database opens connections to the database of a store, besides its own.
func database(t check.Tester, s *store.Store) (db *sql.DB, ok bool) {
	t.Helper()
	if !s.Upkeep().OnServer() {
		return nil, false
	}
	c, err := pgtest.Running()
	check.NoError(t, err)
	_, name, _ := strings.Cut(s.Upkeep().Place(), "@/")
	name, _, _ = strings.Cut(name, "?")
	return c.Connect(name, Schema), true
}

// Refuse makes the database refuse a kind of statement, such as "INSERT ON pins", until accept is called.
func Refuse(t check.Tester, s *store.Store, statement, why string) (accept func()) {
	t.Helper()
	if OnPostgres {
		_, table, _ := strings.Cut(statement, " ON ")
		Run(t, s, "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '"+why+"'; END $$")
		Run(t, s, "CREATE TRIGGER refuse BEFORE "+statement+" FOR EACH ROW EXECUTE FUNCTION refuse()")
		return func() { Run(t, s, "DROP TRIGGER refuse ON "+table) }
	}
	Run(t, s, "CREATE TRIGGER refuse BEFORE "+statement+" BEGIN SELECT raise(ABORT, '"+why+"'); END")
	return func() { Run(t, s, "DROP TRIGGER refuse") }
}

// WroteIDs is called after a test wrote rows with ids of its own: the next row gets a higher one.
func WroteIDs(t check.Tester, s *store.Store, table string) {
	t.Helper()
	if OnPostgres { // SQLite does so itself
		Rows(t, s, "SELECT setval(pg_get_serial_sequence('"+table+"', 'id'), max(id)) FROM "+table)
	}
}

// Columns returns the columns of a database, by table, from the database itself.
func Columns(t check.Tester, s *store.Store) map[string][]string {
	t.Helper()
	columns := "SELECT m.name || ' ' || i.name FROM sqlite_schema m JOIN pragma_table_xinfo(m.name) i WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'"
	if OnPostgres {
		columns = `SELECT c.table_name || ' ' || c.column_name FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
			WHERE table_schema = '` + Schema + `' AND table_type = 'BASE TABLE' AND table_name <> 'cairn' ORDER BY ordinal_position`
	}
	all := make(map[string][]string)
	for _, row := range Rows(t, s, columns) {
		table, column, _ := strings.Cut(row, " ")
		all[table] = append(all[table], column)
	}
	return all
}
