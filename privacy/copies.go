// Copies of deleted messages in the results of the bot's own tools, and in what models thought.

package privacy

import (
	"slices"

	"cairn/chat"
	"cairn/store"
)

// forgetCopies empties tool results that found deleted messages, and answers without a model that quote these; in the
// turns of those messages, the arguments of memory tools and what the provider added; and after the first of them all
// stored reasoning, which may repeat it in any words. It returns the seqs that it changed. No summary is
// built from any of this, so none needs a repair.
func forgetCopies(c *store.Conversation, tx *store.Tx, deleted []chat.Message) (seqs []int64, err error) {
	found, first := make(map[int64]chat.Message), int64(store.MaxSeq)
	for _, m := range deleted {
		first = min(first, m.Seq)
		copies := c.In(tx).Messages(m.Turn, c.In(tx).LastOf(m.Turn), "AND (role = 'tool' AND tool NOT IN ('context', 'memory_save') OR role = 'assistant')")
		quoting := c.In(tx).Messages(1, store.MaxSeq, "AND id IN (SELECT message FROM quotes WHERE kind = 'message' AND source IN (?, ?)) AND role = 'tool'", c.Row(m.Seq), c.Row(0))
		for _, result := range quoting {
			copies = append(copies, c.In(tx).Quoting(result)...)
		}
		for _, m := range copies {
			found[m.Seq] = m
		}
	}
	for seq, m := range found {
		if is := store.WithoutCopies(m); is.Text != m.Text || len(m.Native) > 0 || !slices.Equal(is.Calls, m.Calls) {
			c.In(tx).Replace(m, is)
			seqs = append(seqs, seq)
		}
	}
	low, high := c.RowRange(first, store.MaxSeq)
	thoughts, err := store.Column[int64](tx, `UPDATE messages INDEXED BY messages_reasoning SET native = ''
		WHERE id BETWEEN ? AND ? AND native <> '' RETURNING id & 4294967295`, low, high)
	seqs = append(seqs, thoughts...)
	slices.Sort(seqs)
	return seqs, err
}
