// Stored messages as packages memory and privacy look for them.

package store

import (
	"time"

	"cairn/chat"
)

// Messages are a conversation's messages that were not deleted, in one transaction.
type Messages struct {
	c  *Conversation
	tx *Tx
}

func (t *Tx) MessagesOf(c *Conversation) Messages { return Messages{c, t} }

func (ms Messages) rows() Rows { return ms.c.In(ms.tx) }

// Next returns the seq that the next message gets.
func (ms Messages) Next() int64 {
	return getValue[int64](ms.tx, "SELECT next_seq FROM conversations WHERE id = ?", ms.c.id)
}

// Between returns the messages from..to, oldest first.
func (ms Messages) Between(from, to int64) []chat.Message {
	return ms.rows().messages(from, to, "ORDER BY id")
}

// At returns the message with a seq, if there is one.
func (ms Messages) At(seq int64) []chat.Message { return ms.rows().messages(seq, seq, "") }

// Said returns the message with a seq, if it is of a time.
func (ms Messages) Said(seq int64, at time.Time) []chat.Message {
	return ms.rows().messages(seq, seq, "AND said_at = ?", at.UnixMilli())
}

// Spoken returns the messages from..to that are no results of tools, oldest first.
func (ms Messages) Spoken(from, to int64) []chat.Message {
	return ms.rows().messages(from, to, "AND role <> 'tool' ORDER BY id")
}

// Named returns the message of a person with a platform ID, if there is one.
func (ms Messages) Named(id string) []chat.Message {
	return ms.rows().messages(1, MaxSeq,
		"AND conversation = ? AND platform_id = ? AND role = 'user'", ms.c.id, id)
}

// Since returns the seq of the first message before a seq that was said at a time or later; if there is none, before.
func (ms Messages) Since(at time.Time, before int64) (seq int64) {
	low, high := ms.c.RowRange(1, before-1)
	return getValue[int64](ms.tx, `SELECT coalesce(min(id) & 4294967295, ?) FROM messages
				WHERE id BETWEEN ? AND ? AND said_at >= ?`, before, low, high, at.UnixMilli())
}

// Asker returns the name of the last person who addressed the bot in a turn; "": no person did.
func (ms Messages) Asker(turn int64) string {
	low, high := ms.c.RowRange(turn, MaxSeq)
	return getValue[string](ms.tx, `SELECT author FROM messages
			WHERE addressed = 1 AND turn = ? AND id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1`, turn, low, high)
}
