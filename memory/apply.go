// Prepared summaries are applied, in one transaction.

package memory

import (
	"context"

	"cairn/compactor"
	"cairn/transcript"
)

// ApplyPrepared makes prepared rows applied, as transcript.State.Cover says. What cannot be applied becomes
// stale, what has to wait stays prepared, and a row that is not prepared is left as it is.
// clearedTo, if larger than the stored one, is stored with it, unless none of the rows has
// applied. It returns the head as committed and the rows as they stand now. ErrNotFound: a
// row is none of this conversation.
func (c *Conversation) ApplyPrepared(ctx context.Context, rows []int64, clearedTo int64) (head compactor.Head, applied []compactor.Compaction, err error) {
	err = c.store.update(ctx, func(tx *transaction) error {
		head, applied, err = c.applyAll(tx, rows, clearedTo)
		return err
	})
	if err != nil {
		return compactor.Head{}, nil, c.fail("apply compactions", err)
	}
	return head, applied, nil
}

// Stale returns which of these rows are stale.
func (c *Conversation) Stale(ctx context.Context, rows []int64) (stale []int64, err error) {
	err = c.store.view(ctx, func(tx *transaction) error {
		for _, id := range rows {
			row, err := c.compaction(tx, id)
			if err != nil {
				return err
			}
			if row.State == compactor.Stale {
				stale = append(stale, id)
			}
		}
		return nil
	})
	if err != nil {
		return nil, c.fail("look for stale compactions", err)
	}
	return stale, nil
}

func (c *Conversation) applyAll(tx *transaction, ids []int64, clearedTo int64) (head compactor.Head, applied []compactor.Compaction, err error) {
	rows, err := c.withIDs(tx, ids)
	if err != nil {
		return head, nil, err
	}
	upTo := int64(0)
	for _, row := range rows {
		upTo = max(upTo, row.To)
	}
	s, err := c.state(tx, upTo, rows)
	if err != nil {
		return head, nil, err
	}
	var behind []transcript.Stretch
	for _, part := range s.CoverNeeds(ids) {
		n, err := c.between(tx, part)
		if err != nil {
			return head, nil, err
		}
		behind = append(behind, n)
	}
	change, _, _ := s.Cover(ids, clearedTo, behind)
	if head, err = c.write(tx, s, change); err != nil {
		return head, nil, err
	}
	applied, err = c.withIDs(tx, ids)
	return head, applied, err
}

// withIDs reads the rows with some ids. ErrNotFound: one is none of this conversation.
func (c *Conversation) withIDs(tx *transaction, ids []int64) (rows []compactor.Compaction, err error) {
	for _, id := range ids {
		row, err := c.compaction(tx, id)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// between counts the messages of a span.
func (c *Conversation) between(tx *transaction, sp transcript.Span) (transcript.Stretch, error) {
	low, high := c.rows(sp.From, sp.To)
	n := transcript.Stretch{Span: sp}
	var first, last int64
	err := tx.QueryRow(`SELECT count(*),
		coalesce((SELECT said_at FROM messages WHERE id BETWEEN ?1 AND ?2 AND deleted_at IS NULL ORDER BY id LIMIT 1), 0),
		coalesce((SELECT said_at FROM messages WHERE id BETWEEN ?1 AND ?2 AND deleted_at IS NULL ORDER BY id DESC LIMIT 1), 0)
		FROM messages WHERE id BETWEEN ?1 AND ?2 AND deleted_at IS NULL`, low, high).Scan(&n.Messages, &first, &last)
	n.First, n.Last = at(first), at(last)
	return n, err
}
