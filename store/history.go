// History: the newest messages, the list of conversations, and the usage of the window at each turn.

package store

import (
	"cmp"
	"context"
	"database/sql"
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
		page, err = tr.c.In(tx).Messages(1, before-1, "ORDER BY id DESC LIMIT ?", limit+1)
		return err
	})
	if more = len(page) > limit; more {
		page = page[:limit]
	}
	slices.Reverse(page)
	return page, more, err
}

// Place is a conversation in a list.
type Place struct {
	Channel string    // its name
	Label   string    // what people call it; "": unknown
	Last    time.Time // when the newest message was sent; zero: none
	Next    int64     // the seq that the next message gets
	Version int64     // raised by every change of its head
}

// Places returns a page of the conversations in use whose name or label contains some words, newest
// message first, and how many there are. Its cost does not grow with their messages.
func (s *Store) Places(ctx context.Context, words string, limit, offset int) (page []Place, total int, err error) {
	err = s.query(ctx, func(rows *sql.Rows) error {
		var p Place
		var last int64
		err := rows.Scan(&p.Channel, &p.Label, &p.Next, &p.Version, &last, &total)
		p.Last = atOrZero(last)
		page = append(page, p)
		return err
	}, `SELECT name, label, next_seq, version, coalesce((SELECT said_at FROM messages m WHERE m.id BETWEEN c.id << 32 AND c.id << 32 | 4294967295
		ORDER BY m.id DESC LIMIT 1), 0) AS last, count(*) OVER () FROM conversations c
		WHERE instr(lower(name || ' ' || label), lower(?)) > 0 AND `+inUse+` ORDER BY last DESC, name LIMIT ? OFFSET ?`, words, limit, offset)
	if err == nil && len(page) == 0 && offset > 0 { // beyond the end no row has the total
		_, total, err = s.Places(ctx, words, 1, 0)
	}
	return page, total, err
}

// TurnUsage is the usage of the window at the last request of a turn.
type TurnUsage struct {
	Seq  int64 // of the answer
	Time time.Time
	transcript.Sent
}

// keepSent stores the usage of the window when the turn was answered.
func (c *Conversation) keepSent(tx *Tx, o Outcome) error {
	if n := len(o.Messages); n > 0 && o.Sent.Window > 0 {
		_, err := tx.Exec("INSERT INTO turn_usage (id, window, used, counted, estimated, context, factor) VALUES (?, ?, ?, ?, ?, ?, ?)",
			c.Row(o.Messages[n-1].Seq), o.Sent.Window, o.Sent.Used, o.Sent.Counted, o.Sent.Estimated, o.Sent.Context, o.Sent.Factor)
		return err
	}
	return nil
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
		var saidAt int64
		err := rows.Scan(&u.Seq, &saidAt, &u.Window, &u.Used, &u.Counted, &u.Estimated, &u.Context, &u.Factor)
		u.Time = At(saidAt)
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
