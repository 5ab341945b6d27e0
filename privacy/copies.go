// Copies of deleted messages: in the results of the bot's own tools, in what models thought, in summaries, and in
// threads.

package privacy

import (
	"slices"

	"cairn/chat"
	"cairn/store"
	"cairn/transcript"
	"cairn/words"
)

// forgetCopies empties tool results that found deleted messages, and answers without a model that quote these; in the turns of
// those messages, the arguments of memory tools and what the provider added; and after the first of them all stored
// reasoning, which may repeat it in any words. It returns the seqs that it changed. No summary is built from any of this.
func forgetCopies(c *store.Conversation, tx *store.Tx, deleted []chat.Message) (seqs []int64) {
	var copies []chat.Message
	first := int64(store.MaxSeq)
	for _, m := range deleted {
		first = min(first, m.Seq)
		copies = append(copies, c.In(tx).Messages(m.Turn, c.In(tx).LastOf(m.Turn), "AND role <> 'user' AND tool NOT IN ('context', 'memory_save')")...)
		copies = append(copies, quoting(c, tx, m)...)
	}
	low, high := c.RowRange(first, store.MaxSeq)
	seqs = append(empty(c, tx, copies), store.Values[int64](tx, `UPDATE messages INDEXED BY messages_reasoning SET native = ''
		WHERE id BETWEEN ? AND ? AND native <> '' RETURNING id & 4294967295`, low, high)...)
	slices.Sort(seqs)
	return seqs
}

// quoting returns the tool results that quote a message, and the answers without a model that quote these.
func quoting(c *store.Conversation, tx *store.Tx, m chat.Message) (copies []chat.Message) {
	for _, result := range c.In(tx).Messages(1, store.MaxSeq,
		"AND id IN (SELECT message FROM quotes WHERE kind = 'message' AND source IN (?, ?)) AND role = 'tool'", c.Row(m.Seq), c.Row(0)) {
		copies = append(copies, c.In(tx).Quoting(result)...)
	}
	return copies
}

// empty removes copies of other texts from messages, and returns the seqs of those that it changed.
func empty(c *store.Conversation, tx *store.Tx, copies []chat.Message) (seqs []int64) {
	for _, m := range copies {
		is := store.WithoutCopies(m)
		if (is.Text != m.Text || len(m.Native) > 0 || !slices.Equal(is.Calls, m.Calls)) && !slices.Contains(seqs, m.Seq) {
			c.In(tx).Replace(m, is)
			seqs = append(seqs, m.Seq)
		}
	}
	return seqs
}

func textOf(m chat.Message) string {
	text := m.Text + " " + m.Quote
	for _, a := range m.Attachments {
		text += " " + a.Name + " " + a.Caption + " " + a.Text
	}
	return text
}

func says(text string, terms map[string]bool) bool {
	return slices.ContainsFunc(words.Cut(text), func(w words.Word) bool { return terms[w.Term] })
}

// lostTerms returns the terms of deleted messages, which are out of the index already, that no other message contains.
func lostTerms(c *store.Conversation, tx *store.Tx, deleted []chat.Message) map[string]bool {
	const least = 4 // bytes of a word that gives away deleted text: small numbers occur everywhere
	lost := make(map[string]bool)
	for _, m := range deleted {
		for _, word := range words.Cut(textOf(m)) {
			if lost[word.Term] || word.Stop || len(word.Folded) < least {
				continue
			}
			if !store.Exists(tx, "SELECT 1 FROM message_terms WHERE conversation = ? AND term = ?", c.ID(), word.Term) {
				lost[word.Term] = true
			}
		}
	}
	return lost
}

// repeating returns the summaries around deleted messages that contain a word which no message contains any more: a worker also
// reads messages outside a summary's span, for reference.
func repeating(c *store.Conversation, tx *store.Tx, deleted []chat.Message) []transcript.Summary {
	lost := lostTerms(c, tx, deleted)
	if len(lost) == 0 {
		return nil
	}
	const reach = 3000 // messages: what one summary repeats, the next may repeat again
	first, last := deleted[0].Seq, deleted[0].Seq
	for _, m := range deleted {
		first, last = min(first, m.Seq), max(last, m.Seq)
	}
	rows := c.In(tx).Compactions("AND to_seq >= ? AND from_seq <= ? AND text <> ''", first-reach, last+reach)
	return slices.DeleteFunc(rows, func(row transcript.Summary) bool { return !says(row.Text, lost) })
}

// emptyInherited turns copies of rows that cover deleted messages, or repeated them, into placeholders.
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
