// Summaries as a deletion looks for them.

package store

import "cairn/transcript"

// Summaries are a conversation's summaries in any state, in one transaction.
type Summaries struct{ rs Rows }

func (t *Tx) SummariesOf(c *Conversation) Summaries { return Summaries{c.In(t)} }

// Beside returns those around a span with a line that rests on a message outside of theirs.
func (s Summaries) Beside(around transcript.Span) []transcript.Summary {
	return s.rs.compactions(`AND to_seq >= ? AND from_seq <= ? AND lines LIKE '%"beside"%'`, around.From, around.To)
}

// Written returns those around a span with a text or a dropped line.
func (s Summaries) Written(around transcript.Span) []transcript.Summary {
	return s.rs.compactions("AND to_seq >= ? AND from_seq <= ? AND (text <> '' OR dropped_lines <> '')", around.From, around.To)
}

// hasLines selects the summaries with a line that the person ?2 wrote, removed or rewrote: compactions.lines, inherited.lines with
// the copies in threads, and compactions.dropped_lines hold names and ids of people, and the text beside them what they wrote.
const hasLines = `(json_valid(lines) AND EXISTS (SELECT 1 FROM json_each(lines) WHERE value ->> 'by_id' = ?2)
	OR json_valid(dropped_lines) AND EXISTS (SELECT 1 FROM json_each(dropped_lines) WHERE value ->> 'by_id' = ?2))`

// LinesBy returns those in which a person wrote, removed or rewrote a line, oldest row first.
func (s Summaries) LinesBy(author string) []transcript.Summary {
	return s.rs.compactions("AND "+hasLines+" ORDER BY id", author)
}

// MadeFrom returns those that may say in other words what a row says: those that fold it, and those over its messages that are not
// applied yet.
func (s Summaries) MadeFrom(row transcript.Summary) []transcript.Summary {
	return s.rs.compactions(`AND (state IN ('running', 'prepared') AND from_seq <= ? AND to_seq >= ?
			OR json_valid(children) AND EXISTS (SELECT 1 FROM json_each(children) WHERE value = ?))`, row.To, row.From, row.ID)
}
