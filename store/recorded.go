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
	return read(ctx, tr.c, "read recorded messages", func(tx *Tx) []Recorded {
		return List(tx, func(rows *sql.Rows, r *Recorded) error { return scanMessage(rows, &r.Message, utc(&r.Saved)) },
			"SELECT "+messageColumns+", saved_at FROM messages WHERE id BETWEEN ? AND ? AND deleted_at IS NULL ORDER BY id", low, high)
	})
}

// Recorded returns every summary that was started, in that order, with the first seqs of the
// sessions that users started.
func (cs Compactions) Recorded(ctx context.Context) (all []RecordedSummary, sessions []int64, err error) {
	err = cs.c.View(ctx, "read recorded summaries", func(tx *Tx) error {
		all = List(tx, func(rows *sql.Rows, r *RecordedSummary) error {
			return scanSummary(rows, &r.Summary, utc(&r.Began), utc(&r.Ended), utc(&r.Applied), &r.Version, &r.Before, &r.After)
		}, "SELECT "+compactionColumns+`, created_at, ended_at, applied_at, coalesce(version, 0), before_tokens, after_tokens
			FROM compactions WHERE conversation = ? ORDER BY id`, cs.c.id)
		sessions, err = Column[int64](tx, "SELECT to_seq + 1 FROM sessions WHERE conversation = ? ORDER BY to_seq", cs.c.id)
		return err
	})
	return all, sessions, err
}
