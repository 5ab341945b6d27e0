// Reading the rows of a query.

package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"time"
)

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

// Column returns the one column of the rows of a query.
func Column[T any](tx *Tx, query string, args ...any) ([]T, error) {
	return Select(tx, One[T], query, args...)
}

// One reads the only column.
func One[T any](rows *sql.Rows, value *T) error { return rows.Scan(value) }

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
