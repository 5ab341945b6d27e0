// Deletions of messages, and of everything derived from them.

package memory

import (
	"context"
	"fmt"
	"slices"

	"cairn/chat"
	"cairn/transcript"
)

// Delete takes messages away, by their platform ids. One that waits vanishes. Of
// one that was taken up the row stays, as a tombstone with its author; text, words
// in the index, files, quotes of it, copies in what tools returned, and memories that
// no other message supports or that quote it are gone, and summaries over it become placeholders, to be
// repaired, see revise; so do the copies of them that threads have. A turn
// that waits and that nobody else asked for is closed. It returns the seqs of the
// messages that are gone or, having quoted one, changed. Ids that are not known
// are passed over; a deleted one stays known, so that it is not delivered again.
func (pr Privacy) Delete(ctx context.Context, ids []string) (seqs []int64, err error) {
	err = pr.c.store.deleting(ctx, func(tx *transaction) error {
		seqs, err = pr.c.deleteAll(tx, ids)
		return err
	})
	if err != nil {
		return nil, pr.c.fail("delete messages", err)
	}
	return seqs, nil
}

func (c *Conversation) deleteAll(tx *transaction, ids []string) (seqs []int64, err error) {
	bare, quoting, err := c.affected(tx, ids)
	if err != nil {
		return nil, err
	}
	if len(bare)+len(quoting) == 0 {
		return nil, nil
	}
	results, err := c.deleteTasksOf(tx, bare)
	if err != nil {
		return nil, err
	}
	return c.deleteMessages(tx, append(bare, results...), quoting)
}

// deleteMessages deletes messages, and quotes of them in others.
func (c *Conversation) deleteMessages(tx *transaction, bare, quoting []chat.Message) (seqs []int64, err error) {
	version, err := c.nextVersion(tx)
	if err != nil {
		return nil, err
	}
	for _, m := range quoting {
		is := m
		is.Quote = ""
		if err := c.rewrite(tx, m, is, version); err != nil {
			return nil, err
		}
		seqs = append(seqs, m.Seq)
	}
	var memories []int64 // that are gone
	for _, m := range bare {
		lost, err := c.bury(tx, m, version)
		if err != nil {
			return nil, err
		}
		memories = append(memories, lost...)
		seqs = append(seqs, m.Seq)
	}
	copies, err := c.forgetCopies(tx, bare)
	if err != nil {
		return nil, err
	}
	thoughts, err := c.forgetReasoning(tx, bare)
	if err != nil {
		return nil, err
	}
	copies = append(copies, thoughts...)
	found, err := c.forgetFound(tx, memories, true)
	if err != nil {
		return nil, err
	}
	copies = append(copies, found...)
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	repeating, err := c.repeating(tx, bare)
	if err != nil {
		return nil, err
	}
	deleted := make([]int64, 0, len(bare))
	for _, m := range bare {
		deleted = append(deleted, m.Seq)
	}
	without := func(row transcript.Summary) transcript.Summary { return row.Without(deleted) }
	if err := c.revise(tx, seqs, repeating, version, without); err != nil {
		return nil, err
	}
	return append(seqs, copies...), c.emptyInherited(tx, seqs, deleted, repeating)
}

// deleteUnread deletes a message that waits, and what threads have of it and quote.
func (c *Conversation) deleteUnread(tx *transaction, id string) error {
	if err := c.deleteWaiting(tx, id); err != nil {
		return err
	}
	if err := c.deleteInherited(tx, id); err != nil {
		return err
	}
	return c.deleteInThread(tx, id)
}

// affected deletes the messages from inbox and inherited rows, and returns those to blank and the
// messages that quote one of them.
func (c *Conversation) affected(tx *transaction, ids []string) (bare, quoting []chat.Message, err error) {
	for _, id := range ids {
		if err := c.deleteUnread(tx, id); err != nil {
			return nil, nil, err
		}
		said, err := c.messagesOf(tx, "messages INDEXED BY messages_platform", 1, maxSeq, "AND conversation = ? AND platform_id = ? AND role = 'user'", c.id, id)
		if err != nil {
			return nil, nil, err
		}
		bare = append(bare, said...)
		quotes, err := c.messagesOf(tx, "messages INDEXED BY messages_quotes", 1, maxSeq, "AND conversation = ? AND reply_to = ? AND quote <> ''", c.id, id)
		if err != nil {
			return nil, nil, err
		}
		quoting = append(quoting, quotes...)
	}
	return bare, quoting, nil
}

// bury makes a message a tombstone, and returns the memories that are gone with it.
func (c *Conversation) bury(tx *transaction, m chat.Message, version int64) (memories []int64, err error) {
	if err := c.unindex(tx, m); err != nil {
		return nil, err
	}
	if _, err := c.storeFiles(tx, m.ID, nil); err != nil {
		return nil, err
	}
	low, high := c.rows(m.Seq, m.Seq)
	err = changed(tx, `UPDATE messages SET text = '', attachments = '', native = '', quote = '', tokens = 0, deleted_at = ?, changed_with = ?
		WHERE id BETWEEN ? AND ?`, now(), version, low, high)
	if err != nil {
		return nil, fmt.Errorf("delete message %d: %w", m.Seq, err)
	}
	if memories, err = c.forgetFrom(tx, m.Seq); err != nil {
		return nil, err
	}
	if _, err := tx.Exec("DELETE FROM pins WHERE conversation = ? AND seq = ?", c.id, m.Seq); err != nil {
		return nil, err
	}
	low, high = c.rows(m.Turn, m.Turn)
	turnLow, turnHigh := c.rows(m.Turn, maxSeq)
	_, err = tx.Exec(`UPDATE messages SET answered = ? WHERE id BETWEEN ? AND ? AND answered = 0
		AND NOT EXISTS (SELECT 1 FROM messages WHERE id BETWEEN ? AND ? AND turn = ? AND addressed AND deleted_at IS NULL)`,
		closed, low, high, turnLow, turnHigh, m.Turn)
	return memories, err
}

