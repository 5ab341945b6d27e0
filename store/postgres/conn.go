// A connection: it takes the store's statements, and sends those whose results nobody waits for together with the next one.

package postgres

import (
	"context"
	"database/sql/driver"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// Conn is a connection of package store. It is not safe for concurrent use.
type Conn struct {
	*stdlib.Conn
	queue   []statement
	changed int64
	trips   int64
	ending  *pgconn.Pipeline // the COMMIT that EndRead sent; nil: none
}

type statement struct {
	text    string
	args    []any
	without error // the error if it changes no row; nil: it need not change one
}

// Queue sends a statement with the next one that returns something. If it fails, that one returns the error; without is its error if it
// changes no row, nil if it need not change one.
func (c *Conn) Queue(query string, args []any, without error) error {
	values := make([]any, len(args))
	for i, arg := range args { // as they are now: some point to what may change
		value, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return err
		}
		values[i] = value
	}
	text := rebind(query)
	if without != nil { // an error on the server, so that a COMMIT in the same round trip does not happen
		text = "WITH changed AS (" + text + " RETURNING 1) SELECT 1 / count(*) FROM changed"
	}
	c.queue = append(c.queue, statement{text, storable(values), without})
	return nil
}

// unchangedError is the error of a statement that had to change a row. The server has answered.
type unchangedError struct{ error }

func (e *unchangedError) Unwrap() error { return e.error }

// errorOf returns the error of the statement, which failed.
func (s statement) errorOf(err error) error {
	if s.without != nil && Code(err) == divisionByZero {
		return &unchangedError{s.without}
	}
	return err
}

// changed returns how many rows the statement changed, by its tag; one that must change rows counts as one.
func (s statement) changed(tag pgconn.CommandTag) int64 {
	if tag.Select() && s.without == nil {
		return 0
	}
	return tag.RowsAffected()
}

// Changed returns how many rows the statements of the connection have changed so far, after it has sent those that are queued.
func (c *Conn) Changed(ctx context.Context) (int64, error) {
	if len(c.queue) == 0 {
		return c.changed, nil
	}
	last := c.queue[len(c.queue)-1]
	c.queue = c.queue[:len(c.queue)-1]
	_, err := c.send(ctx, last)
	return c.changed, err
}

// EndRead ends a transaction that only reads. It does not wait for the server, unless the results of statements are still to come.
func (c *Conn) EndRead() error {
	if len(c.queue) > 0 {
		_, err := c.ExecContext(context.Background(), "COMMIT", nil)
		return err
	}
	c.ending = c.Conn.Conn().PgConn().StartPipeline(context.Background())
	c.ending.SendQueryParams("COMMIT", nil, nil, nil, nil)
	return c.ending.Sync()
}

// ResetSession is called before the connection is used again.
func (c *Conn) ResetSession(ctx context.Context) error {
	if c.ending != nil {
		err := c.ending.Close()
		c.ending = nil
		if err != nil {
			return driver.ErrBadConn
		}
	}
	return c.Conn.ResetSession(ctx)
}

// Trips returns how often the connection has waited for the server.
func (c *Conn) Trips() int64 { return c.trips }

// AutoCommit reports whether the connection is in no transaction.
func (c *Conn) AutoCommit() bool { return c.Conn.Conn().PgConn().TxStatus() == 'I' }

// CheckNamedValue makes database/sql convert arguments as it does for drivers that know no types of their own.
func (c *Conn) CheckNamedValue(*driver.NamedValue) error { return driver.ErrSkip }

// ExecContext sends what is queued, and a statement, and returns how many rows that changed.
func (c *Conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	switch {
	case query == "ROLLBACK":
		c.queue = nil
		if c.AutoCommit() { // not even BEGIN was sent
			return driver.RowsAffected(0), nil
		}
	case query == "COMMIT" && len(c.queue) == 1 && c.queue[0].text == "BEGIN": // nothing happened in the transaction
		c.queue = nil
		return driver.RowsAffected(0), nil
	case query == "":
		return driver.RowsAffected(0), nil
	case len(args) == 0 && strings.Contains(query, ";"): // several statements
		if _, err := c.Changed(ctx); err != nil {
			return nil, err
		}
		return c.Conn.ExecContext(ctx, query, args)
	}
	rows, err := c.send(ctx, statement{text: rebind(query), args: storable(valuesOf(args))})
	if err != nil {
		return nil, err
	}
	return driver.RowsAffected(rows.changed), nil
}

// QueryContext sends what is queued, and a query, and reads its rows.
func (c *Conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.send(ctx, statement{text: rebind(query), args: storable(valuesOf(args))})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// send sends what is queued and a last statement in one round trip, and returns the rows of the last.
func (c *Conn) send(ctx context.Context, last statement) (*rows, error) {
	var batch pgx.Batch
	queued := c.queue
	c.queue = c.queue[:0]
	for _, s := range queued {
		batch.Queue(s.text, s.args...)
	}
	batch.Queue(last.text, last.args...)
	c.trips++
	results := c.Conn.Conn().SendBatch(ctx, &batch)
	for _, s := range queued {
		tag, err := results.Exec()
		if err != nil {
			_ = results.Close() // it repeats the error
			return nil, s.errorOf(err)
		}
		c.changed += s.changed(tag)
	}
	found, err := results.Query()
	if err != nil {
		_ = results.Close() // it repeats the error
		return nil, last.errorOf(err)
	}
	all, err := readAll(found)
	if err != nil {
		_ = results.Close() // it repeats the error
		return nil, last.errorOf(err)
	}
	all.changed = last.changed(found.CommandTag())
	c.changed += all.changed
	return all, results.Close()
}

// rows are rows that were read, so that the connection is free for other statements.
type rows struct {
	columns []string
	values  [][]driver.Value
	changed int64
}

func readAll(found pgx.Rows) (*rows, error) {
	defer found.Close()
	all := &rows{}
	for _, field := range found.FieldDescriptions() {
		all.columns = append(all.columns, field.Name)
	}
	for found.Next() {
		values, err := found.Values()
		if err != nil {
			return nil, err
		}
		row := make([]driver.Value, len(values))
		for i, value := range values {
			row[i] = value
			if n, ok := value.(pgtype.Numeric); ok {
				row[i], err = n.Value()
			}
			if err != nil {
				return nil, err
			}
		}
		all.values = append(all.values, row)
	}
	return all, found.Err()
}

func (r *rows) Columns() []string { return r.columns }
func (r *rows) Close() error      { return nil }

func (r *rows) Next(row []driver.Value) error {
	if len(r.values) == 0 {
		return io.EOF
	}
	copy(row, r.values[0])
	r.values = r.values[1:]
	return nil
}

func valuesOf(args []driver.NamedValue) []any {
	values := make([]any, len(args))
	for i, arg := range args {
		values[i] = arg.Value
	}
	return values
}

// storable replaces in texts what PostgreSQL cannot store: NUL and what is no UTF-8.
func storable(values []any) []any {
	for i, value := range values {
		text, ok := value.(string)
		if ok && (strings.Contains(text, "\x00") || !utf8.ValidString(text)) {
			values[i] = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
		}
	}
	return values
}
