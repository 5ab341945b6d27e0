// Expanding a compaction into the messages it covers; listing applied compactions.

package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"cairn/chat"
	"cairn/transcript"
)

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
		if e.Row, err = tr.c.In(tx).Compaction(id); err != nil {
			return err
		}
		if e.Row.State != transcript.Applied && e.Row.State != transcript.RolledUp {
			return ErrNotFound
		}
		if e.Row.IsRollup() {
			e.Children, err = tr.c.In(tx).Compactions(childrenOf, id)
			return err
		}
		e.Messages, e.Next, err = tr.c.page(tx, max(from, e.Row.From), e.Row.To, limit)
		return err
	})
	return e, err
}

// page reads the messages from one seq to another, at least one and at most limit, without deleted
// ones. next is the seq of the following one; 0: none.
func (c *Conversation) page(tx *Tx, from, to int64, limit int) (page []chat.Message, next int64, err error) {
	limit = max(limit, 1)
	page, err = c.In(tx).Messages(from, to, "ORDER BY id LIMIT ?", limit+1)
	if len(page) > limit {
		page, next = page[:limit], page[limit].Seq
	}
	return page, next, err
}

// AppliedCompaction is an applied compaction, or an emergency.
type AppliedCompaction struct {
	At     time.Time
	Next   int64                // it precedes the message with this seq
	Before int                  // tokens used before; 0: not measured
	After  int                  // and after
	Rows   []transcript.Summary // by id, in their current states
}

// Applied returns all applied compactions and emergencies of the conversation, oldest first.
func (cs Compactions) Applied(ctx context.Context) (all []AppliedCompaction, err error) {
	err = cs.c.View(ctx, "read the landings", func(tx *Tx) error {
		type place struct {
			AppliedCompaction
			row, version int64
		}
		var places []place
		err := Each(tx, func(rows *sql.Rows) error {
			var p place
			var appliedAt int64
			err := rows.Scan(&p.row, &p.version, &appliedAt, &p.Next, &p.Before, &p.After)
			p.At = At(appliedAt)
			places = append(places, p)
			return err
		}, `SELECT id, version, applied_at, next_seq, before_tokens, after_tokens FROM compactions
			WHERE conversation = ? AND applied_at IS NOT NULL AND (ended_at IS NOT NULL OR made_by = 'emergency' AND trigger <> 'repair')
			ORDER BY version, id`, cs.c.id)
		if err != nil {
			return err
		}
		version := int64(-1)
		for _, p := range places {
			row, err := cs.c.In(tx).Compaction(p.row)
			if err != nil {
				return err
			}
			if p.version != version {
				version = p.version
				all = append(all, p.AppliedCompaction)
			}
			last := &all[len(all)-1]
			last.Rows = append(last.Rows, row)
			if last.Before == 0 {
				last.Before, last.After = p.Before, p.After
			}
		}
		return nil
	})
	return all, err
}
