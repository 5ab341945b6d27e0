package store_test

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/store"
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
	db := store.OpenFile(store.File(dir), store.WriterPragmas)
	defer db.Close()
	scripts := []string{store.Migrations[1], secondVersion, store.Migrations[2], thirdTables, store.Migrations[3], fourthTables, store.Migrations[4], fifthTables, store.Migrations[5], "PRAGMA user_version = 6", store.Migrations[6], "PRAGMA user_version = 7", store.Migrations[7], "PRAGMA user_version = 8", store.Migrations[8], "PRAGMA user_version = 9"}
	counts, _ := store.CountTerms(store.MemoryTerms("Ann lives in Turin.", "Ann"))
	for term, n := range counts { // as its index has it
		check.Must(db.Exec("INSERT OR REPLACE INTO memory_terms (term, conversation, memory, tf, length) VALUES (?, 1, 1, ?, 3)", term, n))(t)
	}
	for i, script := range scripts[:2*(version-1)] {
		check.Must(db.Exec(script))(t)
		if reached := 2 + i/2; i%2 == 1 && reached >= 5 && store.Fills[reached] != nil {
			check.NoError(t, store.Transact(ctx, db, store.Fills[reached]))
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
