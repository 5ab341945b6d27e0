package main

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cairn/compactor/summarize"
)

// TestMemoriesPage compares docs/memories.md with the view that it describes, and with
// the importance of each kind.
func TestMemoriesPage(t *testing.T) {
	t.Parallel()
	page := read(t, "../../docs/memories.md")
	text := strings.Join(strings.Fields(page), " ")
	p := newFolder(t)
	p.must("/remember we meet at nine\n", "chat")
	db := must(sql.Open("sqlite3", "file:"+filepath.Join(p.dir, "data", "cairn.db")+"?mode=ro"))(t)
	defer db.Close()
	t.Run("its example runs", func(t *testing.T) {
		found := regexp.MustCompile(`sqlite3 -readonly data/cairn.db "([^"]+)"`).FindStringSubmatch(text)
		if found == nil {
			t.Fatal("there is none")
		}
		for example, want := range map[string]int{found[1]: 0, strings.ReplaceAll(found[1], "'decision'", "'fact'"): 1} {
			rows := must(db.Query(example))(t)
			n := 0
			for rows.Next() {
				n++
			}
			if err := rows.Err(); err != nil || n != want {
				t.Errorf("%s: %d rows, %v", example, n, err)
			}
		}
	})
	t.Run("it names all columns", func(t *testing.T) {
		var columns string
		noError(t, db.QueryRow("SELECT group_concat(name, ', ') FROM pragma_table_info('memories_view')").Scan(&columns))
		named := regexp.MustCompile(`with the columns (.*?): .`).FindStringSubmatch(text)
		if named == nil || strings.ReplaceAll(named[1], " (times are UTC)", "") != columns {
			t.Errorf("there are %s; it names %q", columns, named)
		}
	})
	t.Run("it shows the importance of each kind", func(t *testing.T) {
		for _, k := range summarize.MemoryKinds {
			if !strings.Contains(page, fmt.Sprintf("| %s | %.1f", k.Name, k.Importance)) {
				t.Errorf("it does not say that the importance of %s is %.1f", k.Name, k.Importance)
			}
		}
	})
}
