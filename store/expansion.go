// Expanding a compaction into the messages it covers.

package store

import (
	"context"
	"fmt"

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
		e.Messages, e.Next, err = tr.c.In(tx).Page(max(from, e.Row.From), e.Row.To, limit)
		return err
	})
	return e, err
}

// Page reads the messages from one seq to another, at least one and at most limit, without deleted
// ones. next is the seq of the following one; 0: none.
func (rs Rows) Page(from, to int64, limit int) (page []chat.Message, next int64, err error) {
	limit = max(limit, 1)
	page, err = rs.Messages(from, to, "ORDER BY id LIMIT ?", limit+1)
	if len(page) > limit {
		page, next = page[:limit], page[limit].Seq
	}
	return page, next, err
}
