// What the purge of a whole conversation deletes, step by step.

package store

// Table is a table of whose rows each belongs to one conversation.
type Table string

// The tables that a purge empties.
const (
	MemoryTermsTable    Table = "memory_terms"
	MemoriesTable       Table = "memories"
	CompactionsTable    Table = "compactions"
	PinsTable           Table = "pins"
	FilesTable          Table = "files"
	InboxTable          Table = "inbox"
	OutboxTable         Table = "outbox"
	MessageTermsTable   Table = "message_terms"
	MembersTable        Table = "members"
	SessionsTable       Table = "sessions"
	WantedSessionsTable Table = "wanted_sessions"
	OverridesTable      Table = "overrides"
	ErasuresTable       Table = "erasures"
)

// Purge deletes what belongs to one conversation, in one transaction.
type Purge struct {
	c  *Conversation
	tx *Tx
}

func (t *Tx) PurgeOf(c *Conversation) Purge { return Purge{c, t} }

// Task blanks the task that the conversation is, and ends it. Its row stays, so that no number is used twice.
func (p Purge) Task() {
	p.tx.do(`UPDATE tasks SET text = '', author = '', above = '{}', own = '{}',
		state = iif(state = 'open', 'stopped', state), ended_at = coalesce(ended_at, ?)
		WHERE id = ?`, Now(), p.c.id)
	p.tx.do("DELETE FROM task_sources WHERE task = ?", p.c.id)
}

// Pauser forgets who paused the conversation.
func (p Purge) Pauser() {
	p.tx.do("UPDATE pauses SET made_by = '', made_by_id = '' WHERE scope = ?", p.c.name)
}

// Threads returns the conversation's threads. Those that inherited something get a new version: they reread it.
func (p Purge) Threads() []*Conversation {
	p.c.In(p.tx).touchThreads("true")
	return p.tx.conversations("WHERE name >= ?1 || '/' AND name < ?1 || '0'", p.c.name)
}

// QuotedIn returns the platform IDs of the conversation's messages, and of its replies, that messages of a thread quote.
func (p Purge) QuotedIn(thread *Conversation) []string {
	return listValues[string](p.tx, `WITH quoting (id) AS (
			SELECT reply_to FROM messages WHERE conversation = ?2 AND quote <> ''
			UNION SELECT reply_to FROM inbox WHERE conversation = ?2 AND quote <> '')
			SELECT q.id FROM quoting q WHERE EXISTS (SELECT 1 FROM messages WHERE `+ownRows+` AND platform_id = q.id)
			OR EXISTS (SELECT 1 FROM outbox WHERE conversation = ?1 AND platform_id = q.id AND platform_id <> '')`, p.c.id, thread.id)
}

// NoteGone notes the platform IDs of all messages of people, so that none is delivered or read from the platform again.
func (p Purge) NoteGone() {
	p.tx.do(`INSERT INTO gone (conversation, platform_id) SELECT ?1, platform_id FROM messages
			WHERE `+ownRows+` AND role = 'user' AND platform_id <> '' ON CONFLICT DO NOTHING`, p.c.id)
	p.tx.do("INSERT INTO gone (conversation, platform_id) SELECT ?1, platform_id FROM inbox WHERE conversation = ?1 ON CONFLICT DO NOTHING", p.c.id)
}

// Links deletes what links memories to people and messages, and messages to quotes, and their usage.
func (p Purge) Links() {
	low, high := p.c.RowRange(1, MaxSeq)
	p.tx.do("DELETE FROM memory_people WHERE memory IN (SELECT id FROM memories WHERE conversation = ?1)", p.c.id)
	p.tx.do("DELETE FROM memory_sources WHERE memory IN (SELECT id FROM memories WHERE conversation = ?1) OR message BETWEEN ?2 AND ?3", p.c.id, low, high)
	p.tx.do("DELETE FROM quotes WHERE message BETWEEN ?1 AND ?2", low, high)
	p.tx.do("DELETE FROM turn_usage WHERE id BETWEEN ?1 AND ?2", low, high)
}

// Inherited deletes what the conversation inherited, and what its threads did.
func (p Purge) Inherited() {
	p.tx.do("DELETE FROM inherited WHERE conversation = ?1 OR parent = ?1", p.c.id)
}

// Rows deletes the conversation's rows of a table.
func (p Purge) Rows(table Table) {
	p.tx.do("DELETE FROM "+string(table)+" WHERE conversation = ?", p.c.id)
}

// Messages deletes all messages, and resets what the conversation knows about them.
func (p Purge) Messages() {
	low, high := p.c.RowRange(1, MaxSeq)
	p.tx.do("DELETE FROM messages WHERE id BETWEEN ? AND ?", low, high)
	p.tx.do(`UPDATE conversations SET cleared_to = 0, session_start = next_seq, following = 0, gap = NULL, gap_again = 0,
			read_back = 1, unread_from = 0, bot_turns = 0, spared_from = 0, spared_to = 0, counted = 0, counted_estimate = 0, counted_by = '', counted_with = 0, label = '' WHERE id = ?`, p.c.id)
}
