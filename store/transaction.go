// Transactions: atomic writes and consistent reads.

package store

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"cairn/store/postgres"
)

// Tx is a transaction on its own connection. Its first error ends it, see Fail. It does what an sql.Tx does, but without
// a goroutine for each transaction and each query, which took a third of a turn's CPU time in addition to its writes.
type Tx struct {
	ctx   context.Context
	conn  *sql.Conn
	store *Store
	err   error

	rows   int64          // it has changed so many, unless there is a pipe
	pipe   *postgres.Conn // of a connection to PostgreSQL; nil: SQLite
	before int64          // rows that the pipe's connection had changed before

	raised  []string       // conversations whose version was incremented, by name
	entered map[int64]bool // conversations that PostgreSQL has locked
}

// transact runs f in a transaction. begin is one of the following; an error or a panic rolls it back, and so does the
// end of ctx before f has returned; a statement that is running then is not interrupted.
func transact(ctx context.Context, db *sql.DB, begin string, f func(tx *Tx)) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() // returns it to the pool
	tx := &Tx{ctx: ctx, conn: conn}
	tx.Fail(conn.Raw(tx.use))
	if begin == oneRead {
		f(tx)
		return tx.err
	}
	tx.do(begin)
	if tx.err != nil {
		return tx.err
	}
	committed := false
	defer func() {
		if !committed {
			tx.rollBack()
		}
	}()
	f(tx)
	committing := tx.live()
	if begin == toRead && tx.pipe != nil && committing {
		tx.Fail(tx.pipe.EndRead())
	} else {
		tx.changes("COMMIT")
	}
	committed = tx.err == nil
	if committing && !committed && begin == toWrite {
		return &commitError{tx.err}
	}
	return tx.err
}

// commitError is the error of a COMMIT that was sent: if the server did not answer, nobody knows whether the transaction happened.
type commitError struct{ error }

func (e *commitError) Unwrap() error { return e.error }

// use keeps the connection of the driver, which is the transaction's until conn is closed, if it can queue statements.
func (t *Tx) use(driver any) error {
	pipe, ok := driver.(*postgres.Conn)
	if !ok {
		return nil
	}
	t.pipe = pipe
	var err error
	t.before, err = pipe.Changed(t.ctx)
	return err
}

const (
	oneRead = ""                // a single statement needs no transaction, and takes half the time without one
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
// nothing, and nothing is committed. Everything here fails this way.
func (t *Tx) Fail(err error) { t.err = cmp.Or(t.err, err) }

// live reports whether statements may still run. They run with a context that never ends: with one that can end, the driver
// starts a goroutine for each of them and checks it for each row.
func (t *Tx) live() bool {
	t.Fail(t.ctx.Err())
	return t.err == nil
}

// do runs a statement. PostgreSQL may run it with the next one whose result is awaited.
func (t *Tx) do(query string, args ...any) {
	if t.pipe == nil {
		t.changes(query, args...)
		return
	}
	if t.live() {
		t.Fail(t.pipe.Queue(query, args, nil))
	}
}

// require is do for a statement that must change a row; else the transaction fails with err.
func (t *Tx) require(err error, query string, args ...any) {
	switch {
	case t.pipe == nil && !t.changed(query, args...):
		t.Fail(err)
	case t.pipe != nil && t.live():
		t.Fail(t.pipe.Queue(query, args, err))
	}
}

// change is require with ErrNotFound.
func (t *Tx) change(query string, args ...any) { t.require(ErrNotFound, query, args...) }

// changed runs a statement, and reports whether it changed a row.
func (t *Tx) changed(query string, args ...any) bool { return t.changes(query, args...) > 0 }

// changes runs a statement, and returns how many rows it changed.
func (t *Tx) changes(query string, args ...any) (n int64) {
	if !t.live() {
		return 0
	}
	result, err := t.conn.ExecContext(context.Background(), query, args...)
	if err == nil {
		n, err = result.RowsAffected()
	}
	t.Fail(err)
	t.rows += n
	return n
}

// wrote returns how many rows the transaction has changed so far.
func (t *Tx) wrote() int64 {
	if t.pipe == nil || !t.live() {
		return t.rows
	}
	n, err := t.pipe.Changed(context.Background())
	t.Fail(err)
	return n - t.before
}

// Watch sets f, which is called after each commit that incremented a conversation's version without its compactor. Call it
// before the first such commit; f must not block.
func (s *Store) Watch(f func(conversation string)) { s.watch = f }

// Conversation returns the conversation with that name; there must be one.
func (t *Tx) Conversation(name string) *Conversation {
	c := &Conversation{handle{store: t.store, name: name}}
	t.row("SELECT id FROM conversations WHERE name = ?", name).Scan(&c.id)
	return c
}

// conversations returns the conversations that the rest of the query selects.
func (t *Tx) conversations(rest string, args ...any) []*Conversation {
	return listRows(t, func(rows *sql.Rows, c **Conversation) error {
		*c = &Conversation{handle{store: t.store}}
		return rows.Scan(&(*c).id, &(*c).name)
	}, "SELECT id, name FROM conversations c "+rest, args...)
}

// eachRow calls scan for every row of a query.
func eachRow(tx *Tx, scan func(*sql.Rows) error, query string, args ...any) {
	if !tx.live() {
		return
	}
	rows, err := tx.conn.QueryContext(context.Background(), query, args...)
	if err != nil {
		tx.Fail(err)
		return
	}
	defer rows.Close()
	for err == nil && rows.Next() {
		err = scan(rows)
	}
	tx.Fail(cmp.Or(err, rows.Err()))
}

// listRows returns the rows of a query; scan reads one of them.
func listRows[T any](tx *Tx, scan func(*sql.Rows, *T) error, query string, args ...any) []T {
	return appendRows(tx, nil, scan, query, args...)
}

// appendRows is listRows behind rows that are known.
func appendRows[T any](tx *Tx, all []T, scan func(*sql.Rows, *T) error, query string, args ...any) []T {
	eachRow(tx, func(rows *sql.Rows) error {
		var row T
		all = append(all, row)
		return scan(rows, &all[len(all)-1])
	}, query, args...)
	return all
}

// firstOf returns the first of the rows that were found. Without one the transaction fails with ErrNotFound.
func firstOf[T any](tx *Tx, found []T) (first T) {
	if len(found) == 0 {
		tx.Fail(ErrNotFound)
		return first
	}
	return found[0]
}

// listValues returns the one column of the rows of a query.
func listValues[T any](tx *Tx, query string, args ...any) []T {
	return listRows(tx, scanOne[T], query, args...)
}

func scanOne[T any](rows *sql.Rows, value *T) error { return rows.Scan(value) }

// getValue returns the one column of the first row of a query, or the zero value if there is none.
func getValue[T any](tx *Tx, query string, args ...any) (value T) {
	tx.row(query, args...).Found(&value)
	return value
}

// exists reports whether a query has rows.
func exists(tx *Tx, query string, args ...any) bool {
	return getValue[bool](tx, "SELECT EXISTS ("+query+")", args...)
}

// firstRow is the first row of a query.
type firstRow struct {
	tx    *Tx
	query string
	args  []any
}

func (t *Tx) row(query string, args ...any) firstRow { return firstRow{t, query, args} }

// Scan reads the columns. Without a row the transaction fails with ErrNotFound.
func (r firstRow) Scan(columns ...any) {
	if !r.Found(columns...) {
		r.tx.Fail(ErrNotFound)
	}
}

// Found reads the columns, if there is a row, and reports that.
func (r firstRow) Found(columns ...any) bool {
	if !r.tx.live() {
		return false
	}
	err := r.tx.conn.QueryRowContext(context.Background(), r.query, r.args...).Scan(columns...)
	if !errors.Is(err, sql.ErrNoRows) {
		r.tx.Fail(err)
	}
	return err == nil
}
