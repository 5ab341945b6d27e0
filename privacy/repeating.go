// Summaries that repeat messages outside their span: a worker also reads those, for reference,
// and deleted text must not survive in its words.

package privacy

import (
	"slices"
	"strings"

	"cairn/chat"
	"cairn/store"
	"cairn/transcript"
	"cairn/words"
)

// lostWords are the words of deleted messages that no remaining message contains.
type lostWords map[string]string // by their terms

// lostWordsOf returns the lost words. The messages are out of the index already.
func lostWordsOf(c *store.Conversation, tx *store.Tx, deleted []chat.Message) (lostWords, error) {
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
			stands, err := store.Exists(tx, "SELECT 1 FROM message_terms WHERE conversation = ? AND term = ?", c.ID(), word.Term)
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

// repeating returns the summaries around deleted messages that contain a word which no message
// contains any more: they repeat deleted text.
func repeating(c *store.Conversation, tx *store.Tx, deleted []chat.Message) ([]transcript.Summary, error) {
	lost, err := lostWordsOf(c, tx, deleted)
	if err != nil || len(lost) == 0 {
		return nil, err
	}
	first, last := deleted[0].Seq, deleted[0].Seq
	for _, m := range deleted {
		first, last = min(first, m.Seq), max(last, m.Seq)
	}
	rows, err := c.In(tx).Compactions("AND to_seq >= ? AND from_seq <= ? AND text <> ''", first-reachOfWords, last+reachOfWords)
	return slices.DeleteFunc(rows, func(row transcript.Summary) bool { return !lost.in(row.Text) }), err
}

// reachOfWords is how many messages away a summary is still checked: what one summary repeats,
// the next may repeat again.
const reachOfWords = 3000

// minRepeated is the minimum length, in bytes, of a word that gives away deleted text: small
// numbers occur everywhere.
const minRepeated = 4

// in reports whether text contains one of the words.
func (lost lostWords) in(text string) bool {
	folded := words.Fold(text)
	maybe := false
	for _, word := range lost { // most texts contain none, and splitting one costs more
		if maybe = strings.Contains(folded, word); maybe {
			break
		}
	}
	return maybe && slices.ContainsFunc(words.Cut(text), func(w words.Word) bool { _, found := lost[w.Term]; return found })
}
