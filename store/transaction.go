// Transactions: atomic writes and consistent reads.

package store

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"time"
)

// Tx is a transaction on its own connection. It does what an sql.Tx does, but without a goroutine
// for each transaction and each query, which took a third of a turn's CPU time in addition to its
// writes.
type Tx struct {
	ctx   context.Context
	conn  *sql.Conn
	store *Store
	after []func() // called after the commit
	err   error    // see Fail
}

// transact runs f in a transaction. begin is one of the following; an error or a panic rolls it back, and so does the
// end of ctx before f has returned; a statement that is running then is not interrupted.
func transact(ctx context.Context, db *sql.DB, begin string, f func(tx *Tx) error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() // returns it to the pool
	tx := &Tx{ctx: ctx, conn: conn}
	if _, err := tx.Exec(begin); err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed {
			tx.rollBack()
		}
	}()
	if err := f(tx); err != nil {
		return cmp.Or(tx.err, err)
	}
	_, err = tx.Exec("COMMIT")
	committed = err == nil
	return err
}

const (
	toRead  = "BEGIN"           // one consistent snapshot
	toWrite = "BEGIN IMMEDIATE" // takes the lock at the start: it never has to restart in the middle
)

// rollBack ends the transaction. SQLite may have done so already, after a disk error; a connection that is
// still in a transaction afterwards is not reused.
func (t *Tx) rollBack() {
	_, err := t.conn.ExecContext(context.Background(), "ROLLBACK")
	if err == nil {
		return
	}
	_ = t.conn.Raw(func(c any) error {
		if state, ok := c.(interface{ AutoCommit() bool }); ok && state.AutoCommit() {
			return nil
		}
		return driver.ErrBadConn
	})
}

// Fail ends the transaction with an error, unless it is nil or another one came before: what follows reads and writes
// nothing, and nothing is committed. Everything that returns no error fails this way.
func (t *Tx) Fail(err error) { t.err = cmp.Or(t.err, err) }

// queryContext returns the context of a query: one that never ends, because with one that can end,
// the driver starts a goroutine for each query and checks it for each row. If the transaction's own
// context has ended, or a statement has failed, it returns one that has ended, so that the query fails.
func (t *Tx) queryContext() context.Context {
	if t.err != nil {
		return ended
	}
	if t.ctx.Err() != nil {
		return t.ctx
	}
	return context.Background()
}

var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// Do runs a statement, and reports whether it changed a row.
func (t *Tx) Do(query string, args ...any) (changed bool) {
	err := ChangeRow(t, query, args...)
	if !errors.Is(err, ErrNotFound) {
		t.Fail(err)
	}
	return err == nil
}

// change runs a statement that must change a row; else the transaction fails with ErrNotFound.
func (t *Tx) change(query string, args ...any) { t.Fail(ChangeRow(t, query, args...)) }

func (t *Tx) Exec(query string, args ...any) (sql.Result, error) {
	if err := cmp.Or(t.err, t.ctx.Err()); err != nil {
		return nil, err
	}
	return t.conn.ExecContext(context.Background(), query, args...)
}

func (t *Tx) Query(query string, args ...any) (*sql.Rows, error) {
	return t.conn.QueryContext(t.queryContext(), query, args...)
}

func (t *Tx) QueryRow(query string, args ...any) *sql.Row {
	return t.conn.QueryRowContext(t.queryContext(), query, args...)
}

// WatchCopies sets f, which is called after a deletion for messages that changed in other
// conversations, where a search had found the deleted text. Call it before the first deletion; f
// must not block.
func (s *Store) WatchCopies(f func(conversation string, seqs []int64)) { s.watch = f }

// CopiesChanged reports messages of a conversation that have changed to the function of WatchCopies, after the commit.
func (t *Tx) CopiesChanged(conversation string, seqs ...int64) {
	if t.store.watch != nil {
		t.after = append(t.after, func() { t.store.watch(conversation, seqs) })
	}
}

// Conversation returns the conversation with that name, or ErrNotFound.
func (t *Tx) Conversation(name string) (*Conversation, error) {
	id, err := Value[int64](t, "SELECT id FROM conversations WHERE name = ?", name)
	return &Conversation{store: t.store, id: id, name: name}, err
}

// conversation is Conversation, see Fail.
func (t *Tx) conversation(name string) *Conversation {
	c, err := t.Conversation(name)
	t.Fail(err)
	return c
}

// Conversations returns the conversations that the rest of the query selects.
func (t *Tx) Conversations(rest string, args ...any) []*Conversation {
	return List(t, func(rows *sql.Rows, c **Conversation) error {
		*c = &Conversation{store: t.store}
		return rows.Scan(&(*c).id, &(*c).name)
	}, "SELECT id, name FROM conversations c "+rest, args...)
}

// Each calls scan for every row of a query.
func Each(tx *Tx, scan func(*sql.Rows) error, query string, args ...any) error {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return err
	}
	return scanAll(rows, scan)
}

// Select returns the rows of a query; scan reads one of them.
func Select[T any](tx *Tx, scan func(*sql.Rows, *T) error, query string, args ...any) (all []T, err error) {
	err = Each(tx, appendTo(&all, scan), query, args...)
	return all, err
}

// List is Select, see Tx.Fail.
func List[T any](tx *Tx, scan func(*sql.Rows, *T) error, query string, args ...any) []T {
	all, err := Select(tx, scan, query, args...)
	tx.Fail(err)
	return all
}

// appendTo returns a function that scans a row and appends it.
func appendTo[T any](all *[]T, scan func(*sql.Rows, *T) error) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		var row T
		err := scan(rows, &row)
		*all = append(*all, row)
		return err
	}
}

// Values returns the one column of the rows of a query, see Tx.Fail.
func Values[T any](tx *Tx, query string, args ...any) []T {
	return List(tx, scanOne[T], query, args...)
}

func scanOne[T any](rows *sql.Rows, value *T) error { return rows.Scan(value) }

// Value returns the one column of the first row of a query, or ErrNotFound.
func Value[T any](tx *Tx, query string, args ...any) (value T, err error) {
	err = tx.QueryRow(query, args...).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	return value, err
}

// Get returns the one column of the first row of a query, or the zero value if there is none.
func Get[T any](tx *Tx, query string, args ...any) (value T) {
	tx.Row(query, args...).Found(&value)
	return value
}

// Row is the first row of a query, see Tx.Fail.
type Row struct {
	tx  *Tx
	row *sql.Row
}

func (t *Tx) Row(query string, args ...any) Row { return Row{t, t.QueryRow(query, args...)} }

// Scan reads the columns. Without a row the transaction fails.
func (r Row) Scan(columns ...any) { r.tx.Fail(r.row.Scan(columns...)) }

// Found reads the columns, if there is a row, and reports that.
func (r Row) Found(columns ...any) bool {
	err := r.row.Scan(columns...)
	if !errors.Is(err, sql.ErrNoRows) {
		r.tx.Fail(err)
	}
	return err == nil
}

// stamp reads a time from a column.
type stamp struct {
	to *time.Time
	as func(millis int64) time.Time
}

func (s stamp) Scan(column any) error {
	millis, _ := column.(int64) // NULL is like 0
	*s.to = s.as(millis)
	return nil
}

// utc reads a time for programs; 0 or NULL is the zero time.
func utc(to *time.Time) stamp { return stamp{to, atOrZero} }

// local reads a time as it is shown, see ShownAt.
func local(to *time.Time) stamp { return stamp{to, ShownAt} }

// fromJSON reads a value from a column of JSON; empty text leaves it alone.
type fromJSON struct{ to any }

func (j fromJSON) Scan(column any) error {
	text, _ := column.(string)
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), j.to)
}

// Exists reports whether a query has rows.
func Exists(tx *Tx, query string, args ...any) bool {
	return Get[bool](tx, "SELECT EXISTS ("+query+")", args...)
}

// First returns the first of the rows that were found, or ErrNotFound.
func First[T any](found []T, err error) (first T, _ error) {
	if err == nil && len(found) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return first, err
	}
	return found[0], nil
}

func scanAll(rows *sql.Rows, scan func(*sql.Rows) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// ChangeRow runs a statement and returns ErrNotFound if it changed no row.
func ChangeRow(tx *Tx, query string, args ...any) error {
	result, err := tx.Exec(query, args...)
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		return ErrNotFound
	}
	return err
}
