// Pins: messages that people want to keep in the context permanently.

package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"cairn/chat"
	"cairn/transcript"
)

// Pin pins a message; fresh is false if it was already pinned. ErrNotFound: there is no such
// message, or it was deleted.
func (tr Transcript) Pin(ctx context.Context, seq int64, by string) (fresh bool, err error) {
	err = tr.c.Update(ctx, fmt.Sprintf("pin message %d", seq), func(tx *Tx) error {
		tr.c.In(tx).message(seq)
		fresh = tx.Do("INSERT INTO pins (conversation, seq, made_by, made_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", tr.c.id, seq, by, Now())
		if fresh {
			tr.c.In(tx).NextVersion()
		}
		return nil
	})
	return fresh, err
}

// Unpin removes a pin. ErrNotFound: the message is not pinned.
func (tr Transcript) Unpin(ctx context.Context, seq int64) error {
	return tr.c.Update(ctx, fmt.Sprintf("unpin message %d", seq), func(tx *Tx) error {
		tx.change("DELETE FROM pins WHERE conversation = ? AND seq = ?", tr.c.id, seq)
		tr.c.In(tx).NextVersion()
		return nil
	})
}

// Newest returns the newest message from a person. ErrNotFound: there is none.
func (tr Transcript) Newest(ctx context.Context) (chat.Message, error) {
	return View(ctx, tr.c, "read the newest message", func(tx *Tx) (chat.Message, error) {
		return First(tr.c.In(tx).Messages(1, MaxSeq, "AND role = 'user' ORDER BY id DESC LIMIT 1"), nil)
	})
}

// pins reads the pinned messages of all sessions, in the order in which they were pinned.
func (c *Conversation) pins(tx *Tx) []transcript.Pin {
	pins := List(tx, func(rows *sql.Rows, p *transcript.Pin) error {
		return rows.Scan(&p.Seq, &p.By, utc(&p.At), &p.Earlier)
	}, `SELECT p.seq, p.made_by, p.made_at, p.seq < c.session_start FROM pins p JOIN conversations c ON c.id = p.conversation
		WHERE p.conversation = ? ORDER BY p.made_at, p.seq`, c.id)
	if len(pins) == 0 {
		return nil
	}
	for _, m := range c.In(tx).Messages(1, MaxSeq, ofPins, c.id) {
		i := slices.IndexFunc(pins, func(p transcript.Pin) bool { return p.Seq == m.Seq })
		pins[i].Message = m
	}
	return pins
}

// ofPins selects the pinned messages. A pin is deleted with its message.
const ofPins = "AND id IN (SELECT conversation << 32 | seq FROM pins WHERE conversation = ?)"
