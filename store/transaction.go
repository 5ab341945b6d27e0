// Transactions: atomic writes and consistent reads.

package store

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
)

// Tx is a transaction on its own connection. It does what an sql.Tx does, but without a goroutine
// for each transaction and each query, which took a third of a turn's CPU time in addition to its
// writes.
type Tx struct {
	ctx     context.Context
	conn    *sql.Conn
	store   *Store
	changed []copies // see CopiesChanged
	err     error    // the first that Do, Get or list met
}

// transact runs f in a transaction that may write, and so takes its lock at the start: it never
// has to restart in the middle. An error or a panic rolls it back, and so does the end of ctx
// before f has returned; a statement that is running then is not interrupted.
func transact(ctx context.Context, db *sql.DB, f func(tx *Tx) error) error {
	return within(ctx, db, "BEGIN IMMEDIATE", f)
}

// observe runs f on one consistent snapshot of a database.
func observe(ctx context.Context, db *sql.DB, f func(tx *Tx) error) error {
	return within(ctx, db, "BEGIN", f)
}

func within(ctx context.Context, db *sql.DB, begin string, f func(tx *Tx) error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() // returns it to the pool
	tx := &Tx{ctx: ctx, conn: conn}
	if _, err := tx.Exec(begin); err != nil {
		return err
	}
	ended := false
	defer func() {
		if !ended {
			tx.undo()
		}
	}()
	if err := f(tx); err != nil {
		return cmp.Or(tx.err, err)
	}
	if _, err := tx.Exec("COMMIT"); err != nil { // or what Do, Get or list met
		return err
	}
	ended = true
	return nil
}

// undo rolls back. SQLite may have done so already, after a disk error; a connection that is
// still in a transaction afterwards is not reused.
func (t *Tx) undo() {
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

// Do runs a statement whose result nobody needs. If it fails, so does everything after it, and the
// transaction ends with its error.
func (t *Tx) Do(query string, args ...any) {
	_, err := t.Exec(query, args...)
	t.err = cmp.Or(t.err, err)
}

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

// list is Select; if it fails, so does everything after it, see Do.
func list[T any](tx *Tx, scan func(*sql.Rows, *T) error, query string, args ...any) []T {
	all, err := Select(tx, scan, query, args...)
	tx.err = cmp.Or(tx.err, err)
	return all
}

// List is list, for other packages.
func List[T any](tx *Tx, scan func(*sql.Rows, *T) error, query string, args ...any) []T {
	return list(tx, scan, query, args...)
}

// Values is Column; if it fails, so does everything after it, see Do.
func Values[T any](tx *Tx, query string, args ...any) []T {
	return list(tx, scanOne[T], query, args...)
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

// Column returns the one column of the rows of a query.
func Column[T any](tx *Tx, query string, args ...any) ([]T, error) {
	return Select(tx, scanOne[T], query, args...)
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

// Get returns the one column of the first row of a query, or the zero value if there is none. If it
// fails, so does everything after it, see Do.
func Get[T any](tx *Tx, query string, args ...any) T {
	value, err := Value[T](tx, query, args...)
	if err != nil && !errors.Is(err, ErrNotFound) {
		tx.err = cmp.Or(tx.err, err)
	}
	return value
}

// Exists reports whether a query has rows, see Get.
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

// Changed runs a statement and returns ErrNotFound if it changed no row.
func Changed(tx *Tx, query string, args ...any) error {
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

// copies are messages of another conversation whose search results were deleted.
type copies struct {
	conversation string
	seqs         []int64
}

// WatchCopies sets f, which is called after a deletion for messages that changed in other
// conversations, where a search had found the deleted text. Call it before the first deletion; f
// must not block.
func (s *Store) WatchCopies(f func(conversation string, seqs []int64)) { s.watch = f }

// CopiesChanged reports messages of a conversation that have changed to the function of WatchCopies, after the commit.
func (t *Tx) CopiesChanged(conversation string, seqs ...int64) {
	t.changed = append(t.changed, copies{conversation, seqs})
}

// Conversation returns the conversation with that name, or ErrNotFound.
func (t *Tx) Conversation(name string) (*Conversation, error) {
	id, err := Value[int64](t, "SELECT id FROM conversations WHERE name = ?", name)
	return &Conversation{store: t.store, id: id, name: name}, err
}

// Conversations returns the conversations that the rest of the query selects.
func (t *Tx) Conversations(rest string, args ...any) []*Conversation {
	return list(t, func(rows *sql.Rows, c **Conversation) error {
		*c = &Conversation{store: t.store}
		return rows.Scan(&(*c).id, &(*c).name)
	}, "SELECT id, name FROM conversations c "+rest, args...)
}
