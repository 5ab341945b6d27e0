package main

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cairn/internal/check"

	"cairn/compactor/summarize"
)

// TestMemoriesPage compares docs/memories.md with the importance of each kind.
func TestMemoriesPage(t *testing.T) {
	page := read(t, checkout+"/docs/memories.md")
	for _, k := range summarize.MemoryKinds {
		check.Contains(t, "the page", page, fmt.Sprintf("| %s | %.1f", k.Name, k.Importance))
	}
}

// TestPagesShowWhatCommandsPrint compares the documentation with what the commands print about the
// sample conversation, but for times.
func TestPagesShowWhatCommandsPrint(t *testing.T) {
	t.Parallel()
	p := fillGarden(t)
	times := regexp.MustCompile(`(saved at    |answered in )\S+( \d\d:\d\d)?`)
	for _, shown := range []struct {
		page string
		args []string
	}{
		{"quickstart.md", []string{"context"}},
		{"quickstart.md", []string{"recall", "when is the open day?", "--limit", "2"}},
		{"memories.md", []string{"memories", "show", "16"}},
		{"privacy.md", []string{"purge", "--user", "Ines", "--dry-run"}},
		{"troubleshooting.md", []string{"doctor"}},
	} {
		page := times.ReplaceAllString(read(t, checkout+"/docs/"+shown.page), "$1")
		check.Contains(t, shown.page, page, times.ReplaceAllString(p.must("", shown.args...), "$1"))
	}
}

// TestQueriesPage compares docs/queries.md with the views, and runs its queries on a
// conversation that has an answer to each.
func TestQueriesPage(t *testing.T) {
	t.Parallel()
	page := read(t, checkout+"/docs/queries.md")
	p := fillGarden(t)
	p.must("/remember we meet at nine\n", "chat")
	db := check.Must(sql.Open("sqlite3", filepath.Join(p.dir, "data", "cairn.db")))(t)
	defer db.Close()
	t.Run("it names all views and their columns", func(t *testing.T) {
		rows := check.Must(db.Query("SELECT v.name, group_concat(c.name, ', ') FROM sqlite_schema v, pragma_table_info(v.name) c WHERE v.type = 'view' GROUP BY v.name"))(t)
		defer rows.Close()
		n := 0
		for ; rows.Next(); n++ {
			var view, columns string
			check.NoError(t, rows.Scan(&view, &columns))
			if !regexp.MustCompile("(?m)^\\| `" + view + "` \\| .* \\| " + regexp.QuoteMeta(columns) + " \\|$").MatchString(page) {
				t.Errorf("the page lacks: %s has the columns %s", view, columns)
			}
		}
		check.Equal(t, "views", n, strings.Count(page, "_view` |"))
	})
	// What the sample lacks: a decision, a task, a superseded fact, an emergency, and messages of
	// this year.
	for _, change := range []string{
		"UPDATE memories SET kind = 'decision', said_at = unixepoch() * 1000 WHERE id = 2", "UPDATE memories SET kind = 'todo' WHERE id = 3",
		"UPDATE memories SET state = 'superseded', superseded_by = 5 WHERE id = 4", "UPDATE compactions SET trigger = 'emergency' WHERE id = 2",
		"UPDATE messages SET said_at = unixepoch() * 1000 WHERE seq = 80",
	} {
		check.Must(db.Exec(change))(t)
	}
	queries := regexp.MustCompile("(?s)\n([^\n]*\\?)\n\n```sql\n(.*?)```").FindAllStringSubmatch(page, -1)
	check.Equal(t, "queries", len(queries), 10)
	for _, q := range queries {
		rows, err := db.Query(q[2])
		if err != nil {
			t.Errorf("%s %v", q[1], err)
			continue
		}
		n := 0
		for rows.Next() {
			n++
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil || n == 0 {
			t.Errorf("%s %d rows, %v", q[1], n, err)
		}
	}
}
