// Deletions reach what threads inherited from their channel.

package privacy

import (
	"cairn/store"
	"cairn/transcript"
)

// deleteInherited removes a message from the threads below it, and quotes of it from threads below
// an answer to it.
func deleteInherited(c *store.Conversation, tx *store.Tx, id string) {
	c.In(tx).TouchThreads("platform_id = ? AND platform_id <> ''", id)
	c.In(tx).TouchThreads("reply_to = ? AND quote <> ''", id)
	tx.Do("UPDATE inherited SET quote = '' WHERE parent = ? AND reply_to = ? AND quote <> ''", c.ID(), id)
	tx.Do("DELETE FROM inherited WHERE parent = ? AND platform_id = ? AND platform_id <> ''", c.ID(), id)
}

// deleteInThread removes quotes of a message from the threads of the channel.
func deleteInThread(c *store.Conversation, tx *store.Tx, id string) error {
	quoting := tx.Conversations(`WHERE c.name >= ?1 || '/' AND c.name < ?1 || '0' -- which comes right after /
		AND (EXISTS (SELECT 1 FROM messages INDEXED BY messages_quotes WHERE conversation = c.id AND reply_to = ?2 AND quote <> '')
		OR EXISTS (SELECT 1 FROM inbox WHERE conversation = c.id AND reply_to = ?2 AND quote <> ''))`, c.Name(), id)
	for _, thread := range quoting {
		if _, err := deleteAll(thread, tx, []string{id}); err != nil {
			return err
		}
	}
	return nil
}

// emptyInherited turns copies of rows that cover deleted messages, and of rows that repeated
// them, into placeholders.
func emptyInherited(c *store.Conversation, tx *store.Tx, seqs, deleted []int64, repeating []transcript.Summary) {
	const over = "from_seq <= ? AND to_seq >= ? AND kind <> ''"
	empty := func(where string, from, to int64) {
		c.In(tx).TouchThreads(where, from, to)
		tx.Do("UPDATE inherited SET kind = ?, text = '' WHERE parent = ? AND "+where, transcript.Placeholder, c.ID(), from, to)
	}
	for _, seq := range seqs {
		empty(over, seq, seq)
	}
	for _, row := range repeating {
		empty("from_seq = ? AND to_seq = ? AND kind <> ''", row.From, row.To)
	}
	for _, seq := range deleted {
		tx.Do("UPDATE inherited SET messages = messages - 1 WHERE parent = ? AND "+over, c.ID(), seq, seq)
	}
}
