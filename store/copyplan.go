// What a copy of a whole store consists of: the tables of the schema, in an order in which their rows can be written.

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

// copyPlan returns the tables of the schema. SQLite reads it, which is the same for both databases: a table that a migration adds is
// copied, too. A row comes after the rows to which it refers, but for those of its own table.
func copyPlan(ctx context.Context) (plan []copiedTable, err error) {
	db, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		return nil, err
	}
	var tables []copiedTable
	err = transact(ctx, db, toWrite, func(tx *Tx) {
		tx.do(schema)
		tables = listRows(tx, func(rows *sql.Rows, t *copiedTable) error { return rows.Scan(&t.name, &t.counts) },
			"SELECT name, instr(sql, 'PRIMARY KEY AUTOINCREMENT') > 0 FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid")
		for i := range tables {
			tables[i].describe(tx)
		}
	})
	err = errors.Join(err, db.Close())
	for len(tables) > 0 && err == nil {
		next := slices.IndexFunc(tables, func(t copiedTable) bool { return !t.refersTo(tables) })
		if next < 0 {
			return nil, fmt.Errorf("the tables from %s on refer to each other in a circle", tables[0].name)
		}
		plan = append(plan, tables[next])
		tables = slices.Delete(tables, next, next+1)
	}
	return plan, err
}

func (t *copiedTable) describe(tx *Tx) {
	places := map[int]int{} // of the primary key
	eachRow(tx, func(rows *sql.Rows) error {
		var name, kind string
		var inKey int
		err := rows.Scan(&name, &kind, &inKey)
		if inKey > 0 {
			places[inKey] = len(t.columns)
		}
		t.columns = append(t.columns, `"`+name+`"`)
		if kind == "TEXT" || kind == "BLOB" {
			t.sizes = append(t.sizes, `"`+name+`"`)
		}
		return err
	}, "SELECT name, type, pk FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid", t.name)
	for n := range len(places) {
		t.key = append(t.key, places[n+1])
	}
	eachRow(tx, func(rows *sql.Rows) error {
		var column, other string
		err := rows.Scan(&column, &other)
		if other == t.name {
			t.own = append(t.own, slices.Index(t.columns, `"`+column+`"`))
		}
		t.refers = append(t.refers, other)
		return err
	}, `SELECT "from", "table" FROM pragma_foreign_key_list(?)`, t.name)
}

// refersTo reports whether the table refers to another one of the tables.
func (t *copiedTable) refersTo(tables []copiedTable) bool {
	return slices.ContainsFunc(tables, func(other copiedTable) bool { return other.name != t.name && slices.Contains(t.refers, other.name) })
}
