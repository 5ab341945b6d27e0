// Spans that a model declined to summarize, and how often.

package store

import (
	"context"
	"fmt"

	"cairn/chat"
	"cairn/transcript"
)

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
	return View(ctx, cs.c, "read messages", func(tx *Tx) ([]chat.Message, error) {
		return cs.c.In(tx).Messages(from, to, "ORDER BY id")
	})
}
