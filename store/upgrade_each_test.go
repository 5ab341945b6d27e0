package store_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/store"
)

// selected reads the wanted columns of each table, and their rows; nil: all columns.
func selected(t *testing.T, path string, wanted map[string][]string) (columns, rows map[string][]string) {
	t.Helper()
	db := store.OpenFile(path, store.ReaderPragmas)
	defer db.Close()
	if wanted == nil {
		wanted = map[string][]string{}
		for _, name := range listed(t, db, `SELECT s.name || '.' || c.name FROM sqlite_schema s, pragma_table_info(s.name) c
			WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite_stat%' AND c.name <> 'begun_with'`) {
			table, column, _ := strings.Cut(name, ".")
			wanted[table] = append(wanted[table], column)
		}
	}
	rows = map[string][]string{}
	for table, names := range wanted {
		rows[table] = listed(t, db, "SELECT quote("+strings.Join(names, ") || '|' || quote(")+") FROM "+table+" ORDER BY 1")
	}
	return wanted, rows
}

// listed returns the texts that a query finds in a database.
func listed(t *testing.T, db *sql.DB, query string) (found []string) {
	t.Helper()
	check.NoError(t, store.Observe(ctx, db, func(tx *store.Tx) (err error) {
		found, err = store.Column[string](tx, query)
		return err
	}))
	return found
}

// wantRows compares a database with the rows of before: the copy with its old names, the upgraded
// database with the current names and values.
func wantRows(t *testing.T, what, dir, path string, columns, before map[string][]string) {
	t.Helper()
	if path != store.File(dir) {
		if _, after := selected(t, path, columns); !reflect.DeepEqual(after, before) {
			t.Errorf("%s:\nhas  %q\nhad  %q", what, after, before)
		}
		return
	}
	_, after := selected(t, path, namesNow(columns))
	for table, rows := range before {
		if table == "unscrubbed" || slices.Contains(store.Derived, table) {
			continue // the store erases when it opens, and builds what is derived again
		}
		now, rows := after[nameNow(table)], valuesNow(table, rows)
		switch table {
		case "sqlite_sequence": // newer tables have rows there too
			now = slices.DeleteFunc(now, func(row string) bool { return !slices.Contains(rows, row) || strings.Contains(row, "unscrubbed") })
			rows = slices.DeleteFunc(rows, func(row string) bool { return strings.Contains(row, "unscrubbed") })
		case "messages": // the reasoning of turns that ended is dropped, and no longer counted
			for i, row := range rows {
				rows[i] = strings.Replace(row, `'{"a":1}'|3000|3001|0|NULL|0|8`, "''|3000|3001|0|NULL|0|7", 1)
			}
		}
		check.That(t, slices.Equal(now, rows), "%s: %s\nhas  %q\nhad  %q", what, table, now, rows)
	}
}

func TestUpgradeFromEachVersion(t *testing.T) {
	for version := 1; version < len(store.Migrations); version++ {
		t.Run(fmt.Sprintf("from %d nothing is lost and nothing is changed", version), func(t *testing.T) {
			dir := t.TempDir()
			leaveVersion(t, dir, version)
			columns, before := selected(t, store.File(dir), nil)
			for table, rows := range before {
				check.Require(t, len(rows) > 0 || table == "sqlite_sequence", "%s is empty: the test proves nothing about it", table)
			}
			s := storetest.OpenStore(t, dir)
			wantSound(t, s)
			s.Close()
			wantRows(t, "upgraded", dir, store.File(dir), columns, before)
			copied := fmt.Sprintf("%s.before-%d", store.File(dir), len(store.Migrations))
			check.Equal(t, "version of the copy", check.Must(store.Inspect(ctx, copied))(t).Version, version)
			wantRows(t, "the copy", dir, copied, columns, before)
			check.Equal(t, "permissions", check.Must(os.Stat(copied))(t).Mode().Perm(), 0o600)
		})
	}
	t.Run("the copy can be restored, and a later upgrade replaces it", func(t *testing.T) {
		dir := t.TempDir()
		last := len(store.Migrations) - 1
		leaveVersion(t, dir, last)
		storetest.OpenStore(t, dir).Close()
		copied := fmt.Sprintf("%s.before-%d", store.File(dir), last+1)
		restore(t, dir, copied)
		check.Equal(t, "version", check.Must(store.Inspect(ctx, store.File(dir)))(t).Version, last)
		runScripts(t, dir, "DELETE FROM memory_people; DELETE FROM memory_sources; DELETE FROM memories") // for example: it differs
		write(t, dir, store.CopyFolder+"1", "left by one that was killed")
		storetest.OpenStore(t, dir)
		check.Equal(t, "memories in the copy of the next upgrade", check.Must(store.Inspect(ctx, copied))(t).Memories, 0)
		for pattern, want := range map[string]int{copied + "*": 1, filepath.Join(dir, store.CopyFolder+"*"): 0} {
			check.Len(t, pattern, check.Must(filepath.Glob(pattern))(t), want)
		}
	})
	t.Run("a damaged file is not upgraded", func(t *testing.T) {
		dir := t.TempDir()
		leaveVersion(t, dir, 3)
		at, size := rootOf(t, dir, "pins")
		overwrite(t, store.File(dir), at, bytes.Repeat([]byte{0xee}, int(size)))
		was := read(t, store.File(dir))
		check.Error(t, check.ErrorOf(store.Open(ctx, store.Options{Dir: dir})), store.ErrDamaged)
		check.Equal(t, "the file is unchanged", read(t, store.File(dir)) == was, true)
	})
}

// A new database has the same tables as an old one after all migrations: the same columns in the
// same order, with the same checks, indexes, triggers and views.
func TestSchemaMatchesMigrations(t *testing.T) {
	made, migrated := t.TempDir(), t.TempDir()
	leaveVersion(t, migrated, len(store.Migrations)-1)
	var parts [2][]string
	for i, dir := range []string{made, migrated} {
		s := check.Must(store.Open(ctx, store.Options{Dir: dir}))(t)
		defer s.Close()
		for _, sql := range listed(t, s.Writing(), "SELECT sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name") {
			for _, r := range []struct{ from, to string }{{`--[^\n]*`, ""}, {`\s+`, " "}, {` ?([(),;]) ?`, "$1"}, {`(CREATE TABLE )"(\w+)"`, "$1$2"}} {
				sql = regexp.MustCompile(r.from).ReplaceAllString(sql, r.to)
			}
			parts[i] = append(parts[i], sql)
		}
	}
	check.Len(t, "parts of schema.sql", parts[0], len(parts[1]))
	for i, want := range parts[1] {
		check.Equal(t, "schema.sql", parts[0][i], want)
	}
}
