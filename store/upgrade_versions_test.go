package store_test

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"cairn/store"
	"cairn/testkit/check"
)

// leaveVersion leaves a file in a folder as a version left it, with rows in all of its tables, and runs more SQL on it.
func leaveVersion(t *testing.T, dir string, version int, more ...string) {
	t.Helper()
	write(t, dir, store.DatabaseName, versions()[version-1])
	runScripts(t, dir, more...)
}

// versions are the files of all earlier versions, each made from the one before.
var versions = sync.OnceValue(func() (files []string) {
	dir := must(os.MkdirTemp("", "cairn"))
	defer os.RemoveAll(dir)
	must(0, os.WriteFile(store.File(dir), nil, 0o600))
	for i, migration := range store.Migrations[:len(store.Migrations)-1] {
		version := i + 1
		db := store.OpenFile(store.File(dir), store.WriterPragmas)
		must(db.Exec(migration))
		if more, err := os.ReadFile(fmt.Sprintf("testdata/%d.sql", version)); err == nil { // the others have no new tables
			must(db.Exec(string(more)))
		}
		must(db.Exec(fmt.Sprint("PRAGMA user_version = ", version)))
		if version == 1 {
			counts, _ := store.CountTerms(store.MemoryTerms("Ann lives in Turin.", "Ann"))
			for term, n := range counts { // as its index has it
				must(db.Exec("INSERT OR REPLACE INTO memory_terms (term, conversation, memory, tf, length) VALUES (?, 1, 1, ?, 3)", term, n))
			}
		}
		if version >= 5 && store.Fills[version] != nil {
			must(0, store.Transact(ctx, db, store.ToWrite, store.Fills[version]))
		}
		must(0, db.Close())
		files = append(files, string(must(os.ReadFile(store.File(dir)))))
	}
	return files
})

func runScripts(t *testing.T, dir string, scripts ...string) {
	t.Helper()
	db := store.OpenFile(store.File(dir), store.WriterPragmas)
	defer db.Close()
	for _, script := range scripts {
		check.Must(db.Exec(script))(t)
	}
}

// nameNow returns the name of a table or a column since the sixth version.
func nameNow(name string) string {
	names := map[string]string{
		"segments": "sessions", "wanted_segments": "wanted_sessions", "generation": "version", "segment_start": "session_start",
		"door": "connector", "staged_at": "ended_at", "prepared_at": "ended_at", "landed_at": "applied_at",
	}
	return cmp.Or(names[name], name)
}

// unkept is the text of a piece that was sent or dropped, which is not kept since the tenth version.
var unkept = regexp.MustCompile(`'[^']*'(\|[01]\|'(?:sent|dropped)')`)

// valuesNow returns the rows of a table with the values of the newest version.
func valuesNow(table string, rows []string) (now []string) {
	names := strings.NewReplacer("'marker'", "'placeholder'", "'built-in'", "'extractive'", "'heal'", "'repair'", "'staged'", "'prepared'", "'folded'", "'rolled_up'", "'wanted_segments'", "'wanted_sessions'")
	for _, row := range rows {
		row = names.Replace(row)
		if table == "compactions" {
			row = strings.ReplaceAll(row, "'active'", "'applied'")
		}
		if table == "outbox" {
			row = unkept.ReplaceAllString(row, "''$1")
		}
		now = append(now, row)
	}
	slices.Sort(now)
	return now
}

func overwrite(t testing.TB, path string, at int64, bytes []byte) {
	t.Helper()
	file := check.Must(os.OpenFile(path, os.O_WRONLY, 0))(t)
	defer file.Close()
	check.Must(file.WriteAt(bytes, at))(t)
}
