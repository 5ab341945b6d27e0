// What the deletion of messages writes, step by step. Which steps there are, and in which order, is decided by package privacy.

package store

import (
	"cairn/chat"
	"cairn/transcript"
)

// Deletions write what deletions in one conversation change, in one transaction.
type Deletions struct {
	c  *Conversation
	tx *Tx
}

func (t *Tx) DeletionsIn(c *Conversation) Deletions { return Deletions{c, t} }

// NoteGone notes that a message is not delivered or read from the platform again, by its platform ID, unless the transcript has it. An empty ID is ignored.
func (d Deletions) NoteGone(id string) {
	d.tx.do(`INSERT INTO gone (conversation, platform_id) SELECT ?1, ?2 WHERE ?2 <> ''
				AND NOT EXISTS (SELECT 1 FROM messages WHERE conversation = ?1 AND platform_id = ?2 AND role = 'user') ON CONFLICT DO NOTHING`, d.c.id, id)
}

// DropInherited deletes the copies of a message that threads have, by its platform ID, and their quotes of it. The threads get a new version.
func (d Deletions) DropInherited(id string) {
	rs := d.c.In(d.tx)
	rs.touchThreads("platform_id = ? AND platform_id <> ''", id)
	rs.touchThreads("reply_to = ? AND quote <> ''", id)
	d.tx.do("UPDATE inherited SET quote = '' WHERE parent = ? AND reply_to = ? AND quote <> ''", d.c.id, id)
	d.tx.do("DELETE FROM inherited WHERE parent = ? AND platform_id = ? AND platform_id <> ''", d.c.id, id)
}

// ThreadsQuoting returns the threads with messages, waiting ones included, that quote a message, by its platform ID.
func (d Deletions) ThreadsQuoting(id string) []*Conversation {
	return d.tx.conversations(`WHERE c.name >= ?1 || '/' AND c.name < ?1 || '0' -- which comes right after /
		AND (EXISTS (SELECT 1 FROM messages WHERE conversation = c.id AND reply_to = ?2 AND quote <> '')
		OR EXISTS (SELECT 1 FROM inbox WHERE conversation = c.id AND reply_to = ?2 AND quote <> ''))`, d.c.name, id)
}

// Threads returns the threads of the conversation.
func (d Deletions) Threads() []*Conversation {
	return d.tx.conversations("WHERE name >= ?1 || '/' AND name < ?1 || '0'", d.c.name) // which comes right after /
}

// QuotedBy returns the platform IDs of the conversation's messages, and of its replies, that messages of a thread quote.
func (d Deletions) QuotedBy(thread *Conversation) []string {
	return listValues[string](d.tx, `WITH quoting (id) AS (
			SELECT reply_to FROM messages WHERE conversation = ?2 AND quote <> ''
			UNION SELECT reply_to FROM inbox WHERE conversation = ?2 AND quote <> '')
			SELECT q.id FROM quoting q WHERE EXISTS (SELECT 1 FROM messages WHERE `+ownRows+` AND platform_id = q.id)
			OR EXISTS (SELECT 1 FROM outbox WHERE conversation = ?1 AND platform_id = q.id AND platform_id <> '')`, d.c.id, thread.id)
}

// MakeTombstone blanks a message, which is deleted with a version from now on, and removes its pin.
func (d Deletions) MakeTombstone(seq, version int64) {
	d.tx.do(`UPDATE messages SET text = '', attachments = '', native = '', quote = '', tokens = 0, deleted_at = ?, changed_with = ?
		WHERE id = ?`, Now(), version, d.c.Row(seq))
	d.tx.do("DELETE FROM pins WHERE conversation = ? AND seq = ?", d.c.id, seq)
}

// CloseTurn closes a waiting turn if none of its messages that are left addresses the bot.
func (d Deletions) CloseTurn(turn int64) {
	low, high := d.c.RowRange(turn, MaxSeq)
	d.tx.do(`UPDATE messages SET answered = ? WHERE id = ?2 AND answered = 0
		AND NOT EXISTS (SELECT 1 FROM messages WHERE id BETWEEN ?2 AND ?3 AND turn = ?4 AND addressed AND deleted_at IS NULL)`,
		TurnClosed, low, high, turn)
}

// DropReasoning deletes all stored reasoning from a message on.
func (d Deletions) DropReasoning(from int64) {
	low, high := d.c.RowRange(from, MaxSeq)
	d.tx.do("UPDATE messages SET native = '' WHERE id BETWEEN ? AND ? AND native <> ''", low, high)
}

const (
	inheritedOver = "from_seq <= ? AND to_seq >= ? AND kind <> ''"
	inheritedFrom = "from_seq = ? AND to_seq = ? AND kind <> ''"
)

// EmptyOver turns the copies of summaries over a message that threads have into placeholders. The threads get a new version.
func (d Deletions) EmptyOver(seq int64) {
	d.emptyInherited(inheritedOver, transcript.Span{From: seq, To: seq})
}

// EmptyCopiesOf does the same with the copies of a summary of a span.
func (d Deletions) EmptyCopiesOf(sp transcript.Span) { d.emptyInherited(inheritedFrom, sp) }

func (d Deletions) emptyInherited(where string, sp transcript.Span) {
	d.c.In(d.tx).touchThreads(where, sp.From, sp.To)
	d.tx.do("UPDATE inherited SET kind = ?, text = '', lines = '' WHERE parent = ? AND "+where, transcript.Placeholder, d.c.id, sp.From, sp.To)
}

// CountLess counts one message less in the copies of summaries over a message.
func (d Deletions) CountLess(seq int64) {
	d.tx.do("UPDATE inherited SET messages = messages - 1 WHERE parent = ? AND "+inheritedOver, d.c.id, seq, seq)
}

// HasTerm reports whether a message has a term.
func (d Deletions) HasTerm(term string) bool {
	return exists(d.tx, "SELECT 1 FROM message_terms WHERE conversation = ? AND term = ?", d.c.id, term)
}

// Quoting returns the messages that quote a message, by its platform ID.
func (ms Messages) Quoting(id string) []chat.Message {
	return ms.rows().messages(1, MaxSeq,
		"AND conversation = ? AND reply_to = ? AND quote <> ''", ms.c.id, id)
}

// Answer returns the messages of a turn that may repeat others: the model's, and the results of tools, except those that only
// its context and its saving of memories returned.
func (ms Messages) Answer(turn int64) []chat.Message {
	return ms.rows().messages(turn, ms.rows().LastOf(turn), "AND role <> 'user' AND tool NOT IN ('context', 'memory_save')")
}

// Tasks returns the tasks that the conversation has started.
func (d Deletions) Tasks() []Task { return d.tx.tasks("t.parent = ?", d.c.id) }

// TasksOf returns those that a person asked for, by platform ID.
func (d Deletions) TasksOf(author string) []Task {
	return d.tx.tasks("t.parent = ? AND t.author = ?", d.c.id, author)
}

// TasksFrom returns the tasks of any conversation that were derived from a message.
func (d Deletions) TasksFrom(seq int64) []Task {
	return d.tx.tasks("t.id IN (SELECT task FROM task_sources WHERE message = ?)", d.c.Row(seq))
}
