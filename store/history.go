// History: pages of messages, what a compaction covers, the usage of the window at each turn, and when all this happened.

package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"cairn/chat"
	"cairn/transcript"
)

// Earlier returns the newest messages before a seq (0: of all), at most limit, oldest first, without deleted ones, and whether
// there are older ones.
func (tr Transcript) Earlier(ctx context.Context, before int64, limit int) (page []chat.Message, more bool, err error) {
	if before <= 0 {
		before = MaxSeq
	}
	page, err = View(ctx, tr.c, "read transcript", func(tx *Tx) []chat.Message {
		return tr.c.In(tx).Messages(1, before-1, "ORDER BY id DESC LIMIT ?", limit+1)
	})
	if more = len(page) > limit; more {
		page = page[:limit]
	}
	slices.Reverse(page)
	return page, more, err
}

// TurnUsage is the usage of the window at the last request of a turn.
type TurnUsage struct {
	Seq  int64 // of the answer
	Time time.Time
	transcript.Sent
}

// Usages returns the usage of the window at the turns answered since a time and before the message with a seq (0: all), oldest
// first: at most the newest limit, 0: all. It is unknown for turns before schema version 8.
func (turns Turns) Usages(ctx context.Context, since time.Time, before int64, limit int) (all []TurnUsage, err error) {
	if before <= 0 {
		before = MaxSeq
	}
	low, high := turns.c.RowRange(1, before-1)
	all, err = selectAlone(ctx, turns.c.store, func(rows *sql.Rows, u *TurnUsage) error {
		return rows.Scan(&u.Seq, UTC(&u.Time), &u.Window, &u.Used, &u.Counted, &u.Estimated, &u.Context, &u.Factor)
	}, `SELECT m.seq, m.said_at, u.window, u.used, u.counted, u.estimated, u.context, u.factor
		FROM turn_usage u JOIN messages m ON m.id = u.id WHERE u.id BETWEEN ? AND ? AND m.said_at >= ?
		ORDER BY u.id DESC LIMIT ?`, low, high, max(since.UnixMilli(), 0), cmp.Or(limit, -1))
	slices.Reverse(all)
	return all, turns.c.Fail("read the usage of turns", err)
}

// Expansion is what a compaction covers.
type Expansion struct {
	Row      transcript.Summary
	Children []transcript.Summary // of a rollup, oldest first
	Messages []chat.Message       // of any other, oldest first
	Next     int64                // seq of the next message, if there are more; 0: none
}

// Expand returns what a compaction covers: the children of a rollup, or at most limit messages from seq from on, without
// deleted ones. ErrNotFound: the view does not contain it, directly or through a rollup.
func (tr Transcript) Expand(ctx context.Context, id, from int64, limit int) (Expansion, error) {
	return View(ctx, tr.c, fmt.Sprintf("expand compaction %d", id), func(tx *Tx) (e Expansion) {
		e.Row = First(tx, tr.c.In(tx).Compactions("AND id = ? AND state IN ('applied', 'rolled_up')", id))
		if e.Row.IsRollup() {
			e.Children = tr.c.In(tx).Compactions(childrenOf, id)
		} else {
			e.Messages, e.Next = tr.c.In(tx).Page(max(from, e.Row.From), e.Row.To, limit)
		}
		return e
	})
}

// Page reads the messages between two seqs, at least one and at most limit, without deleted ones. next is the seq of the
// following one; 0: none.
func (rs Rows) Page(from, to int64, limit int) (page []chat.Message, next int64) {
	limit = max(limit, 1)
	page = rs.Messages(from, to, "ORDER BY id LIMIT ?", limit+1)
	if len(page) > limit {
		page, next = page[:limit], page[limit].Seq
	}
	return page, next
}

// Known is a message as it was stored.
type Known struct {
	ID     string
	Edited time.Time // by the platform's clock; zero: no edit is known
}

// Recent returns at most limit of the newest messages of people, in no particular order, sent since a time and stored before
// another, without deleted ones.
func (tr Transcript) Recent(ctx context.Context, since, before time.Time, limit int) ([]Known, error) {
	const reviewed = 500 // rows of the transcript
	recent, err := selectAlone(ctx, tr.c.store, func(rows *sql.Rows, m *Known) error {
		return rows.Scan(&m.ID, UTC(&m.Edited))
	}, fmt.Sprintf(`SELECT platform_id, edited FROM (
			SELECT platform_id, coalesce(edited_at, 0) AS edited, said_at, received_at AS saved_at FROM inbox WHERE conversation = ?1
			UNION ALL SELECT * FROM (SELECT platform_id, coalesce(edited_at, 0), said_at, saved_at FROM
				(SELECT * FROM messages WHERE %s ORDER BY id DESC LIMIT %d) WHERE role = 'user' AND platform_id <> '' AND deleted_at IS NULL)
		) WHERE said_at >= ?2 AND saved_at <= ?3 ORDER BY said_at DESC LIMIT ?4`, Own, reviewed), tr.c.id, since.UnixMilli(), before.UnixMilli(), limit)
	return recent, tr.c.Fail("look for recent messages", err)
}

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
	return View(ctx, tr.c, "read recorded messages", func(tx *Tx) []Recorded {
		return List(tx, func(rows *sql.Rows, r *Recorded) error { return scanMessage(rows, &r.Message, UTC(&r.Saved)) },
			"SELECT "+messageColumns+", saved_at FROM messages WHERE "+Own+" AND deleted_at IS NULL ORDER BY id", tr.c.id)
	})
}

// Recorded returns every summary that was started, in that order, with the first seqs of the sessions that users started.
func (cs Compactions) Recorded(ctx context.Context) (all []RecordedSummary, sessions []int64, err error) {
	err = cs.c.View(ctx, "read recorded summaries", func(tx *Tx) {
		all = List(tx, func(rows *sql.Rows, r *RecordedSummary) error {
			return scanSummary(rows, &r.Summary, UTC(&r.Began), UTC(&r.Ended), UTC(&r.Applied), &r.Version, &r.Before, &r.After)
		}, "SELECT "+compactionColumns+`, created_at, ended_at, applied_at, coalesce(version, 0), before_tokens, after_tokens
			FROM compactions WHERE conversation = ? ORDER BY id`, cs.c.id)
		sessions = Values[int64](tx, "SELECT to_seq + 1 FROM sessions WHERE conversation = ? ORDER BY to_seq", cs.c.id)
	})
	return all, sessions, err
}
