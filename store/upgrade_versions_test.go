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

	"cairn/internal/check"
	"cairn/store"
)

// firstVersion is a file as the first version left it: a conversation with messages and
// everything else it can hold, an empty one, and one with a full inbox.
const firstVersion = `
INSERT INTO conversations (id, name, origin, next_seq, generation, cleared_to, created_at) VALUES
  (1, 'terminal:general', 'live', 5, 2, 3, 10), (2, 'terminal:empty', '', 1, 0, 0, 11), (3, 'terminal:full', '', 1, 0, 0, 12);
INSERT INTO inbox (id, conversation, platform_id, author_id, author, text, attachments, reply_to, said_at, received_at, addressed) VALUES
  (7, 3, 'm1', 'u1', 'Ann', 'are you there?', '[{"kind":"image","name":"cat.png","url":"https://x.test/cat"}]', 'm0', 1000, 1001, 1);
INSERT INTO messages (id, turn, role, platform_id, author_id, author, text, attachments, reply_to, calls, call_id, tool, native, said_at, saved_at, addressed, answered, attempts, tokens) VALUES
  (1 << 32 | 1, 1, 'user', 'm1', 'u1', 'Ann', 'I live in Turin', '', '', '', '', '', '', 1000, 1001, 0, 2, 0, 9),
  (1 << 32 | 2, 2, 'user', 'm2', 'u1', 'Ann', 'what time is it?', '', 'm1', '', '', '', '', 2000, 2001, 1, 1, 1, 10),
  (1 << 32 | 3, 2, 'assistant', 'reply-3', '', '', 'half past nine', '', '', '', '', '', '{"a":1}', 3000, 3001, 0, NULL, 0, 8),
  (1 << 32 | 4, 4, 'user', 'm4', 'u2', 'Bob', 'and now?', '', '', '', '', '', '', 4000, 4001, 1, 0, 1, 7);
INSERT INTO compactions (id, conversation, kind, made_by, state, trigger, level, from_seq, to_seq, from_at, to_at, messages, children, text, tokens, created_at, staged_at, landed_at, generation) VALUES
  (1, 1, 'leaf', 'worker', 'active', 'background', 0, 1, 1, 1000, 1000, 1, '', 'Ann lives in Turin.', 9, 5000, 5001, 5002, 1),
  (2, 1, 'leaf', 'worker', 'staged', 'background', 0, 2, 3, 2000, 3000, 2, '', 'The time was told.', 8, 5003, 5004, NULL, NULL);
INSERT INTO memories (id, conversation, kind, content, folded, importance, speaker, about, made_by, compaction, said_at, saved_at) VALUES
  (1, 1, 'fact', 'Ann lives in Turin.', 'ann lives in turin', 0.5, 'Ann', 'Ann', 'worker', 1, 1000, 5001);
INSERT INTO memory_sources (memory, message) VALUES (1, 1 << 32 | 1);
INSERT INTO message_terms (conversation, term, seq, tf, length) VALUES (1, 'turin', 1, 1, 3);
INSERT INTO memory_terms (term, conversation, memory, tf, length) VALUES ('turin', 1, 1, 1, 3);
INSERT INTO outbox (id, conversation, reply, part, parts, answers, text, failure, state, platform_id, created_at, sent_at) VALUES
  (5, 1, 'reply-3', 0, 2, '["m2"]', 'half past', 0, 'sent', 'p1', 3000, 3002),
  (6, 1, 'reply-3', 1, 2, '["m2"]', ' nine', 0, 'sending', '', 3000, NULL),
  (9, 1, 'notice-4', 0, 1, '["m4"]', 'sorry', 1, 'waiting', '', 4000, NULL);
INSERT INTO models (name, window, updated_at) VALUES ('small', 4096, 1);`

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
  (12, 1, 'reply-9', 0, 1, '[]', 'gone', 0, 'dropped', 'nobody is there', 1, 2);`
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
  (5, 0, 4, 3, 3, 1000, 1000, '', 1, 'd3', 'user', 'Cleo', '', '', 'new', '', 9), (5, 1, 4, 1, 2, 1000, 1000, 'marker', 2, '', '', '', '', '', '', '', 5);`
	fourthTables = `
INSERT OR IGNORE INTO members (conversation, term, name) VALUES (1, 'ann', 'Ann');
UPDATE memories SET expires_at = 99, pinned = 1 WHERE id = 1;
UPDATE conversations SET audience = 'server' WHERE id = 1;
INSERT INTO unscrubbed (id) SELECT 77 WHERE NOT EXISTS (SELECT 1 FROM unscrubbed);
INSERT OR IGNORE INTO memory_people (memory, author_id, role) VALUES (1, 'u1', 'about');
INSERT INTO optouts (door, author_id, name, made_at) VALUES ('discord', 'u9', 'Zoe', 40);
INSERT INTO erasures (conversation, author_id, before, upto) VALUES (3, 'u9', 2, 1);`
	fifthTables = `
UPDATE messages SET context = 'Ann lives in Turin.' WHERE id = 1 << 32 | 2;
INSERT INTO quotes (kind, source, message) VALUES ('message', 1 << 32 | 1, 1 << 32 | 2), ('memory', 1, 1 << 32 | 2);
INSERT INTO usage (conversation, day, kind, model, requests, input, cached, written, output) VALUES (1, '2026-03-01', 'turn', 'small', 1, 2, 3, 4, 5);`
	eighthTables = "INSERT INTO turn_usage (id, window, used, counted, estimated, context, factor) VALUES (1 << 32 | 3, 4096, 900, 800, 790, 10, 1.2)"
	ninthTables  = `
INSERT INTO tasks (id, parent, root, number, agent, text, began, author, above, own, state, created_at) VALUES (5, 4, 4, 1, 'one', 'count', 3, 'u3', '{}', '{}', 'open', 7);
INSERT INTO task_sources (message, task) VALUES (4 << 32 | 3, 5);`
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
	more := []string{firstVersion, secondVersion, thirdTables, fourthTables, fifthTables, "", "", eighthTables, ninthTables}
	for i, migration := range store.Migrations[:len(store.Migrations)-1] {
		version := i + 1
		db := store.OpenFile(store.File(dir), store.WriterPragmas)
		must(db.Exec(migration))
		if i < len(more) {
			must(db.Exec(more[i]))
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

// runScripts runs SQL on the database in a folder.
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

// overwrite puts bytes at a place of a file.
func overwrite(t testing.TB, path string, at int64, bytes []byte) {
	t.Helper()
	file := check.Must(os.OpenFile(path, os.O_WRONLY, 0))(t)
	defer file.Close()
	check.Must(file.WriteAt(bytes, at))(t)
}
