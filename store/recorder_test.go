package store_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
	"testing"

	"github.com/mattn/go-sqlite3"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// statement is one that the store ran, with its arguments at the first time.
type statement struct {
	query     string
	arguments []any
}

// recorder notes each statement that a store runs.
type recorder struct {
	mu    sync.Mutex // guards the others
	known map[string]bool
	all   []statement
}

func (r *recorder) note(query string, args []driver.NamedValue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[query] {
		return
	}
	r.known[query] = true
	s := statement{query: query}
	for _, arg := range args {
		s.arguments = append(s.arguments, arg.Value)
	}
	r.all = append(r.all, s)
}

// recorded is the driver of a database that a recorder watches.
type recorded struct {
	source string
	by     *recorder
}

func (d recorded) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

func (d recorded) Connect(context.Context) (driver.Conn, error) {
	conn, err := d.Driver().Open(d.source)
	if err != nil {
		return nil, err
	}
	return recordedConn{conn.(*sqlite3.SQLiteConn), d.by}, nil
}

type recordedConn struct {
	*sqlite3.SQLiteConn
	by *recorder
}

func (c recordedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.by.note(query, args)
	return c.SQLiteConn.ExecContext(ctx, query, args)
}

func (c recordedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.by.note(query, args)
	return c.SQLiteConn.QueryContext(ctx, query, args)
}

// openRecorded opens a new store whose statements are recorded.
func openRecorded(t *testing.T) (*store.Store, *recorder) {
	t.Helper()
	storetest.SQLiteOnly(t, "plans that can be read here")
	s := storetest.OpenStore(t, t.TempDir())
	r := &recorder{known: map[string]bool{}}
	connect := func(pragmas string) *sql.DB { return sql.OpenDB(recorded{store.SourceOf(s.Path(), pragmas), r}) }
	s.UseConnections(connect(store.WriterPragmas), connect(store.ReaderPragmas))
	check.NoError(t, s.View(ctx, func(*store.Tx) {}))
	return s, r
}
