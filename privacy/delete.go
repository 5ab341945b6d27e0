// Deletions of messages, and of everything derived from them.

package privacy

import (
	"context"
	"fmt"
	"slices"

	"cairn/chat"
	"cairn/memory"
	"cairn/store"
	"cairn/transcript"
)

// Delete deletes messages by their platform ids. A waiting message is removed. Of a stored one the
// row stays as a tombstone with its author. Deleted are its text, its index entries and files,
// quotes of it, copies in tool results, the copies that threads have, and memories that no other
// message supports or that quote it. Summaries over it become placeholders that are repaired, see
// store.Rows.Revise. A waiting turn is closed if no other message addresses the bot. It returns the
// seqs of the messages that are deleted or, having quoted one, changed. Unknown ids are ignored; a
// deleted one stays known, so that it is not delivered again.
func (pr Conversation) Delete(ctx context.Context, ids []string) (seqs []int64, err error) {
	err = erase(ctx, pr.c, "delete messages", func(tx *store.Tx) error {
		seqs, err = deleteAll(pr.c, tx, ids)
		return err
	})
	return seqs, err
}

func deleteAll(c *store.Conversation, tx *store.Tx, ids []string) (seqs []int64, err error) {
	bare, quoting, err := affected(c, tx, ids)
	if err != nil {
		return nil, err
	}
	if len(bare)+len(quoting) == 0 {
		return nil, nil
	}
	results, err := deleteTasksOf(c, tx, bare)
	if err != nil {
		return nil, err
	}
	return deleteMessages(c, tx, append(bare, results...), quoting)
}

// deleteMessages deletes messages, and quotes of them in others.
func deleteMessages(c *store.Conversation, tx *store.Tx, bare, quoting []chat.Message) (seqs []int64, err error) {
	version := c.In(tx).NextVersion()
	for _, m := range quoting {
		is := m
		is.Quote = ""
		c.In(tx).Rewrite(m, is, version)
		seqs = append(seqs, m.Seq)
	}
	var memories, deleted []int64 // of the memories, and messages, that are deleted
	for _, m := range bare {
		lost, err := makeTombstone(c, tx, m, version)
		if err != nil {
			return nil, err
		}
		memories = append(memories, lost...)
		deleted = append(deleted, m.Seq)
	}
	seqs = append(seqs, deleted...)
	copies, err := forgetCopies(c, tx, bare)
	if err != nil {
		return nil, err
	}
	copies = append(copies, c.In(tx).ForgetQuotes(memories, true)...)
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	repeating := repeating(c, tx, bare)
	without := func(row transcript.Summary) transcript.Summary { return row.Without(deleted) }
	c.In(tx).Revise(seqs, repeating, version, without)
	emptyInherited(c, tx, seqs, deleted, repeating)
	return append(seqs, copies...), nil
}

// deleteUnread deletes a waiting message, and the copies and quotes of it in threads.
func deleteUnread(c *store.Conversation, tx *store.Tx, id string) error {
	c.In(tx).DeleteWaiting(id)
	deleteInherited(c, tx, id)
	return deleteInThread(c, tx, id)
}

// affected deletes the messages from the inbox and from inherited rows, and returns the stored ones
// and the messages that quote one of them.
func affected(c *store.Conversation, tx *store.Tx, ids []string) (bare, quoting []chat.Message, err error) {
	for _, id := range ids {
		if err := deleteUnread(c, tx, id); err != nil {
			return nil, nil, err
		}
		bare = append(bare, said(c, tx, id)...)
		quoting = append(quoting, c.In(tx).MessagesOf("messages INDEXED BY messages_quotes", 1, store.MaxSeq, "AND conversation = ? AND reply_to = ? AND quote <> ''", c.ID(), id)...)
	}
	return bare, quoting, nil
}

// said returns the message of a person with a platform ID, if there is one.
func said(c *store.Conversation, tx *store.Tx, id string) []chat.Message {
	return c.In(tx).MessagesOf("messages INDEXED BY messages_platform", 1, store.MaxSeq, "AND conversation = ? AND platform_id = ? AND role = 'user'", c.ID(), id)
}

// makeTombstone turns a message into a tombstone, and returns the memories that are deleted with
// it.
func makeTombstone(c *store.Conversation, tx *store.Tx, m chat.Message, version int64) (memories []int64, err error) {
	c.In(tx).Unindex(m)
	c.In(tx).StoreFiles(m.ID, nil)
	low, high := c.RowRange(m.Seq, m.Seq)
	err = store.Changed(tx, `UPDATE messages SET text = '', attachments = '', native = '', quote = '', tokens = 0, deleted_at = ?, changed_with = ?
		WHERE id BETWEEN ? AND ?`, store.Now(), version, low, high)
	if err != nil {
		return nil, fmt.Errorf("delete message %d: %w", m.Seq, err)
	}
	tx.Do("DELETE FROM pins WHERE conversation = ? AND seq = ?", c.ID(), m.Seq)
	low, high = c.RowRange(m.Turn, m.Turn)
	turnLow, turnHigh := c.RowRange(m.Turn, store.MaxSeq)
	tx.Do(`UPDATE messages SET answered = ? WHERE id BETWEEN ? AND ? AND answered = 0
		AND NOT EXISTS (SELECT 1 FROM messages WHERE id BETWEEN ? AND ? AND turn = ? AND addressed AND deleted_at IS NULL)`,
		store.TurnClosed, low, high, turnLow, turnHigh, m.Turn)
	return memory.ForgetFrom(c, tx, m.Seq, nil), nil
}
