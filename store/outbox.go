// The outbox: replies on their way to people; each piece is sent once.

package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Post queues the pieces of a reply that answers no turn: a notice. It does not post a reply
// twice; replies are deduped by ID.
func (out Outbox) Post(ctx context.Context, o Outcome) error {
	return out.c.Update(ctx, "post reply "+o.Reply, func(tx *Tx) error {
		if !Exists(tx, "SELECT 1 FROM outbox WHERE conversation = ? AND reply = ?", out.c.id, o.Reply) {
			out.c.post(tx, o)
		}
		return nil
	})
}

// post queues the pieces of a reply.
func (c *Conversation) post(tx *Tx, o Outcome) {
	if o.Reply == "" {
		return
	}
	for part, text := range o.Pieces {
		tx.Do(`INSERT INTO outbox (conversation, reply, part, parts, answers, text, failure, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, c.id, o.Reply, part, len(o.Pieces), toJSON(o.To), text, o.Failure, Now())
	}
}

// Unsent returns the pieces that still have to be sent, in sending order.
func (out Outbox) Unsent(ctx context.Context) ([]Piece, error) {
	unsent, err := selectAlone(ctx, out.c.store, scanPiece, "SELECT "+pieceColumns+` FROM outbox INDEXED BY outbox_unsent
		WHERE conversation = ? AND state IN ('waiting', 'sending') ORDER BY id`, out.c.id)
	return unsent, out.c.Fail("read outbox", err)
}

const pieceColumns = "id, reply, part, parts, answers, text, failure, state = 'sending'"

func scanPiece(rows *sql.Rows, p *Piece) error {
	return rows.Scan(&p.Row, &p.Reply, &p.Part, &p.Parts, fromJSON{&p.To}, &p.Text, &p.Failure, &p.Sending)
}

// Sending records that a piece is being handed to the connector. ErrNotFound: there is no such
// piece, or it was sent or dropped.
func (out Outbox) Sending(ctx context.Context, row int64) error {
	return out.mark(ctx, row, "state = 'sending'")
}

// Sent records that a piece has arrived, and its platform ID. Its text is not kept: the transcript has
// it, and no deletion would find a notice that repeats a message. ErrNotFound: there is no such piece,
// or it was sent or dropped before.
func (out Outbox) Sent(ctx context.Context, row int64, platformID string) error {
	return out.mark(ctx, row, "state = 'sent', text = '', platform_id = ?, sent_at = ?", platformID, Now())
}

// SentAs returns the piece that was sent as a message of the platform. ErrNotFound: there is
// none.
func (out Outbox) SentAs(ctx context.Context, platformID string) (p Piece, err error) {
	err = out.c.store.View(ctx, func(tx *Tx) error {
		p, err = First(Select(tx, scanPiece, "SELECT "+pieceColumns+` FROM outbox INDEXED BY outbox_platform
			WHERE conversation = ? AND platform_id = ? AND platform_id <> ''`, out.c.id, platformID))
		return err
	})
	return p, err
}

// Refused counts a refusal of a piece and returns how many there have been, across restarts.
// ErrNotFound: there is no such piece, or it was sent or dropped.
func (out Outbox) Refused(ctx context.Context, row int64) (int, error) {
	return Update(ctx, out.c, fmt.Sprintf("count a refusal of piece %d", row), func(tx *Tx) (int, error) {
		return Value[int](tx, `UPDATE outbox SET refusals = refusals + 1
			WHERE id = ? AND conversation = ? AND state IN ('waiting', 'sending') RETURNING refusals`, row, out.c.id)
	})
}

// Drop removes a piece that can never be sent from the outbox, and keeps the reason, but not its
// text. ErrNotFound: there is no such piece, or it was sent or dropped before.
func (out Outbox) Drop(ctx context.Context, row int64, why string) error {
	return out.mark(ctx, row, "state = 'dropped', text = '', error = ?, sent_at = ?", why, Now())
}

// mark changes an unsent piece.
func (out Outbox) mark(ctx context.Context, row int64, to string, args ...any) error {
	return out.c.change(ctx, fmt.Sprintf("mark piece %d", row), "UPDATE outbox SET "+to+" WHERE id = ? AND conversation = ? AND state IN ('waiting', 'sending')",
		append(args, row, out.c.id)...)
}
