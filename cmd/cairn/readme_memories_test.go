package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cairn/compactor"
)

// TestReadmeShowsMemories holds README.md to the view that it describes, and to what
// the kinds of memory are worth.
func TestReadmeShowsMemories(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(readme)), " ")
	p := newFolder(t)
	p.must("/remember we meet at nine\n", "chat")
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(p.dir, "data", "cairn.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	t.Run("its example runs", func(t *testing.T) {
		found := regexp.MustCompile(`sqlite3 -readonly data/cairn.db "([^"]+)"`).FindStringSubmatch(text)
		if found == nil {
			t.Fatal("there is none")
		}
		for example, want := range map[string]int{found[1]: 0, strings.ReplaceAll(found[1], "'decision'", "'fact'"): 1} {
			rows, err := db.Query(example)
			if err != nil {
				t.Fatal(err)
			}
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
		if err := db.QueryRow("SELECT group_concat(name, ', ') FROM pragma_table_info('memories_view')").Scan(&columns); err != nil {
			t.Fatal(err)
		}
		named := regexp.MustCompile(`with the columns (.*?): .`).FindStringSubmatch(text)
		if named == nil || strings.ReplaceAll(named[1], " (times are UTC)", "") != columns {
			t.Errorf("there are %s; it names %q", columns, named)
		}
	})
	t.Run("it tells what kinds are worth", func(t *testing.T) {
		for _, k := range compactor.MemoryKinds {
			if !regexp.MustCompile(fmt.Sprintf(`%s(| and [a-z]+)( \([a-z ]+\))? %.1f|%s %.1f`, k.Name, k.Importance, k.Name, k.Importance)).MatchString(text) {
				t.Errorf("not that %s is worth %.1f", k.Name, k.Importance)
			}
		}
	})
}
