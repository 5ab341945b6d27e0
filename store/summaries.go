// Summaries as a deletion looks for them.

package store

import (
	"fmt"

	"cairn/transcript"
)

// Summaries are a conversation's summaries in any state, in one transaction.
type Summaries struct {
	c  handle
	tx *Tx
}

func (ss Summaries) messages() Messages { return ss.c.Messages(ss.tx) }

// Beside returns those around a span with a line that rests on a message outside of theirs.
func (ss Summaries) Beside(around transcript.Span) []transcript.Summary {
	return ss.read(`AND to_seq >= ? AND from_seq <= ? AND instr(lines, '"beside"') > 0`, around.From, around.To)
}

// Written returns those around a span with a text or a dropped line.
func (ss Summaries) Written(around transcript.Span) []transcript.Summary {
	return ss.read("AND to_seq >= ? AND from_seq <= ? AND (text <> '' OR dropped_lines <> '')", around.From, around.To)
}

// hasLines selects the summaries with a line that the person ?2, as JSON, wrote, removed or rewrote: compactions.lines, inherited.lines with
// the copies in threads, and compactions.dropped_lines hold names and ids of people, and the text beside them what they wrote.
const hasLines = `(instr(lines, '"by_id":' || ?2) > 0 OR instr(dropped_lines, '"by_id":' || ?2) > 0)`

// LinesBy returns those in which a person wrote, removed or rewrote a line, oldest row first.
func (ss Summaries) LinesBy(author string) []transcript.Summary {
	return ss.read("AND "+hasLines+" ORDER BY id", encode(author))
}

// DerivedFrom returns those that may say in other words what a row says: those that fold it, and those over its messages that are not
// applied yet.
func (ss Summaries) DerivedFrom(row transcript.Summary) []transcript.Summary {
	return ss.read(`AND (state IN ('running', 'prepared') AND from_seq <= ? AND to_seq >= ?
			OR instr(replace(replace(children, '[', ','), ']', ','), ?) > 0)`, row.To, row.From, fmt.Sprintf(",%d,", row.ID))
}

// SetExtractor notes who saved memories with a summary: worker, extractive; "": nobody.
func (ss Summaries) SetExtractor(id int64, by string) {
	ss.tx.do("UPDATE compactions SET extracted = ? WHERE id = ?", by, id)
}
