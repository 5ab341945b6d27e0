// The past: messages from before the bot came, as context that is not answered.

package store

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"cairn/chat"
)

// Import appends messages of the past, which are not answered, and returns those that were new. It
// is one transaction, so callers pass a batch at a time. ErrLive: people have talked to the bot
// here.
func (h Past) Import(ctx context.Context, past []Inbound) ([]chat.Message, error) {
	return write(ctx, h.c, "import messages", func(tx *Tx) []chat.Message {
		if Get[bool](tx, `SELECT origin = 'live' OR EXISTS (SELECT 1 FROM inbox WHERE conversation = c.id)
			FROM conversations c WHERE id = ?`, h.c.id) {
			tx.Fail(ErrLive)
			return nil
		}
		added := h.c.writePast(tx, past)
		if len(added) > 0 {
			tx.Do("UPDATE conversations SET origin = 'imported', read_back = 1 WHERE id = ?", h.c.id)
		}
		return added
	})
}

// CheckIDs returns ErrOtherMessage if one of the messages has the id of a message here that somebody
// else wrote, or at another time, or in other words, unless people have edited or deleted that one.
func (h Past) CheckIDs(ctx context.Context, past []Inbound) error {
	var other error // for the operator, who need not know what was tried
	err := h.c.View(ctx, "look for known ids", func(tx *Tx) error {
		for _, in := range past {
			in, err := clean(in)
			if err != nil {
				return err
			}
			var author string
			var at time.Time
			if tx.Row(`SELECT author, said_at FROM messages WHERE conversation = ?1 AND platform_id = ?2 AND role = 'user'
				AND deleted_at IS NULL AND edited_at IS NULL AND (author <> ?3 OR said_at <> ?4 OR text <> ?5)`,
				h.c.id, in.ID, in.Author, in.Time.UnixMilli(), in.Text).Found(&author, local(&at)) {
				other = fmt.Errorf("%w: %q already exists, by %s, of %s", ErrOtherMessage, in.ID, author, at.Format(time.DateTime))
				return nil
			}
		}
		return nil
	})
	return cmp.Or(err, other)
}

// ReadBack reports whether the messages from before the bot came have been read, or are not wanted.
// first is the platform id of the oldest message that waits for an answer, before which to read;
// empty: none waits.
func (h Past) ReadBack(ctx context.Context) (done bool, first string, err error) {
	err = h.c.View(ctx, "look what was read back", func(tx *Tx) error {
		tx.Row(`SELECT read_back, coalesce((SELECT platform_id FROM inbox WHERE conversation = c.id AND (addressed OR optional) ORDER BY id LIMIT 1), '')
			FROM conversations c WHERE id = ?`, h.c.id).Scan(&done, &first)
		return nil
	})
	return done, first, err
}

// Backfill writes messages from before the bot was addressed, oldest first, as turns that are not
// answered, and returns those that were new. late are messages after them that may need an answer:
// they are delivered. It notes that the past has been read; if it already has been, or is no longer
// wanted, Backfill stores nothing. Waiting messages stay in the inbox.
func (h Past) Backfill(ctx context.Context, said, late []Inbound) ([]chat.Message, error) {
	return write(ctx, h.c, "write earlier messages", func(tx *Tx) []chat.Message {
		if !tx.Do("UPDATE conversations SET read_back = 1 WHERE id = ? AND NOT read_back", h.c.id) {
			return nil
		}
		h.c.deliverPast(tx, late)
		added := h.c.writePast(tx, said)
		if len(added) > 0 {
			tx.Do("UPDATE conversations SET origin = 'live' WHERE id = ?", h.c.id)
		}
		return added
	})
}

// writePast writes those messages that are not known, each a turn of its own.
func (c *Conversation) writePast(tx *Tx, past []Inbound) (added []chat.Message) {
	p := c.newAppender(tx)
	for _, in := range past {
		in, err := clean(in)
		tx.Fail(err)
		if is := c.delivery(tx, in.ID); is.left || is.waits {
			continue
		}
		m := in.message()
		m.Seq, m.Turn = p.next, p.next
		m.Attachments = c.In(tx).StoreFiles(in.ID, in.Attachments)
		c.resolve(tx, &m, nil)
		if m.Seq == 1 {
			c.inherit(tx)
		}
		p.write(m, TurnClosed)
		added = append(added, m)
	}
	p.finish()
	return added
}
