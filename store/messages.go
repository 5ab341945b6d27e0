// Stored messages as packages memory and privacy look for them, and their deletion.

package store

import (
	"database/sql"
	"time"

	"cairn/chat"
)

// Messages are a conversation's messages that were not deleted, in one transaction.
type Messages struct {
	c  handle
	tx *Tx
}

// Next returns the seq that the next message gets.
func (ms Messages) Next() int64 {
	return getValue[int64](ms.tx, "SELECT next_seq FROM conversations WHERE id = ?", ms.c.id)
}

// Between returns the messages from..to, oldest first.
func (ms Messages) Between(from, to int64) []chat.Message {
	return ms.read(from, to, "ORDER BY id")
}

// At returns the messages with these seqs, oldest first.
func (ms Messages) At(seqs ...int64) []chat.Message {
	var ids []int64
	for _, seq := range seqs {
		if low, high := ms.c.rowRange(seq, seq); low == high {
			ids = append(ids, low)
		}
	}
	return listRows(ms.tx, func(rows *sql.Rows, m *chat.Message) error { return scanMessage(rows, m) },
		"SELECT "+messageColumns+" FROM messages WHERE id IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) AND deleted_at IS NULL ORDER BY id", listOf(ids))
}

// SentAt returns the message with a seq, if it was sent at a time.
func (ms Messages) SentAt(seq int64, at time.Time) []chat.Message {
	return ms.read(seq, seq, "AND said_at = ?", at.UnixMilli())
}

// Spoken returns the messages from..to that are no results of tools, oldest first.
func (ms Messages) Spoken(from, to int64) []chat.Message {
	return ms.read(from, to, "AND role <> 'tool' ORDER BY id")
}

// Named returns the message of a person with a platform ID, if there is one.
func (ms Messages) Named(id string) []chat.Message {
	return ms.read(1, MaxSeq,
		"AND conversation = ? AND platform_id = ? AND role = 'user'", ms.c.id, id)
}

// Asker returns the last person who addressed the bot in a turn; an empty one if no person did.
func (ms Messages) Asker(turn int64) (asker Person) {
	low, high := ms.c.rowRange(turn, MaxSeq)
	for _, p := range listRows(ms.tx, scanPerson, `SELECT author_id, author FROM messages
			WHERE addressed = 1 AND turn = ? AND id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1`, turn, low, high) {
		asker = p
	}
	return asker
}

// Quoting returns the messages that quote a message, by its platform ID.
func (ms Messages) Quoting(id string) []chat.Message {
	return ms.read(1, MaxSeq,
		"AND conversation = ? AND reply_to = ? AND quote <> ''", ms.c.id, id)
}

// Answer returns the messages of a turn that may repeat others: the model's, and the results of tools, except those that only
// its context and its saving of memories returned.
func (ms Messages) Answer(turn int64) []chat.Message {
	return ms.read(turn, ms.lastOf(turn), "AND role <> 'user' AND tool NOT IN ('context', 'memory_save')")
}

// HasTerm reports whether a message has a term.
func (ms Messages) HasTerm(term string) bool {
	return exists(ms.tx, "SELECT 1 FROM message_terms WHERE conversation = ? AND term = ?", ms.c.id, term)
}

// Delete turns a message into a tombstone, with a version from now on: without its text, terms, files and pin. A waiting turn is closed
// if none of its messages that are left addresses the bot.
func (ms Messages) Delete(m chat.Message, version int64) {
	ms.unindex(m)
	ms.storeFiles(m.ID, nil)
	ms.tx.do(`UPDATE messages SET text = '', attachments = '', native = '', quote = '', tokens = 0, deleted_at = ?, changed_with = ?
		WHERE id = ?`, nowMillis(), version, ms.c.rowID(m.Seq))
	ms.dropVectors(m.Seq)
	ms.tx.do("DELETE FROM pins WHERE conversation = ? AND seq = ?", ms.c.id, m.Seq)
	low, high := ms.c.rowRange(m.Turn, MaxSeq)
	ms.tx.do(`UPDATE messages SET answered = ? WHERE id = ?2 AND answered = 0
		AND NOT EXISTS (SELECT 1 FROM messages WHERE id BETWEEN ?2 AND ?3 AND turn = ?4 AND addressed = 1 AND deleted_at IS NULL)`,
		closed, low, high, m.Turn)
}

// DeleteReasoning deletes all stored reasoning from a message on.
func (ms Messages) DeleteReasoning(from int64) {
	low, high := ms.c.rowRange(from, MaxSeq)
	ms.tx.do("UPDATE messages SET native = '' WHERE id BETWEEN ? AND ? AND native <> ''", low, high)
}
