// The purge of a conversation: every row that belongs to it is deleted.

package store

// purged are the tables that Purge empties, in this order: rows refer to those of later tables.
var purged = []string{
	"memory_terms", "memories", "compactions", "pins", "files", "inbox", "outbox", "message_terms", "members", "sessions", "wanted_sessions",
	"overrides", "erasures",
}

// Purge deletes everything of a conversation, and what its threads inherited from it, which get a new version. Its name, the numbers of its
// tasks and the platform IDs of people's messages stay: no number is used twice, and no message is delivered again or read from the
// platform. If it is a task, the task ends.
func (t *Tx) Purge(c *Conversation) {
	low, high := c.rowRange(1, MaxSeq)
	t.do(`UPDATE tasks SET text = '', author = '', above = '{}', own = '{}',
		state = CASE WHEN state = 'open' THEN 'stopped' ELSE state END, ended_at = coalesce(ended_at, ?)
		WHERE id = ?`, nowMillis(), c.id)
	t.do("DELETE FROM task_sources WHERE task = ?", c.id)
	t.do("UPDATE pauses SET made_by = '', made_by_id = '' WHERE scope = ?", c.name)
	t.do(`INSERT INTO gone (conversation, platform_id) SELECT conversation, platform_id FROM messages
			WHERE `+inConversation+` AND role = 'user' AND platform_id <> '' ON CONFLICT DO NOTHING`, c.id)
	t.do("INSERT INTO gone (conversation, platform_id) SELECT conversation, platform_id FROM inbox WHERE conversation = ?1 ON CONFLICT DO NOTHING", c.id)
	t.do("DELETE FROM memory_people WHERE memory IN (SELECT id FROM memories WHERE conversation = ?1)", c.id)
	t.do("DELETE FROM memory_sources WHERE memory IN (SELECT id FROM memories WHERE conversation = ?1) OR message BETWEEN ?2 AND ?3", c.id, low, high)
	t.do("DELETE FROM quotes WHERE message BETWEEN ?1 AND ?2", low, high)
	t.do("DELETE FROM turn_usage WHERE id BETWEEN ?1 AND ?2", low, high)
	c.Threads(t).touch("true")
	t.do("DELETE FROM inherited WHERE conversation = ?1 OR parent = ?1", c.id)
	for _, table := range purged {
		t.do("DELETE FROM "+table+" WHERE conversation = ?", c.id)
	}
	t.do("DELETE FROM messages WHERE id BETWEEN ? AND ?", low, high)
	t.do(`UPDATE conversations SET cleared_to = 0, session_start = next_seq, following = 0, gap = NULL, gap_again = 0,
			read_back = 1, archived_at = 0, unread_from = 0, bot_turns = 0, spared_from = 0, spared_to = 0, counted = 0, counted_estimate = 0, counted_by = '', counted_with = 0, label = '', vectors_deleted = vectors_deleted + 1 WHERE id = ?`, c.id)
	c.NextVersion(t)
}
