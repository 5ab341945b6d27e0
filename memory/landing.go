// Landing: staged compactions enter the view, in one transaction that looks again
// at what stands there by now.

package memory

import (
	"context"
	"slices"

	"cairn/compactor"
)

// Land makes staged rows active, in the order given. What cannot land becomes
// stale, and what would hide messages behind those that it leaves verbatim stays
// staged; a row that is not staged is left as it is. clearedTo, if larger than the
// stored one, is stored with it, unless none of the rows has landed. It returns the head as committed and the rows as
// they stand now. ErrNotFound: a row is none of this conversation.
func (c *Conversation) Land(ctx context.Context, rows []int64, clearedTo int64) (head compactor.Head, landed []compactor.Compaction, err error) {
	err = c.store.update(ctx, func(tx *transaction) error {
		head, landed, err = c.landAll(tx, rows, clearedTo)
		return err
	})
	if err != nil {
		return compactor.Head{}, nil, c.fail("land compactions", err)
	}
	return head, landed, nil
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

func (c *Conversation) landAll(tx *transaction, rows []int64, clearedTo int64) (head compactor.Head, landed []compactor.Compaction, err error) {
	if head, err = c.head(tx); err != nil {
		return head, nil, err
	}
	stackChanged := false
	unspare := false
	bare := int64(maxSeq) // from here on messages stay verbatim, because what was to hide them has not landed
	var waits []int64     // so they stay staged, and the folds of them
	for _, id := range rows {
		row, err := c.compaction(tx, id)
		if err != nil {
			return head, nil, err
		}
		hides := row.Kind == compactor.Leaf && row.Trigger != compactor.OnHeal
		if hides && row.From > bare || slices.ContainsFunc(row.Children, func(id int64) bool { return slices.Contains(waits, id) }) {
			waits = append(waits, id)
			continue
		}
		ok := false
		if row.State == compactor.Staged {
			if ok, err = c.landOne(tx, row, head.Generation+1); err == nil && !ok {
				err = c.makeStale(tx, id)
			}
		}
		if ok {
			stackChanged = true
			unspare = unspare || row.Trigger == compactor.OnAggressive || row.Trigger == compactor.OnManual
		} else if left := false; row.From >= head.Start && err == nil {
			if left, err = c.uncovered(tx, row); left {
				bare = min(bare, row.From)
			}
		}
		if err != nil {
			return head, nil, err
		}
	}
	if unspare {
		if err := c.spare(tx, 0, 0); err != nil {
			return head, nil, err
		}
	}
	if !stackChanged && len(rows) > 0 {
		clearedTo = 0 // nothing has landed: the prompt cache is not thrown away for this
	}
	if head, err = c.raise(tx, stackChanged, clearedTo); err != nil {
		return head, nil, err
	}
	for _, id := range rows {
		row, err := c.compaction(tx, id)
		if err != nil {
			return head, nil, err
		}
		landed = append(landed, row)
	}
	return head, landed, nil
}

// landOne makes a staged row active if it may land, and tells whether it may. What
// it read stands there still: edits and deletions make what is staged stale.
func (c *Conversation) landOne(tx *transaction, row compactor.Compaction, generation int64) (bool, error) {
	if crosses, err := c.crosses(tx, span{row.From, row.To}); err != nil || crosses {
		return false, err
	}
	below, err := c.covering(tx, row.From, row.To)
	if err != nil {
		return false, err
	}
	back, err := c.takenBack(tx, row)
	if err != nil || back || row.Trigger == compactor.OnHeal && len(below) == 0 {
		return false, err
	}
	var ok bool
	if row.Kind == compactor.Rollup && row.Trigger != compactor.OnHeal {
		ok, err = c.fold(tx, row, below, generation)
	} else {
		ok, err = c.giveWay(tx, row, below, generation)
	}
	if err != nil || !ok {
		return false, err
	}
	messages, err := c.held(tx, row) // counted anew: one may have been deleted between plan and begin
	if err != nil {
		return false, err
	}
	return true, changed(tx, `UPDATE compactions SET state = 'active', messages = ?, landed_at = ?, generation = ?, cleared_before = c.cleared_to, next_seq = c.next_seq
		FROM conversations c WHERE compactions.id = ? AND c.id = compactions.conversation`, messages, now(), generation, row.ID)
}

// fold puts the rows below a rollup behind it. They must leave no message of its
// span uncovered, and each must be one it has read: a child, or a marker, which is
// read from its messages, so that one a landing has split meanwhile is as good.
func (c *Conversation) fold(tx *transaction, row compactor.Compaction, below []compactor.Compaction, generation int64) (bool, error) {
	for _, child := range below {
		read := child.Kind == compactor.Marker || slices.Contains(row.Children, child.ID)
		if !read || child.From < row.From || child.To > row.To {
			return false, nil
		}
	}
	if left, err := c.uncovered(tx, row); err != nil || left {
		return false, err
	}
	for _, child := range below {
		if err := changed(tx, "UPDATE compactions SET state = 'folded', parent = ?, ended_with = ? WHERE id = ?", row.ID, generation, child.ID); err != nil {
			return false, err
		}
	}
	children, err := toJSON(ids(below))
	if err != nil {
		return false, err
	}
	return true, changed(tx, "UPDATE compactions SET children = ? WHERE id = ?", children, row.ID)
}

// uncovered tells whether a message of a row's span stands behind no active row.
func (c *Conversation) uncovered(tx *transaction, row compactor.Compaction) (bool, error) {
	below, err := c.covering(tx, row.From, row.To)
	if err != nil {
		return false, err
	}
	for _, gap := range gaps(below, row.From, row.To) {
		if any, err := c.any(tx, gap); err != nil || any {
			return any, err
		}
	}
	return false, nil
}

// giveWay replaces the markers and built-in summaries below a row. What of them
// reaches beyond its span stays hidden behind markers of their own. A rollup that was made
// anew takes the place of a rollup over the same span, and its children; where an undo
// has taken that back there are none.
func (c *Conversation) giveWay(tx *transaction, row compactor.Compaction, below []compactor.Compaction, generation int64) (bool, error) {
	if row.Kind == compactor.Rollup && (below[0].Kind != row.Kind || below[0].From != row.From || below[0].To != row.To) {
		return false, nil
	}
	for _, old := range below {
		if !old.NeedsHealing() {
			return false, nil
		}
	}
	for _, old := range below {
		if err := c.end(tx, old.ID, compactor.Replaced, generation); err != nil {
			return false, err
		}
		if row.Kind == compactor.Rollup { // made anew from the same children
			if _, err := tx.Exec("UPDATE compactions SET parent = ? WHERE parent = ?", row.ID, old.ID); err != nil {
				return false, err
			}
		}
		for _, rest := range gaps([]compactor.Compaction{row}, old.From, old.To) {
			if err := c.leaveMarker(tx, old, rest, generation); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// leaveMarker hides what is left of a replaced row. If all of that was deleted the
// marker keeps the row's dates, and the rows go on to cover all that they did.
func (c *Conversation) leaveMarker(tx *transaction, old compactor.Compaction, rest span, generation int64) error {
	n, err := c.between(tx, rest)
	if err != nil {
		return err
	}
	if n.messages == 0 {
		n.first, n.last = old.FromTime.UnixMilli(), old.ToTime.UnixMilli()
	}
	marker := compactor.Compaction{
		Kind: compactor.Marker, By: compactor.ByEmergency, State: compactor.Active, Trigger: compactor.OnHeal,
		From: rest.from, To: rest.to, FromTime: at(n.first), ToTime: at(n.last), Messages: n.messages,
		Owed: old.Owed, Declined: old.Declined,
	}
	marker.Tokens = compactor.TokensOfCompaction(marker)
	_, err = c.insert(tx, marker, generation)
	return err
}

// stretch is what lies in a span: how many messages, and when the first and the
// last of them were said.
type stretch struct {
	messages    int
	first, last int64
}

// any tells whether there is a message in a span.
func (c *Conversation) any(tx *transaction, s span) (any bool, err error) {
	low, high := c.rows(s.from, s.to)
	err = tx.QueryRow("SELECT EXISTS (SELECT 1 FROM messages WHERE id BETWEEN ? AND ? AND deleted_at IS NULL)", low, high).Scan(&any)
	return any, err
}

func (c *Conversation) between(tx *transaction, s span) (n stretch, err error) {
	low, high := c.rows(s.from, s.to)
	err = tx.QueryRow(`SELECT count(*),
		coalesce((SELECT said_at FROM messages WHERE id BETWEEN ?1 AND ?2 AND deleted_at IS NULL ORDER BY id LIMIT 1), 0),
		coalesce((SELECT said_at FROM messages WHERE id BETWEEN ?1 AND ?2 AND deleted_at IS NULL ORDER BY id DESC LIMIT 1), 0)
		FROM messages WHERE id BETWEEN ?1 AND ?2 AND deleted_at IS NULL`, low, high).Scan(&n.messages, &n.first, &n.last)
	return n, err
}
