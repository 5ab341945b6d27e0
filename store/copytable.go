// A table as a copy reads and writes it: batches of rows in the order of their keys.

package store

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// copiedTable is a table as a copy reads and writes it. Its columns are quoted: one is named window.
type copiedTable struct {
	name    string
	columns []string // but those that the database computes
	key     []int    // which of the columns are the primary key
	own     []int    // which of the columns refer to other rows of the table
	sizes   []string // the columns of any length
	counts  bool     // it gives no id twice
	refers  []string // the tables to which it refers
}

// list joins columns, each with what follows it.
func (t *copiedTable) list(places []int, each, between string) string {
	var parts []string
	for _, place := range places {
		parts = append(parts, t.columns[place]+each)
	}
	return strings.Join(parts, between)
}

// keys are the columns of the primary key.
func (t *copiedTable) keys() string { return t.list(t.key, "", ", ") }

// pick returns some columns of a row.
func pick(row []any, places []int) (values []any) {
	for _, place := range places {
		values = append(values, row[place])
	}
	return values
}

// after is the condition that a row comes after the one with a key, in the order of keys; nil: all do.
func (t *copiedTable) after(key []any) string {
	if key == nil {
		return ""
	}
	return fmt.Sprintf(" WHERE (%s) > (?%s)", t.keys(), strings.Repeat(", ?", len(key)-1))
}

// A batch is written in one transaction, and what is read of a table at once.
var (
	batchRows  = 1000
	batchBytes = int64(1 << 20) // but at least one row
)

// page returns the first rows after the one with a key, nil: from the start; at most limit, and as many as a batch may have.
func (t *copiedTable) page(tx *Tx, key []any, limit int) [][]any {
	from := " FROM " + t.name + t.after(key) + " ORDER BY " + t.keys() + " LIMIT ?"
	if len(t.sizes) > 0 {
		size := "coalesce(octet_length(" + strings.Join(t.sizes, "), 0) + coalesce(octet_length(") + "), 0)"
		for limit > 1 && getValue[int64](tx, "SELECT coalesce(sum(size), 0) FROM (SELECT "+size+" AS size"+from+") sizes", append(key, limit)...) > batchBytes {
			limit /= 2
		}
	}
	return t.read(tx, from, append(key, limit)...)
}

func (t *copiedTable) read(tx *Tx, from string, args ...any) [][]any {
	return listRows(tx, func(rows *sql.Rows, row *[]any) error {
		*row = make([]any, len(t.columns))
		into := make([]any, len(t.columns))
		for i := range into {
			into[i] = &(*row)[i]
		}
		return rows.Scan(into...)
	}, "SELECT "+strings.Join(t.columns, ", ")+from, args...)
}

// each calls do with all rows after the one with a key, in the order of their keys and in batches. Both databases can store the rows.
func (t *copiedTable) each(tx *Tx, key []any, do func(rows [][]any)) {
	for limit := batchRows; ; {
		rows := t.page(tx, key, limit)
		if len(rows) == 0 || tx.err != nil {
			return
		}
		limit = min(2*len(rows), batchRows)
		key = pick(rows[len(rows)-1], t.key) // as it is stored
		for _, row := range rows {
			makeStorable(row)
		}
		do(rows)
	}
}

func makeStorable(row []any) {
	for i, value := range row {
		if text, ok := value.(string); ok {
			row[i] = storable(text)
		}
	}
}

// atOnce is how many rows a statement inserts.
const atOnce = 100

func (t *copiedTable) insert(tx *Tx, rows [][]any) {
	row := "(?" + strings.Repeat(", ?", len(t.columns)-1) + ")"
	start := "INSERT INTO " + t.name + " (" + strings.Join(t.columns, ", ") + ") VALUES " + row
	for len(rows) >= atOnce {
		tx.do(start+strings.Repeat(", "+row, atOnce-1), slices.Concat(rows[:atOnce]...)...)
		rows = rows[atOnce:]
	}
	for _, one := range rows {
		tx.do(start, one...)
	}
}
