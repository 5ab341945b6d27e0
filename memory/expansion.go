// Expanding: from a compaction to what it stands for; and the landings, in time.

package memory

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"cairn/compactor"
)

// Expansion is what a compaction stands for.
type Expansion struct {
	Row      compactor.Compaction
	Children []compactor.Compaction // of a rollup, oldest first
	Messages []compactor.Message    // of any other, oldest first
	Next     int64                  // the seq of the next message, if there are more; 0: there are none
}

// Expand returns what a compaction of this conversation stands for: the children
// of a rollup, or the messages from seq from on, at most limit, deleted ones left
// out. ErrNotFound: none with that id stands in the view, itself or through others.
func (c *Conversation) Expand(ctx context.Context, id, from int64, limit int) (e Expansion, err error) {
	err = c.view(ctx, fmt.Sprintf("expand compaction %d", id), func(tx *transaction) error {
		if e.Row, err = c.compaction(tx, id); err != nil {
			return err
		}
		if e.Row.State != compactor.Active && e.Row.State != compactor.Folded {
			return ErrNotFound
		}
		if e.Row.IsRollup() {
			e.Children, err = c.compactions(tx, childrenOf, id)
			return err
		}
		e.Messages, e.Next, err = c.page(tx, max(from, e.Row.From), e.Row.To, limit)
		return err
	})
	return e, err
}

// page reads the messages from one seq to another, at least one and at most limit,
// deleted ones left out. next is the seq of the one behind them; 0: there is none.
func (c *Conversation) page(tx *transaction, from, to int64, limit int) (page []compactor.Message, next int64, err error) {
	limit = max(limit, 1)
	page, err = c.messages(tx, from, to, "ORDER BY id LIMIT ?", limit+1)
	if len(page) > limit {
		page, next = page[:limit], page[limit].Seq
	}
	return page, next, err
}

// Landed is a landing, or an emergency, as it came to pass.
type Landed struct {
	At     time.Time
	Next   int64                  // it stands before the message with this seq
	Before int                    // tokens used before, as they were measured; 0: they were not
	After  int                    // and after
	Rows   []compactor.Compaction // by id, in the states in which they are now
}

// Landings returns all landings and emergencies of the conversation, oldest first.
func (c *Conversation) Landings(ctx context.Context) (all []Landed, err error) {
	err = c.view(ctx, "read the landings", func(tx *transaction) error {
		type place struct {
			Landed
			row, generation int64
		}
		var places []place
		err := each(tx, func(rows *sql.Rows) error {
			var p place
			var landedAt int64
			err := rows.Scan(&p.row, &p.generation, &landedAt, &p.Next, &p.Before, &p.After)
			p.At = at(landedAt)
			places = append(places, p)
			return err
		}, `SELECT id, generation, landed_at, next_seq, before_tokens, after_tokens FROM compactions
			WHERE conversation = ? AND landed_at IS NOT NULL AND (staged_at IS NOT NULL OR made_by = 'emergency' AND trigger <> 'heal')
			ORDER BY generation, id`, c.id)
		if err != nil {
			return err
		}
		generation := int64(-1)
		for _, p := range places {
			row, err := c.compaction(tx, p.row)
			if err != nil {
				return err
			}
			if p.generation != generation {
				generation = p.generation
				all = append(all, p.Landed)
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
