package store_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

const byAuthor = "messages_author (author_id=? AND rowid>"

// plans are parts of statements that the store runs, with the index by which each statement with that part should run.
var plans = []struct{ part, by string }{
	{"answered = 0 ORDER BY id LIMIT 1", "messages_waiting (id>"},
	{"OR c.id IN (SELECT conversation FROM messages WHERE answered = 0)", "messages_waiting"},
	{"AND changed_with > ?2", "messages_changed (id>"},
	{"changed_with IS NOT NULL AND deleted_at IS NOT NULL AND turn = ?", "messages_changed (id>"},
	{"changed_with IS NOT NULL AND role = 'user' AND addressed = 1 AND deleted_at >= ?2", "messages_changed (id>"},
	{"AND context <> '' AND deleted_at IS NULL ORDER BY id", "messages_context (id>"},
	{"addressed = 1 AND deleted_at IS NULL ORDER BY id DESC LIMIT 1", "messages_addressed (id>"},
	{"deleted_at IS NULL AND addressed = 1 ORDER BY id LIMIT ?", "messages_addressed (id>"},
	{"m.addressed = 1 AND m.turn = ?3 AND instr(m.platform_id, ?4) <> 1", "messages_addressed (id>"},
	{"id BETWEEN CAST(?1 AS BIGINT) << 32 | unread_from AND CAST(?1 AS BIGINT) << 32 | 4294967295 ORDER BY id LIMIT 1", "messages_addressed (id>"},
	{"AND platform_id = (SELECT reply FROM outbox", "messages_replies (conversation=? AND platform_id=?)"},
	{"AND platform_id = (SELECT reply FROM outbox", "outbox_platform (conversation=? AND platform_id=?)"},
	{"+ (SELECT count(*) FROM inbox WHERE conversation = ?1 AND author_id = ?2)", byAuthor},
	{"ORDER BY id LIMIT 1 OFFSET ?", byAuthor},
	{"UPDATE messages SET author = ''", byAuthor},
	{"role = 'user' AND id BETWEEN ? AND ?\n			ORDER BY id DESC LIMIT ?", byAuthor},
	{"WHERE conversation = ?1 AND said_at >= ?2", "INDEX messages_said (conversation=? AND said_at>? AND said_at<?)"},
	{"id BETWEEN ? AND ?\n			ORDER BY said_at DESC, id DESC LIMIT ?", "INDEX messages_said (conversation=? AND said_at>? AND said_at<?)"},
	{"SELECT m.seq FROM json_each(?) j", "rowid=?)"},
	{"AND made_by IN (SELECT author FROM messages", "messages_author (author_id=?)"},
	{"AND said_at >= ? AND said_at < ?\n			ORDER BY said_at DESC, id DESC LIMIT ?) n", "messages_said (conversation=? AND said_at>? AND said_at<?)"},
	{"WITH here (id, low, high)", "messages_author (author_id=?"}, // with the statistics of one conversation, SQLite does not search for its rows too
	{"WITH names (start)", byAuthor},
	{"WITH names (start)", "messages_quotes (conversation=? AND reply_to>?)"},
	{"AND conversation = ? AND reply_to = ? AND quote <> ''", "messages_quotes (conversation=? AND reply_to=?"},
	{"AND conversation = ? AND platform_id = ? AND role = 'user'", "messages_platform (conversation=? AND platform_id=?"},
	{"UPDATE messages SET native = '' WHERE", "messages_reasoning (id>"},
	{"CASE WHEN cleared_to < s.next_seq THEN s.cleared_before ELSE cleared_to END", "compactions_applied (conversation=?"},
	{"AND version = ? AND from_seq >= ?", "compactions_applied (conversation=?"},
	{"AND ended_with = ? AND from_seq >= ?", "compactions_ended (conversation=?"},
	{"SELECT coalesce(next_seq, 0) FROM compactions s", "compactions_to (conversation=?)"},
	{"AND parent = ? AND coalesce(state, '') = 'rolled_up'", "compactions_parent"},
	{"OR c.id IN (SELECT conversation FROM compactions WHERE state = 'applied' AND (owed = 1 OR kind = 'placeholder'))", "compactions_owed"},
	{"WHERE conversation = ? AND state IN ('waiting', 'sending') ORDER BY id", "outbox_unsent (conversation=?)"},
	{"SELECT count(*) FROM outbox WHERE state IN ('waiting', 'sending')", "outbox_unsent"},
	{"SELECT min(created_at) FROM outbox WHERE state IN ('waiting', 'sending')", "outbox_unsent"},
	{"WHERE conversation = ? AND platform_id = ? AND platform_id <> ''", "outbox_platform (conversation=? AND platform_id=?)"},
	{"WHERE m.conversation = ?1 AND m.platform_id = ?2 AND m.role = 'user' AND first.answered = 0", "messages_platform (conversation=? AND platform_id=?)"},
	{"SELECT coalesce((SELECT min(id) - 1 FROM outbox", "outbox_unsent (conversation=?)"},
	{"FROM outbox WHERE id > ? AND conversation = ? AND state = 'sent'", "SEARCH outbox USING"},
	{"AND id IN (SELECT conversation << 32 | seq FROM pins WHERE conversation = ?)", "messages USING INTEGER PRIMARY KEY (rowid=?)"},
	{"SELECT state, count(*) AS n FROM memories GROUP BY state", "COVERING INDEX memories_newest"},
	{"AND m.slot = ?2 AND m.slot <> '' AND m.state IN", "memories_slot (conversation=? AND slot=? AND state=?)"},
	{"AND since > ?5 AND id <> ?3", "memories_slot (conversation=? AND slot=? AND state=? AND since>?)"},
	{"AND since > ?5 AND id <> ?3", "messages_said (conversation=? AND said_at>?)"},
	{"AND since > ?5 AND id <> ?3", "memories_newest (conversation=? AND state=? AND said_at>?)"},
}

// The store names no index in its statements: SQLite chooses the right one by itself, whatever the tables hold, and whether or not it
// has statistics about them.
func TestStatementsUseTheirIndexes(t *testing.T) {
	s, ran := openRecorded(t)
	work(t, s)
	for _, filled := range []bool{false, true} {
		for _, analyzed := range []bool{false, true} {
			t.Run(fmt.Sprintf("filled %v, analyzed %v", filled, analyzed), func(t *testing.T) {
				s := newTalk(t).Store()
				if filled {
					fillTables(t, s)
				}
				if analyzed {
					storetest.Run(t, s, "ANALYZE")
				}
				for _, plan := range plans {
					ran.wantPlan(t, s, plan.part, plan.by)
				}
			})
		}
	}
}

// wantPlan checks that SQLite runs the statements with a part by an index, and does not read all compactions of a state.
func (r *recorder) wantPlan(t *testing.T, s *store.Store, part, by string) {
	t.Helper()
	found := false
	for _, ran := range r.all {
		if !strings.Contains(ran.query, part) {
			continue
		}
		found = true
		is := strings.Join(storetest.Rows(t, s, "EXPLAIN QUERY PLAN "+ran.query, ran.arguments...), "; ")
		check.That(t, strings.Contains(is, by) && !strings.Contains(is, "compactions_state"), "%s\nis done by %s, not by %s", ran.query, is, by)
	}
	check.That(t, found, "no statement has %q", part)
}

// An index that no statement uses costs each write.
func TestEachIndexIsUsed(t *testing.T) {
	s, ran := openRecorded(t)
	work(t, s)
	full := newTalk(t).Store()
	fillTables(t, full)
	used := ""
	for _, ran := range ran.all {
		if first, _, _ := strings.Cut(ran.query, " "); strings.Contains("SELECT INSERT UPDATE DELETE WITH REPLACE", first) {
			used += strings.Join(storetest.Rows(t, full, "EXPLAIN QUERY PLAN "+ran.query, ran.arguments...), "\n") + "\n"
		}
	}
	for _, index := range storetest.Rows(t, full, "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql <> ''") {
		check.That(t, strings.Contains(used, index), "no statement uses the index %s", index)
	}
}

// fillTables writes rows into two conversations, of which few have what a partial index is for.
func fillTables(t *testing.T, s *store.Store) {
	t.Helper()
	storetest.Find(t, s, "terminal:other")
	const rows = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
	for _, script := range []string{
		`INSERT INTO messages (id, turn, role, platform_id, author_id, author, text, attachments, reply_to, calls, call_id, tool, native,
			said_at, saved_at, addressed, answered, attempts, tokens, context, changed_with, deleted_at, quote) ` + rows +
			`SELECT c.id << 32 | i, i, CASE i % 3 WHEN 0 THEN 'user' WHEN 1 THEN 'assistant' ELSE 'tool' END, 'm' || i, 'u' || (i % 7), 'Ann',
			'text of some words', '', 'm1', '', '', '', iif(i % 50 = 1, 'x', ''), i, i, i % 10 = 0, iif(i > 4998, 0, 2), 0, 9,
			iif(i > 4990, 'c', ''), iif(i % 70 = 0, i, NULL), iif(i % 140 = 0, i, NULL), iif(i % 99 = 0, 'q', '') FROM n, conversations c`,
		`INSERT INTO compactions (conversation, state, trigger, level, from_seq, to_seq, from_at, to_at, messages, children, text, tokens,
			created_at, ended_at, next_seq, version, cleared_before, owed) ` + rows +
			`SELECT c.id, iif(i > 4990, 'applied', 'rolled_up'), 'background', 0, i, i, i, i, 1, '', 'sum', 20, i, i, i + 30, i, 0, i % 500 = 0
			FROM n, conversations c`,
		"INSERT INTO outbox (conversation, reply, part, parts, answers, text, failure, state, platform_id, created_at) " + rows +
			"SELECT c.id, 'r' || i, 0, 1, '', '', 0, iif(i > 4990, 'waiting', 'sent'), iif(i > 4990, '', 'p' || i), i FROM n, conversations c",
		"INSERT INTO memories (conversation, kind, content, folded, importance, speaker, about, said_at, saved_at, state) " + rows +
			"SELECT c.id, 'fact', 'c' || i, 'c' || i, 0.5, 'Ann', '', i, i, iif(i % 5 = 0, 'forgotten', 'active') FROM n, conversations c",
		"INSERT INTO sessions (conversation, from_seq, to_seq, settled) " + rows + "SELECT c.id, i, i, i % 2 FROM n, conversations c WHERE i < 300",
		"UPDATE conversations SET next_seq = 5001, session_start = 4900",
	} {
		storetest.Run(t, s, script)
	}
}
