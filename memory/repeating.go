// Summaries that repeat what stands beside their span: a worker reads that too, for
// reference, and what is deleted must not stay in its words.

package memory

import (
	"slices"
	"strings"

	"cairn/chat"
	"cairn/compactor"
	"cairn/words"
)

// lostWords are the words of deleted messages that no message has any more.
type lostWords map[string]string // by their terms

// lost finds them. The messages are out of the index already.
func (c *Conversation) lost(tx *transaction, deleted []chat.Message) (lostWords, error) {
	lost := make(lostWords)
	for _, m := range deleted {
		m.Text += " " + m.Quote
		for _, a := range m.Attachments {
			m.Text += " " + a.Name + " " + a.Caption + " " + a.Text
		}
		for _, word := range words.Cut(m.Text) {
			if _, known := lost[word.Term]; known || word.Stop || len(word.Folded) < minRepeated {
				continue
			}
			var stands bool
			err := tx.QueryRow("SELECT EXISTS (SELECT 1 FROM message_terms WHERE conversation = ? AND term = ?)", c.id, word.Term).Scan(&stands)
			if err != nil {
				return nil, err
			}
			if !stands {
				lost[word.Term] = word.Folded
			}
		}
	}
	return lost, nil
}

// repeating returns the summaries around deleted messages that have a word which no
// message has any more: they repeat what was deleted.
func (c *Conversation) repeating(tx *transaction, deleted []chat.Message) ([]compactor.Compaction, error) {
	lost, err := c.lost(tx, deleted)
	if err != nil || len(lost) == 0 {
		return nil, err
	}
	first, last := deleted[0].Seq, deleted[0].Seq
	for _, m := range deleted {
		first, last = min(first, m.Seq), max(last, m.Seq)
	}
	rows, err := c.compactions(tx, "AND to_seq >= ? AND from_seq <= ? AND text <> ''", first-reachOfWords, last+reachOfWords)
	return slices.DeleteFunc(rows, func(row compactor.Compaction) bool { return !lost.in(row.Text) }), err
}

// reachOfWords is how many messages away a summary is looked at: what one repeats, the
// next one may repeat again.
const reachOfWords = 3000

// minRepeated is how many bytes a word has at least that gives away what was deleted: a
// small number stands anywhere.
const minRepeated = 4

// in reports whether text has one of the words.
func (lost lostWords) in(text string) bool {
	folded := words.Fold(text)
	maybe := false
	for _, word := range lost { // most texts have none: to cut one costs more
		if maybe = strings.Contains(folded, word); maybe {
			break
		}
	}
	return maybe && slices.ContainsFunc(words.Cut(text), func(w words.Word) bool { _, found := lost[w.Term]; return found })
}
