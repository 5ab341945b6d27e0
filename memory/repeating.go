// Summaries that repeat what stands beside their span: a worker reads that too, for
// reference, and what is deleted must not stay in its words.

package memory

import (
	"slices"
	"strings"

	"cairn/compactor"
	"cairn/words"
)

// repeating returns for each summary that repeats a deleted message the seq where its
// span begins. A summary does so if it has a word that no message has any more. The
// messages are out of the index already.
func (c *Conversation) repeating(tx *transaction, deleted []compactor.Message) (seqs []int64, err error) {
	lost := make(map[string]string) // words that no message has any more, by term
	for _, m := range deleted {
		for _, a := range m.Attachments {
			m.Text += " " + a.Name + " " + a.Caption
		}
		for _, word := range words.Cut(m.Text) {
			if _, known := lost[word.Term]; known || word.Stop {
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
	if len(lost) == 0 {
		return nil, nil
	}
	rows, err := c.compactions(tx, "AND text <> ''")
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if holdsAny(row.Text, lost) {
			seqs = append(seqs, row.From)
		}
	}
	return seqs, nil
}

// holdsAny tells whether text has one of the words, which are given by their terms.
func holdsAny(text string, lost map[string]string) bool {
	folded := words.Fold(text)
	maybe := false
	for _, word := range lost { // most texts have none: to cut one costs more
		if maybe = strings.Contains(folded, word); maybe {
			break
		}
	}
	return maybe && slices.ContainsFunc(words.Cut(text), func(w words.Word) bool { _, found := lost[w.Term]; return found })
}

// outdated tells whether something that the job's worker read beside its span was deleted
// since, or has left the view: then its summary may repeat it.
func (j *job) outdated(tx *transaction, beside compactor.Beside) (outdated bool, err error) {
	for _, seq := range beside.Messages {
		low, high := j.conversation.rows(seq, seq)
		err = tx.QueryRow("SELECT EXISTS (SELECT 1 FROM messages WHERE id BETWEEN ? AND ? AND deleted_at IS NOT NULL)", low, high).Scan(&outdated)
		if err != nil || outdated {
			return outdated, err
		}
	}
	for _, id := range beside.Rows {
		err = tx.QueryRow("SELECT state NOT IN ('staged', 'active', 'folded') FROM compactions WHERE id = ?", id).Scan(&outdated)
		if err != nil || outdated {
			return outdated, err
		}
	}
	return false, nil
}
