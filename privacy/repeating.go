// Summaries that repeat messages outside their span: a worker also reads those, for reference,
// and deleted text must not survive in its words.

package privacy

import (
	"slices"

	"cairn/chat"
	"cairn/store"
	"cairn/transcript"
	"cairn/words"
)

// lostTerms returns the terms of deleted messages that no remaining message contains. The messages are
// out of the index already.
func lostTerms(c *store.Conversation, tx *store.Tx, deleted []chat.Message) map[string]bool {
	lost := make(map[string]bool)
	for _, m := range deleted {
		for _, word := range words.Cut(textOf(m)) {
			if lost[word.Term] || word.Stop || len(word.Folded) < minRepeated {
				continue
			}
			if !store.Exists(tx, "SELECT 1 FROM message_terms WHERE conversation = ? AND term = ?", c.ID(), word.Term) {
				lost[word.Term] = true
			}
		}
	}
	return lost
}

// repeating returns the summaries around deleted messages that contain a word which no message
// contains any more: they repeat deleted text.
func repeating(c *store.Conversation, tx *store.Tx, deleted []chat.Message) []transcript.Summary {
	lost := lostTerms(c, tx, deleted)
	if len(lost) == 0 {
		return nil
	}
	first, last := deleted[0].Seq, deleted[0].Seq
	for _, m := range deleted {
		first, last = min(first, m.Seq), max(last, m.Seq)
	}
	rows := c.In(tx).Compactions("AND to_seq >= ? AND from_seq <= ? AND text <> ''", first-reachOfWords, last+reachOfWords)
	return slices.DeleteFunc(rows, func(row transcript.Summary) bool { return !says(row.Text, lost) })
}

// reachOfWords is how many messages away a summary is still checked: what one summary repeats,
// the next may repeat again.
const reachOfWords = 3000

// minRepeated is the minimum length, in bytes, of a word that gives away deleted text: small
// numbers occur everywhere.
const minRepeated = 4
