// The newest message of people, asked again: with another text, or for another answer.

package store

import (
	"context"
	"errors"

	"cairn/chat"
)

// ErrNotNewest says that a newer message of people follows, or that the message was deleted.
var ErrNotNewest = errors.New("it is not the newest message")

// Replace delivers m in place of the newest message of people, by its platform ID, which leaves its place by remove, with what answers it.
// m has another ID, and gets the text of the old message if it has none, and its files. If m was delivered before, nothing changes.
// ErrNotFound: there is no such message. ErrNotNewest: it is not the newest one.
func (in Inbox) Replace(ctx context.Context, old string, m Inbound, remove func(tx *Tx)) (r Receipt, err error) {
	err = in.c.Erase(ctx, "replace message "+old, func(tx *Tx) {
		if known := in.delivery(tx, m.ID); known.waits || known.left {
			r = Receipt{Seq: known.seq, Addressed: known.addressed}
			return
		}
		was, newest := in.newest(tx, old)
		switch {
		case was.ID == "":
			tx.Fail(ErrNotFound)
			return
		case !newest:
			tx.Fail(ErrNotNewest)
			return
		case m.Text == "":
			m.Text = was.Text
		}
		m.Attachments = was.Attachments
		m.Incomplete = was.Incomplete
		tx.do("UPDATE files SET platform_id = ? WHERE conversation = ? AND platform_id = ?", m.ID, in.c.id, old)
		remove(tx)
		r = in.deliver(tx, m)
	})
	return r, err
}

// newest returns a message of a person, by its platform ID, and whether no other one is newer. Its ID is empty if there is none.
func (in Inbox) newest(tx *Tx, id string) (was Inbound, newest bool) {
	for _, one := range in.waiting(tx, "AND platform_id = ?", id) {
		return one, !exists(tx, "SELECT 1 FROM inbox WHERE conversation = ? AND id > ?", in.c.id, one.row)
	}
	for _, one := range in.c.Messages(tx).Named(id) {
		_, high := in.c.rowRange(one.Seq, MaxSeq)
		later := exists(tx, "SELECT 1 FROM inbox WHERE conversation = ?", in.c.id) ||
			exists(tx, "SELECT 1 FROM messages WHERE id > ? AND id <= ? AND role = 'user' AND deleted_at IS NULL", in.c.rowID(one.Seq), high)
		return Inbound{ID: one.ID, Text: one.Text, Attachments: one.Attachments}, !later
	}
	return was, false
}

// WrittenIn returns what the bot and its tools wrote in a turn, oldest first.
func WrittenIn(ms Messages, turn int64) []chat.Message {
	return ms.read(turn, MaxSeq, "AND turn = ? AND role <> 'user' ORDER BY id", turn)
}
