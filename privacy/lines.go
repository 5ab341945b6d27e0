// Lines of summaries that a person wrote.

package privacy

import (
	"slices"
	"strings"

	"cairn/chat"
	"cairn/store"
	"cairn/transcript"
)

// hasLines selects the summaries with a line by the person ?2: compactions.lines, and inherited.lines with the copies
// in threads, hold names and ids of people, and the text beside them what they wrote.
const hasLines = `instr(lines, '"by_id":' || json_quote(?2)) > 0`

// linesOf returns the next summaries, in any state, in which a person wrote a line.
func linesOf(c *store.Conversation, tx *store.Tx, author string) []transcript.Summary {
	return c.In(tx).Compactions("AND "+hasLines+" ORDER BY id", author)
}

// eraseLines deletes the text of the next summaries in which the person wrote a line, and of those around them that repeat a word
// of it which no message has; a model or the extractive summarizer writes them anew. left reports that there may be more.
func eraseLines(c *store.Conversation, tx *store.Tx, author string, e *Erased) (left bool) {
	rows := linesOf(c, tx, author)
	if len(rows) == 0 {
		return false
	}
	left = len(rows) > erasedAtOnce
	rows = rows[:min(len(rows), erasedAtOnce)]
	e.Messages += len(rows)
	var written []chat.Message
	for _, row := range rows {
		text := strings.Split(row.Text, "\n")
		for _, l := range row.Lines {
			if l.ByID == author && l.At < len(text) {
				written = append(written, chat.Message{Seq: row.From, Text: text[l.At]})
			}
		}
	}
	if len(written) > 0 {
		rows = slices.Concat(rows, repeating(c, tx, written, lostTerms(c, tx, written)))
	}
	c.In(tx).Revise(nil, rows, c.In(tx).NextVersion(), func(row transcript.Summary) transcript.Summary { return row.Without(nil) })
	emptyInherited(c, tx, nil, nil, rows)
	return left
}
