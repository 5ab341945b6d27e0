package store_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/store"
)

// A new database has the same tables as an old one after all migrations: the same columns in the
// same order, with the same checks, indexes, triggers and views.
func TestSchemaMatchesMigrations(t *testing.T) {
	made, migrated := schemaOf(t, store.Schema), schemaOf(t, strings.Join(store.Migrations, "\n"))
	for name, want := range migrated {
		check.Equal(t, name+": schema.sql", made[name], want)
	}
	for name := range made {
		if _, ok := migrated[name]; !ok {
			t.Errorf("no migration creates %s", name)
		}
	}
}

// schemaOf returns what a script creates in an empty database, by name, without comments and with
// uniform white space.
func schemaOf(t *testing.T, script string) map[string]string {
	t.Helper()
	path := filepath.Join(t.TempDir(), store.DatabaseName)
	check.NoError(t, os.WriteFile(path, nil, 0o600))
	db := store.OpenFile(path, store.WriterPragmas)
	defer db.Close()
	check.Must(db.Exec(script))(t)
	rows, err := db.Query("SELECT type || ' ' || name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
	check.NoError(t, err)
	defer rows.Close()
	found := map[string]string{}
	for rows.Next() {
		var name, sql string
		check.NoError(t, rows.Scan(&name, &sql))
		for _, r := range []struct{ from, to string }{{`--[^\n]*`, ""}, {`\s+`, " "}, {` ?([(),;]) ?`, "$1"}, {`^(CREATE TABLE )"(\w+)"`, "$1$2"}} {
			sql = regexp.MustCompile(r.from).ReplaceAllString(sql, r.to)
		}
		found[name] = sql
	}
	check.NoError(t, rows.Err())
	if len(found) < 30 {
		t.Fatalf("got only %d parts", len(found))
	}
	return found
}
