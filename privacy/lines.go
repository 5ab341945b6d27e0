// Lines of summaries that a person wrote, removed or rewrote.

package privacy

import (
	"slices"
	"strings"

	"cairn/chat"
	"cairn/store"
	"cairn/transcript"
)

// eraseLines deletes the text of the next summaries in which the person wrote a line, of those made from them, and of those around
// them that repeat a word of it which no message has; a model or the extractive summarizer writes them anew. Where the person only
// removed a line, the summary stays and forgets it. left reports that there may be more.
func eraseLines(c *store.Conversation, tx *store.Tx, author string, e *Erased) (left bool) {
	rows := c.Summaries(tx).LinesBy(author)
	if len(rows) == 0 {
		return false
	}
	left = len(rows) > maxErased
	rows = rows[:min(len(rows), maxErased)]
	e.Messages += len(rows)
	forgetRemoved(c, tx, author, rows)
	rows = slices.DeleteFunc(rows, func(row transcript.Summary) bool {
		return !slices.ContainsFunc(row.Lines, func(l transcript.Line) bool { return l.ByID == author })
	})
	var written []chat.Message
	for _, row := range rows {
		text := strings.Split(row.Text, "\n")
		for _, l := range row.Lines {
			if l.ByID == author && l.At < len(text) {
				written = append(written, chat.Message{Seq: row.From, Text: text[l.At]})
			}
		}
	}
	rows = slices.Concat(rows, derivedFrom(c, tx, rows))
	if len(written) > 0 {
		rows = slices.Concat(rows, repeating(c, tx, written, lostTerms(c, tx, written)))
	}
	c.Summaries(tx).Revise(nil, rows, c.NextVersion(tx), func(row transcript.Summary) transcript.Summary { return row.Without(nil) })
	emptyInherited(c, tx, nil, nil, rows)
	return left
}

// forgetRemoved deletes from rows which lines the person removed or rewrote.
func forgetRemoved(c *store.Conversation, tx *store.Tx, author string, rows []transcript.Summary) {
	c.Summaries(tx).Revise(nil, rows, c.NextVersion(tx), func(row transcript.Summary) transcript.Summary {
		row.DroppedLines = slices.DeleteFunc(row.DroppedLines, func(l transcript.DroppedLine) bool { return l.ByID == author })
		return row
	})
}

// derivedFrom returns the rows that may say in other words what rows say: those that fold them, at any level, and those over their
// messages that are not applied yet.
func derivedFrom(c *store.Conversation, tx *store.Tx, rows []transcript.Summary) (all []transcript.Summary) {
	seen := transcript.IDs(rows)
	for next := rows; len(next) > 0; {
		row := next[0]
		next = next[1:]
		for _, above := range c.Summaries(tx).DerivedFrom(row) {
			if slices.Contains(seen, above.ID) {
				continue
			}
			seen = append(seen, above.ID)
			all = append(all, above)
			next = append(next, above)
		}
	}
	return all
}
