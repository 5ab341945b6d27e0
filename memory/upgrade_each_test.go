package memory

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"cairn/internal/check"
)

// What later versions could also hold: each new table and each new column.
const (
	secondVersion = `
UPDATE conversations SET following = 1, gap = 'm4', gap_again = 1, read_back = 1 WHERE id = 1;
UPDATE inbox SET quote = 'Bob: "here"', optional = 1, incomplete = 1, edited_at = 1500;
UPDATE messages SET quote = 'Ann: "I live"', reply_seq = 1, optional = 1 WHERE id = 1 << 32 | 4;
UPDATE messages SET edited_at = 2500, changed_with = 1 WHERE id = 1 << 32 | 2;
UPDATE compactions SET begun_with = 1;
INSERT INTO files (id, conversation, platform_id, type, data) VALUES (3, 1, 'm2', 'image/png', x'89504e470d0a');
INSERT INTO gone (conversation, platform_id) VALUES (3, 'm9');
INSERT INTO pauses (scope, made_by, made_at) VALUES ('terminal:full', 'Ann', 7), ('', 'Bob', 8);
INSERT INTO outbox (id, conversation, reply, part, parts, answers, text, failure, state, error, created_at, sent_at) VALUES
  (12, 1, 'reply-9', 0, 1, '[]', 'gone', 0, 'dropped', 'nobody is there', 1, 2);
PRAGMA user_version = 2`
	thirdTables = `
UPDATE models SET scale = 120, refuses_images = 1;
UPDATE conversations SET counted = 900, counted_estimate = 800, counted_by = 'small', counted_with = 2, spared_from = 2, spared_to = 3 WHERE id = 1;
INSERT INTO overrides (conversation, key, value, made_by, made_at) VALUES (1, 'keep_last_n', '20', 'Ann', 9);
INSERT INTO pins (conversation, seq, made_by, made_at) VALUES (1, 2, 'Ann', 10);
INSERT INTO conversations (id, name, origin, next_seq, generation, segment_start, created_at) VALUES (4, 'discord:1/10', 'live', 4, 1, 3, 20), (5, 'discord:1/10/11', 'live', 1, 0, 1, 21);
INSERT INTO messages (id, turn, role, platform_id, author_id, author, text, attachments, reply_to, calls, call_id, tool, native, said_at, saved_at, addressed, answered, attempts, tokens) VALUES
  (4 << 32 | 1, 1, 'user', 'd1', 'u3', 'Cleo', 'old', '', '', '', '', '', '', 1000, 1001, 0, 2, 0, 9),
  (4 << 32 | 2, 2, 'user', 'd2', 'u3', 'Cleo', 'older', '', '', '', '', '', '', 1000, 1001, 0, 2, 0, 9),
  (4 << 32 | 3, 3, 'user', 'd3', 'u3', 'Cleo', 'new', '', '', '', '', '', '', 1000, 1001, 0, 2, 0, 9);
INSERT INTO segments (conversation, from_seq, to_seq, settled) VALUES (4, 1, 2, 0);
INSERT INTO compactions (id, conversation, kind, made_by, state, trigger, level, from_seq, to_seq, from_at, to_at, messages, children, text, tokens, created_at, staged_at, landed_at, generation, cleared_before, next_seq) VALUES
  (3, 4, 'marker', 'emergency', 'active', 'new', 0, 1, 2, 1000, 1000, 2, '', '', 0, 5, 5, 5, 1, 0, 3);
INSERT INTO wanted_segments (id, conversation, after, wanted_at) VALUES (2, 3, 7, 30);
INSERT INTO inherited (conversation, place, parent, from_seq, to_seq, from_at, to_at, kind, messages, platform_id, role, author, reply_to, quote, text, attachments, tokens) VALUES
  (5, 0, 4, 3, 3, 1000, 1000, '', 1, 'd3', 'user', 'Cleo', '', '', 'new', '', 9), (5, 1, 4, 1, 2, 1000, 1000, 'marker', 2, '', '', '', '', '', '', '', 5);
PRAGMA user_version = 3`
	fourthTables = `
INSERT OR IGNORE INTO members (conversation, term, name) VALUES (1, 'ann', 'Ann');
UPDATE memories SET expires_at = 99, pinned = 1 WHERE id = 1;
UPDATE conversations SET audience = 'server' WHERE id = 1;
INSERT INTO unscrubbed (id) SELECT 77 WHERE NOT EXISTS (SELECT 1 FROM unscrubbed);
INSERT OR IGNORE INTO memory_people (memory, author_id, role) VALUES (1, 'u1', 'about');
INSERT INTO optouts (door, author_id, name, made_at) VALUES ('discord', 'u9', 'Zoe', 40);
INSERT INTO erasures (conversation, author_id, before, upto) VALUES (3, 'u9', 2, 1);
PRAGMA user_version = 4`
	fifthTables = `
UPDATE messages SET context = 'Ann lives in Turin.' WHERE id = 1 << 32 | 2;
INSERT INTO quotes (kind, source, message) VALUES ('message', 1 << 32 | 1, 1 << 32 | 2), ('memory', 1, 1 << 32 | 2);
INSERT INTO usage (conversation, day, kind, model, requests, input, cached, written, output) VALUES (1, '2026-03-01', 'turn', 'small', 1, 2, 3, 4, 5);
PRAGMA user_version = 5`
)

// leaveVersion creates a file as a version left it, with rows in all of its tables.
func leaveVersion(t *testing.T, dir string, version int) {
	t.Helper()
	leaveFirstVersion(t, dir)
	db := open(File(dir), writerPragmas)
	defer db.Close()
	scripts := []string{migrations[1], secondVersion, migrations[2], thirdTables, migrations[3], fourthTables, migrations[4], fifthTables, migrations[5], "PRAGMA user_version = 6", migrations[6], "PRAGMA user_version = 7", migrations[7], "PRAGMA user_version = 8"}
	counts, _ := count(memoryTerms("Ann lives in Turin.", "Ann"))
	for term, n := range counts { // as its index has it
		check.Must(db.Exec("INSERT OR REPLACE INTO memory_terms (term, conversation, memory, tf, length) VALUES (?, 1, 1, ?, 3)", term, n))(t)
	}
	for i, script := range scripts[:2*(version-1)] {
		check.Must(db.Exec(script))(t)
		if reached := 2 + i/2; i%2 == 1 && reached >= 5 && fills[reached] != nil {
			check.NoError(t, transact(ctx, db, fills[reached]))
		}
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

// namesNow returns the columns of each table under their names since the sixth version.
func namesNow(columns map[string][]string) map[string][]string {
	now := map[string][]string{}
	for table, names := range columns {
		for _, name := range names {
			now[nameNow(table)] = append(now[nameNow(table)], nameNow(name))
		}
	}
	return now
}

// valuesNow returns the rows of a table with the values of the sixth version.
func valuesNow(table string, rows []string) (now []string) {
	names := strings.NewReplacer("'marker'", "'placeholder'", "'built-in'", "'extractive'", "'heal'", "'repair'", "'staged'", "'prepared'", "'folded'", "'rolled_up'", "'wanted_segments'", "'wanted_sessions'")
	for _, row := range rows {
		row = names.Replace(row)
		if table == "compactions" {
			row = strings.ReplaceAll(row, "'active'", "'applied'")
		}
		now = append(now, row)
	}
	slices.Sort(now)
	return now
}

// selected reads the wanted columns of each table, and their rows; nil: all columns.
func selected(t *testing.T, path string, wanted map[string][]string) (columns, rows map[string][]string) {
	t.Helper()
	db := open(path, readerPragmas)
	defer db.Close()
	columns, rows = map[string][]string{}, map[string][]string{}
	check.NoError(t, observe(ctx, db, func(tx *transaction) error {
		if wanted == nil {
			wanted = map[string][]string{}
			err := each(tx, func(r *sql.Rows) error {
				var table, column string
				err := r.Scan(&table, &column)
				wanted[table] = append(wanted[table], column)
				return err
			}, "SELECT s.name, c.name FROM sqlite_schema s, pragma_table_info(s.name) c WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite_stat%' AND c.name <> 'begun_with'")
			if err != nil {
				return err
			}
		}
		for table, names := range wanted {
			columns[table] = names
			var quoted []string
			for _, name := range names {
				quoted = append(quoted, "quote("+name+")")
			}
			err := each(tx, func(r *sql.Rows) error {
				var row string
				err := r.Scan(&row)
				rows[table] = append(rows[table], row)
				return err
			}, "SELECT "+strings.Join(quoted, "||'|'||")+" FROM "+table)
			if err != nil {
				return err
			}
			slices.Sort(rows[table])
		}
		return nil
	}))
	return columns, rows
}

// wantRows checks that a database has the rows of before: the copy as they were, the upgraded
// database with the names and values of today.
func wantRows(t *testing.T, what, dir, path string, columns, before map[string][]string) {
	t.Helper()
	if path != File(dir) {
		if _, after := selected(t, path, columns); !reflect.DeepEqual(after, before) {
			t.Errorf("%s:\nhas  %q\nhad  %q", what, after, before)
		}
		return
	}
	_, after := selected(t, path, namesNow(columns))
	for table, rows := range before {
		if table == "unscrubbed" || slices.Contains(derived, table) {
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
		if !slices.Equal(now, rows) {
			t.Errorf("%s: %s\nhas  %q\nhad  %q", what, table, now, rows)
		}
	}
}

func TestUpgradeFromEachVersion(t *testing.T) {
	for version := 1; version < len(migrations); version++ {
		t.Run(fmt.Sprintf("from %d nothing is lost and nothing is changed", version), func(t *testing.T) {
			dir := t.TempDir()
			leaveVersion(t, dir, version)
			columns, before := selected(t, File(dir), nil)
			for table, rows := range before {
				if len(rows) == 0 && table != "sqlite_sequence" {
					t.Fatalf("%s is empty: the upgrade of it is not tried", table)
				}
			}
			s := openStore(t, dir)
			if found, err := s.Upkeep().Check(ctx); err != nil || len(found) > 0 {
				t.Errorf("Examine finds %v, %v", found, err)
			}
			s.Close()
			wantRows(t, "upgraded", dir, File(dir), columns, before)
			copied := fmt.Sprintf("%s.before-%d", File(dir), len(migrations))
			if c, err := Inspect(ctx, copied); err != nil || c.Version != version {
				t.Fatalf("the copy is %+v, %v", c, err)
			}
			wantRows(t, "the copy", dir, copied, columns, before)
			if info, err := os.Stat(copied); err != nil || info.Mode().Perm() != 0o600 {
				t.Error(info, err)
			}
			t.Run("and the copy leads back", func(t *testing.T) {
				if _, _, err := Restore(ctx, dir, copied); err != nil {
					t.Fatal(err)
				}
				check.Equal(t, "the result", check.Must(Inspect(ctx, File(dir)))(t).Version, version)
				write(t, dir, upgradeFolder+"1", "left by one that was killed")
				openStore(t, dir).Close() // with the copy of the first upgrade still there
				check.Equal(t, "what is kept already is kept once more", len(check.Must(filepath.Glob(copied+"-*"))(t)), 0)
				check.Equal(t, "is left", len(check.Must(filepath.Glob(filepath.Join(dir, upgradeFolder+"*")))(t)), 0)
			})
			t.Run("and what was said after that is kept too", func(t *testing.T) {
				if _, _, err := Restore(ctx, dir, copied); err != nil {
					t.Fatal(err)
				}
				db, err := sql.Open("sqlite3", "file:"+File(dir)+"?_foreign_keys=on")
				if err == nil && version >= 4 {
					_, err = db.Exec("DELETE FROM memory_people")
				}
				if err == nil {
					_, err = db.Exec("DELETE FROM memory_sources; DELETE FROM memories") // for example: it is not what it was
				}
				check.NoError(t, errors.Join(err, db.Close()))
				openStore(t, dir)
				check.Equal(t, "the copies of the next upgrade", len(check.Must(filepath.Glob(copied+"-*"))(t)), 1)
			})
		})
	}
}

func TestSeveralProcessesUpgradeAtOnce(t *testing.T) {
	for version := range len(migrations) {
		dir := t.TempDir()
		if version == 0 {
			write(t, dir, databaseName, "")
			db := open(File(dir), writerPragmas) // SQLite has no busy timeout for switching a file to WAL
			check.NoError(t, errors.Join(db.Ping(), db.Close()))
		} else {
			leaveVersion(t, dir, version)
		}
		var mu sync.Mutex // guards did
		did := 0
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				db := open(File(dir), writerPragmas)
				defer db.Close()
				from, to, err := migrate(ctx, db)
				if err != nil || to != len(migrations) {
					t.Errorf("from version %d: %d, %v", version, to, err)
				}
				mu.Lock()
				defer mu.Unlock()
				if from != to {
					did++
				}
			})
		}
		all.Wait()
		if did != 1 {
			t.Errorf("from version %d: %d of them did it", version, did)
		}
		openStore(t, dir).Close()
	}
}

func TestADamagedFileIsNotUpgraded(t *testing.T) {
	dir := t.TempDir()
	leaveVersion(t, dir, 3)
	db := open(File(dir), writerPragmas)
	var page, size int64
	check.NoError(t, db.QueryRow("SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = 'pins'").Scan(&page, &size))
	check.NoError(t, db.Close())
	overwrite(t, File(dir), size*(page-1), slices.Repeat([]byte{0xee}, int(size)))
	was := check.Must(os.ReadFile(File(dir)))(t)
	check.Error(t, check.ErrorOf(Open(ctx, Options{Dir: dir})), ErrDamaged)
	if now, err := os.ReadFile(File(dir)); err != nil || !slices.Equal(now, was) {
		t.Error("the file is another one", err)
	}
}

// overwrite puts bytes at a place of a file.
func overwrite(t testing.TB, path string, at int64, bytes []byte) {
	t.Helper()
	file := check.Must(os.OpenFile(path, os.O_WRONLY, 0))(t)
	defer file.Close()
	check.Must(file.WriteAt(bytes, at))(t)
}
