// A conversation with its times, for analyzing its past.

package store

import (
	"context"
	"database/sql"
	"time"

	"cairn/chat"
	"cairn/transcript"
)

// Recorded is a message and when it was stored.
type Recorded struct {
	chat.Message
	Saved time.Time
}

// RecordedSummary is a summary with its times; zero: not yet.
type RecordedSummary struct {
	transcript.Summary
	Began, Ended, Applied time.Time // Ended: prepared, or failed
	Version               int64     // the same for rows that were applied together; 0: it was not applied
	Before, After         int       // tokens used when it was applied
}

// Recorded returns all messages, oldest first, without deleted ones.
func (tr Transcript) Recorded(ctx context.Context) ([]Recorded, error) {
	low, high := tr.c.RowRange(1, MaxSeq)
	return View(ctx, tr.c, "read recorded messages", func(tx *Tx) ([]Recorded, error) {
		return Select(tx, func(rows *sql.Rows, r *Recorded) error {
			var saved int64
			err := scanMessage(rows, &r.Message, &saved)
			r.Saved = At(saved)
			return err
		}, "SELECT "+messageColumns+", saved_at FROM messages WHERE id BETWEEN ? AND ? AND deleted_at IS NULL ORDER BY id", low, high)
	})
}

// Recorded returns every summary that was started, in that order, with the first seqs of the
// sessions that users started.
func (cs Compactions) Recorded(ctx context.Context) (all []RecordedSummary, sessions []int64, err error) {
	err = cs.c.View(ctx, "read recorded summaries", func(tx *Tx) error {
		all, err = Select(tx, func(rows *sql.Rows, r *RecordedSummary) error {
			var began, ended, applied int64
			err := scanSummary(rows, &r.Summary, &began, &ended, &applied, &r.Version, &r.Before, &r.After)
			r.Began, r.Ended, r.Applied = At(began), atOrZero(ended), atOrZero(applied)
			return err
		}, "SELECT "+compactionColumns+`, created_at, coalesce(ended_at, 0), coalesce(applied_at, 0), coalesce(version, 0), before_tokens, after_tokens
			FROM compactions WHERE conversation = ? ORDER BY id`, cs.c.id)
		if err != nil {
			return err
		}
		sessions, err = Column[int64](tx, "SELECT to_seq + 1 FROM sessions WHERE conversation = ? ORDER BY to_seq", cs.c.id)
		return err
	})
	return all, sessions, err
}
