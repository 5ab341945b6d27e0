// Rows of compactions from running to prepared, and measurements added later.

package store

import (
	"context"
	"fmt"
	"slices"

	"cairn/chat"
	"cairn/transcript"
)

// Begin writes row in state running, and returns it. ErrNotFound: its span is in no session, because
// the conversation was purged after the row was planned.
func (cs Compactions) Begin(ctx context.Context, row transcript.Summary) (transcript.Summary, error) {
	row.State = transcript.Running
	return Update(ctx, cs.c, "begin compaction", func(tx *Tx) (transcript.Summary, error) {
		if !Exists(tx, `SELECT 1 FROM conversations WHERE id = ?1 AND session_start <= ?2
			UNION ALL SELECT 1 FROM sessions WHERE conversation = ?1 AND from_seq <= ?2 AND to_seq >= ?2`, cs.c.id, row.From) {
			return row, fmt.Errorf("messages from #%d on: %w", row.From, ErrNotFound)
		}
		return cs.c.insert(tx, row, 0), nil
	})
}

// Fail marks a row as failed, unless it is finished or stale; cause is in words for people.
func (cs Compactions) Fail(ctx context.Context, id int64, cause string) error {
	return cs.c.change(ctx, fmt.Sprintf("note the failure of compaction %d", id),
		"UPDATE compactions SET state = 'failed', error = ?, ended_at = ? WHERE id = ? AND conversation = ? AND state IN ('running', 'failed', 'stale')", cause, Now(), id, cs.c.id)
}

// Children returns the rows that a rollup folded, oldest first; none for any other kind of row.
func (cs Compactions) Children(ctx context.Context, rollup int64) ([]transcript.Summary, error) {
	return read(ctx, cs.c, fmt.Sprintf("read children of compaction %d", rollup), func(tx *Tx) []transcript.Summary {
		return cs.c.In(tx).Compactions(childrenOf, rollup)
	})
}

// Rows returns rows by their ids, as they are now. ErrNotFound: one of them is not in this conversation.
func (cs Compactions) Rows(ctx context.Context, ids []int64) ([]transcript.Summary, error) {
	return read(ctx, cs.c, "read compactions", func(tx *Tx) (rows []transcript.Summary) {
		for _, id := range ids {
			rows = append(rows, cs.c.In(tx).compaction(id))
		}
		return rows
	})
}

// Prepare writes the text of a running row, with its tokens, sources and, if known, its model, and
// makes it prepared. The text was made from the row's span and children, and also from other rows
// and messages. stale: some of that was edited, deleted or undone since the row was inserted; then
// the row is stale, and nothing of its text is written.
func (rs Rows) Prepare(row transcript.Summary, rows, messages []int64) (stale bool) {
	if rs.c.outdated(rs.tx, row, rows, messages) {
		rs.c.makeStale(rs.tx, row.ID)
		return true
	}
	rs.tx.change(`UPDATE compactions SET state = 'prepared', sources = ?, text = ?, tokens = ?, model = coalesce(nullif(?, ''), model), ended_at = ?
		WHERE id = ? AND state = 'running'`, toJSON(row.Sources), row.Text, row.Tokens, row.Model, Now(), row.ID)
	return false
}

// outdated reports whether something that a row's job read has changed: its span (then the row is
// already stale), something else that was deleted since, or a row that has left the view. The
// summary may repeat it.
func (c *Conversation) outdated(tx *Tx, row transcript.Summary, beside, messages []int64) bool {
	left := func(id int64, placeholder bool) bool {
		return Exists(tx, "SELECT 1 FROM compactions WHERE id = ? AND (state NOT IN ('prepared', 'applied', 'rolled_up') OR ? AND kind = 'placeholder')", id, placeholder)
	}
	return Exists(tx, "SELECT 1 FROM compactions WHERE id = ? AND state = 'stale'", row.ID) || c.sourcesGone(tx, messages, nil, "") ||
		slices.ContainsFunc(beside, func(id int64) bool { return left(id, true) }) ||
		slices.ContainsFunc(row.Children, func(id int64) bool { return left(id, false) })
}

// Measured stores the tokens used before and after a row was applied.
func (cs Compactions) Measured(ctx context.Context, row int64, before, after int) error {
	return cs.c.change(ctx, fmt.Sprintf("note the effect of compaction %d", row),
		"UPDATE compactions SET before_tokens = ?, after_tokens = ? WHERE id = ? AND conversation = ?", before, after, row, cs.c.id)
}

// Declined records that a model declined to summarize what a row covers.
func (cs Compactions) Declined(ctx context.Context, row int64, d transcript.Declined) error {
	return cs.c.change(ctx, fmt.Sprintf("note a refusal of compaction %d", row),
		"UPDATE compactions SET tries = ?, tried_at = ?, tried_with = ? WHERE id = ? AND conversation = ?", d.Times, d.At.UnixMilli(), d.By, row, cs.c.id)
}

// ClearDeclined forgets what models declined, so that it is attempted again.
func (cs Compactions) ClearDeclined(ctx context.Context) error {
	return cs.c.set(ctx, "forget what was declined", "UPDATE compactions SET tries = 0 WHERE conversation = ? AND tries > 0", cs.c.id)
}

// Span returns the messages from..to without deleted ones, oldest first.
func (cs Compactions) Span(ctx context.Context, from, to int64) ([]chat.Message, error) {
	return read(ctx, cs.c, "read messages", func(tx *Tx) []chat.Message { return cs.c.In(tx).Messages(from, to, "ORDER BY id") })
}
