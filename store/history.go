// History: pages of messages, what a compaction covers, what is known of the newest messages, and the
// usage of the window at each turn.

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

// Earlier returns the newest messages before a seq (0: the newest of all), at most limit, oldest
// first, without deleted ones. more: there are older ones.
func (tr Transcript) Earlier(ctx context.Context, before int64, limit int) (page []chat.Message, more bool, err error) {
	if before <= 0 {
		before = MaxSeq
	}
	err = tr.c.View(ctx, "read transcript", func(tx *Tx) error {
		page = tr.c.In(tx).Messages(1, before-1, "ORDER BY id DESC LIMIT ?", limit+1)
		return nil
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

// keepSent stores the usage of the window when the turn was answered.
func (c *Conversation) keepSent(tx *Tx, o Outcome) {
	if n := len(o.Messages); n > 0 && o.Sent.Window > 0 {
		tx.Do("INSERT INTO turn_usage (id, window, used, counted, estimated, context, factor) VALUES (?, ?, ?, ?, ?, ?, ?)",
			c.Row(o.Messages[n-1].Seq), o.Sent.Window, o.Sent.Used, o.Sent.Counted, o.Sent.Estimated, o.Sent.Context, o.Sent.Factor)
	}
}

// Usages returns the usage of the window at the turns answered since a time and before the message
// with a seq (0: all), oldest first: at most the newest limit, 0: all. It is unknown for
// turns before schema version 8.
func (turns Turns) Usages(ctx context.Context, since time.Time, before int64, limit int) (all []TurnUsage, err error) {
	if before <= 0 {
		before = MaxSeq
	}
	low, high := turns.c.RowRange(1, before-1)
	err = turns.c.store.query(ctx, func(rows *sql.Rows) error {
		var u TurnUsage
		err := rows.Scan(&u.Seq, utc(&u.Time), &u.Window, &u.Used, &u.Counted, &u.Estimated, &u.Context, &u.Factor)
		all = append(all, u)
		return err
	}, `SELECT m.seq, m.said_at, u.window, u.used, u.counted, u.estimated, u.context, u.factor
		FROM turn_usage u JOIN messages m ON m.id = u.id WHERE u.id BETWEEN ? AND ? AND m.said_at >= ?
		ORDER BY u.id DESC LIMIT ?`, low, high, max(since.UnixMilli(), 0), cmp.Or(limit, -1))
	if err != nil {
		return nil, turns.c.Fail("read the usage of turns", err)
	}
	slices.Reverse(all)
	return all, nil
}

// Expansion is what a compaction covers.
type Expansion struct {
	Row      transcript.Summary
	Children []transcript.Summary // of a rollup, oldest first
	Messages []chat.Message       // of any other, oldest first
	Next     int64                // seq of the next message, if there are more; 0: none
}

// Expand returns what a compaction of this conversation covers: the children of a rollup, or at
// most limit messages from seq from on, without deleted ones. ErrNotFound: the view does not
// contain a row with this id, directly or through a rollup.
func (tr Transcript) Expand(ctx context.Context, id, from int64, limit int) (e Expansion, err error) {
	err = tr.c.View(ctx, fmt.Sprintf("expand compaction %d", id), func(tx *Tx) error {
		if e.Row = tr.c.In(tx).compaction(id); e.Row.State != transcript.Applied && e.Row.State != transcript.RolledUp {
			return ErrNotFound
		}
		if e.Row.IsRollup() {
			e.Children = tr.c.In(tx).Compactions(childrenOf, id)
			return nil
		}
		e.Messages, e.Next = tr.c.In(tx).Page(max(from, e.Row.From), e.Row.To, limit)
		return nil
	})
	return e, err
}

// Page reads the messages from one seq to another, at least one and at most limit, without deleted
// ones. next is the seq of the following one; 0: none.
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

// reviewRows limits how far back Recent looks, in rows of the transcript.
const reviewRows = 500

// Recent returns at most limit of the newest messages of people, in no particular order: those
// sent since a time and stored before another. Deleted ones are left out.
func (tr Transcript) Recent(ctx context.Context, since, before time.Time, limit int) ([]Known, error) {
	low, high := tr.c.RowRange(1, MaxSeq)
	recent, err := selectAlone(ctx, tr.c.store, func(rows *sql.Rows, m *Known) error {
		return rows.Scan(&m.ID, utc(&m.Edited))
	}, fmt.Sprintf(`SELECT platform_id, edited FROM (
			SELECT platform_id, coalesce(edited_at, 0) AS edited, said_at, received_at AS saved_at FROM inbox WHERE conversation = ?1
			UNION ALL SELECT * FROM (SELECT platform_id, coalesce(edited_at, 0), said_at, saved_at FROM
				(SELECT * FROM messages WHERE id BETWEEN ?2 AND ?3 ORDER BY id DESC LIMIT %d) WHERE role = 'user' AND platform_id <> '' AND deleted_at IS NULL)
		) WHERE said_at >= ?4 AND saved_at <= ?5 ORDER BY said_at DESC LIMIT ?6`, reviewRows), tr.c.id, low, high, since.UnixMilli(), before.UnixMilli(), limit)
	return recent, tr.c.Fail("look for recent messages", err)
}
