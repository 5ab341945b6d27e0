// A connection: it takes the store's statements, and sends those whose results nobody waits for together with the next one.

package postgres

import (
	"context"
	"database/sql/driver"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// Conn is a connection of package store. It is not safe for concurrent use.
type Conn struct {
	*stdlib.Conn
	queue   []statement
	changed int64
	trips   int64
}

type statement struct {
	text string
	args []any
}

// Queue sends a statement with the next one that returns something. If it fails, that one returns the error.
func (c *Conn) Queue(query string, args []any) error {
	values := make([]any, len(args))
	for i, arg := range args { // as they are now: some point to what may change
		value, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return err
		}
		values[i] = value
	}
	c.queue = append(c.queue, statement{rebind(query), storable(values)})
	return nil
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
	rows, err := c.send(ctx, statement{rebind(query), storable(valuesOf(args))})
	if err != nil {
		return nil, err
	}
	return driver.RowsAffected(rows.changed), nil
}

// QueryContext sends what is queued, and a query, and reads its rows.
func (c *Conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.send(ctx, statement{rebind(query), storable(valuesOf(args))})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// send sends what is queued and a last statement in one round trip, and returns the rows of the last.
func (c *Conn) send(ctx context.Context, last statement) (*rows, error) {
	var batch pgx.Batch
	for _, s := range c.queue {
		batch.Queue(s.text, s.args...)
	}
	batch.Queue(last.text, last.args...)
	queued := len(c.queue)
	c.queue = c.queue[:0]
	c.trips++
	results := c.Conn.Conn().SendBatch(ctx, &batch)
	for range queued {
		tag, err := results.Exec()
		if err != nil {
			_ = results.Close() // it repeats the error
			return nil, err
		}
		if !tag.Select() {
			c.changed += tag.RowsAffected()
		}
	}
	found, err := results.Query()
	if err != nil {
		_ = results.Close() // it repeats the error
		return nil, err
	}
	all, err := readAll(found)
	if err != nil {
		_ = results.Close() // it repeats the error
		return nil, err
	}
	if tag := found.CommandTag(); !tag.Select() {
		all.changed = tag.RowsAffected()
		c.changed += all.changed
	}
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
