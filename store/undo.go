// What undo needs: the latest compaction, and what was there before it.

package store

import (
	"context"
	"slices"

	"cairn/chat"
	"cairn/transcript"
)

// beforeTheStart says why an applied compaction cannot be undone, in words for people.
const beforeTheStart = "what was summarized last is from before the last /new"

// The rows of an applied compaction, none of which begins before a seq. It cleared the tool results
// of its time, so newer ones were cleared for another reason, and an undo leaves them alone.
const (
	latestApplied = `SELECT version, (SELECT iif(cleared_to < s.next_seq, s.cleared_before, cleared_to) FROM conversations WHERE id = s.conversation)
		FROM compactions s INDEXED BY compactions_applied
		WHERE conversation = ? AND version IS NOT NULL AND cleared_before IS NOT NULL AND state <> 'undone' AND from_seq >= ? ORDER BY version DESC LIMIT 1`
	madeWith  = "AND version = ? AND from_seq >= ? ORDER BY from_seq, id"
	endedWith = "AND ended_with = ? AND from_seq >= ? ORDER BY from_seq, id"
)

// Latest returns the latest compaction of the session that was not undone yet, with what undoing
// it needs. What was applied in earlier sessions does not concern the user who undoes something;
// it stays, even where it was applied together with what they undo.
func (cs Compactions) Latest(ctx context.Context) (transcript.Undoable, error) {
	return read(ctx, cs.c, "read the latest compaction", cs.c.latest)
}

func (c *Conversation) latest(tx *Tx) (l transcript.Undoable) {
	var start, applied int64
	tx.Row("SELECT version, session_start FROM conversations WHERE id = ?", c.id).Scan(&l.Version, &start)
	if !tx.Row(latestApplied, c.id, start).Found(&applied, &l.ClearedTo) {
		l.Why = transcript.ErrNothingApplied.Error()
		if Exists(tx, latestApplied, c.id, 1) {
			l.Why = beforeTheStart
		}
		return l
	}
	l.Rows, l.Ended = c.In(tx).Compactions(madeWith, applied, start), c.In(tx).Compactions(endedWith, applied, start)
	l.Changed = c.changedSince(tx, applied, slices.Concat(l.Rows, l.Ended))
	l.Freed = c.freed(tx, l.Rows, l.Ended)
	return l
}

// freed returns the messages that were verbatim before an applied compaction that made rows and
// ended others.
func (c *Conversation) freed(tx *Tx, made, ended []transcript.Summary) (messages []chat.Message) {
	ends := func(row transcript.Summary) bool {
		return slices.ContainsFunc(ended, func(old transcript.Summary) bool { return old.ID == row.ID })
	}
	before := slices.DeleteFunc(slices.Clone(ended), func(row transcript.Summary) bool { return slices.Contains(transcript.IDs(made), row.ID) })
	for _, row := range made {
		if ends(row) {
			continue // it was folded by another row of the compaction, which covers it
		}
		for _, gap := range row.Gaps(before) {
			messages = append(messages, c.In(tx).Messages(gap.From, gap.To, "ORDER BY id")...)
		}
	}
	return messages
}

// changedSince reports whether a message of one of the rows was edited or deleted since an applied compaction.
func (c *Conversation) changedSince(tx *Tx, applied int64, rows []transcript.Summary) bool {
	return slices.ContainsFunc(rows, func(row transcript.Summary) bool {
		low, high := c.RowRange(row.From, row.To)
		return Exists(tx, "SELECT 1 FROM messages INDEXED BY messages_changed WHERE id BETWEEN ? AND ? AND changed_with > ?", low, high, applied)
	})
}
