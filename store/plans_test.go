package store_test

import (
	"fmt"
	"testing"

	"cairn/store"
	"cairn/testkit/storetest"
)

const byAuthor = "messages_author (author_id=? AND rowid>"

// plans are queries of messages, compactions, the outbox and memories, with the index by which each should run.
var plans = []struct{ query, by string }{
	{"SELECT seq FROM messages WHERE " + store.Own + " AND answered = 0 ORDER BY id LIMIT 1", "messages_waiting (id>"},
	{
		"SELECT name FROM conversations WHERE id IN (SELECT conversation FROM messages WHERE answered = 0)",
		"SCAN messages USING INDEX messages_waiting",
	},
	{"SELECT seq FROM messages WHERE " + store.Own + " AND changed_with > 1", "messages_changed (id>"},
	{"SELECT 1 FROM messages WHERE " + store.Own + " AND changed_with IS NOT NULL AND deleted_at > 0 AND turn = 1", "messages_changed (id>"},
	{
		"SELECT 1 FROM messages WHERE " + store.Own + " AND changed_with IS NOT NULL AND role = 'user' AND addressed = 1 AND deleted_at >= 1",
		"messages_changed (id>",
	},
	{"SELECT seq, context FROM messages WHERE " + store.Own + " AND context <> '' AND deleted_at IS NULL ORDER BY id", "messages_context (id>"},
	{
		"SELECT seq FROM messages WHERE " + store.Own + " AND addressed = 1 AND deleted_at IS NULL ORDER BY id DESC LIMIT 1",
		"messages_addressed (id>",
	},
	{"SELECT text FROM messages WHERE " + store.Own + " AND deleted_at IS NULL AND addressed = 1 ORDER BY id LIMIT 20", "messages_addressed (id>"},
	{
		"SELECT max(id) FROM messages WHERE " + store.Own + " AND addressed = 1 AND turn = 3 AND platform_id NOT LIKE 'cairn:task-%'",
		"messages_addressed (id>",
	},
	{"SELECT " + store.Asked + " FROM conversations WHERE id = ?1", "messages_addressed (id>"},
	{"SELECT 1 FROM messages WHERE native <> ''", "messages_reasoning"},
	{
		"SELECT seq FROM messages WHERE conversation = ?1 AND role = 'assistant' AND platform_id <> '' AND platform_id = 'reply-3'",
		"messages_replies (conversation=? AND platform_id=?)",
	},
	{"SELECT count(*) FROM messages WHERE author_id = ?2 AND role = 'user' AND " + store.Own + " AND deleted_at IS NULL", byAuthor},
	{
		"SELECT id FROM messages WHERE " + store.Own + " AND author_id = 'u1' AND role = 'user' AND deleted_at IS NULL ORDER BY id LIMIT 1 OFFSET 99",
		byAuthor,
	},
	{"UPDATE messages SET author = '' WHERE " + store.Own + " AND author_id = 'u1' AND role = 'user' AND deleted_at IS NOT NULL", byAuthor},
	{store.NamesOf, "messages_author (author_id=?)"},
	{store.NamesOut, "messages_author (author_id=?"}, // with the statistics of one conversation, SQLite does not search for its rows too
	{store.QuotedOf, byAuthor},
	{store.QuotedOf, "messages_quotes (conversation=?)"},
	{
		"SELECT text FROM messages WHERE " + store.Own + " AND conversation = ?1 AND reply_to = 'm1' AND quote <> ''",
		"messages_quotes (conversation=? AND reply_to=?",
	},
	{
		"SELECT text FROM messages WHERE " + store.Own + " AND conversation = ?1 AND platform_id = 'm1' AND role = 'user'",
		"messages_platform (conversation=? AND platform_id=?",
	},
	{"UPDATE messages SET native = '' WHERE " + store.Own + " AND native <> ''", "messages_reasoning (id>"},
	{store.LatestApplied, "compactions_applied (conversation=?"},
	{store.NewestSummary, "compactions_to (conversation=?)"},
	{"SELECT conversation FROM compactions WHERE state = 'applied' AND (owed = 1 OR kind = 'placeholder')", "compactions_owed"},
	{"SELECT text FROM outbox WHERE conversation = ?1 AND state IN ('waiting', 'sending') ORDER BY id", "outbox_unsent (conversation=?)"},
	{"SELECT count(*) FROM outbox WHERE state IN ('waiting', 'sending')", "outbox_unsent"},
	{"SELECT min(created_at) FROM outbox WHERE state IN ('waiting', 'sending')", "outbox_unsent"},
	{
		"SELECT reply FROM outbox WHERE conversation = ?1 AND platform_id = 'p1' AND platform_id <> ''",
		"outbox_platform (conversation=? AND platform_id=?)",
	},
	{"SELECT state, count(*) FROM memories GROUP BY state", "COVERING INDEX memories_newest"},
}

// The store names no index in its queries: SQLite chooses the right one by itself, whatever the tables hold, and whether or not it
// has statistics about them.
func TestQueriesUseTheirIndexes(t *testing.T) {
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
					storetest.WantPlan(t, s, plan.query, plan.by, 1, 1, 1, 1)
				}
			})
		}
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
