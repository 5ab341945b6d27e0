// Undoing: the latest landing is taken back, and the rows it made give their place
// to those that stood there before.

package memory

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"cairn/compactor"
)

// Why a landing cannot be taken back, in words for people.
const (
	nothingLanded  = "nothing was summed up that could be taken back"
	changedSince   = "what was summed up last has been changed since: messages in it were edited or deleted, or it was hidden or replaced"
	hiddenSince    = "messages that follow what was summed up last were hidden since"
	beforeTheStart = "what was summed up last lies before the beginning of this conversation"
)

// The rows of a landing, of which none begins before a seq.
const (
	latestLanded = `SELECT generation, cleared_before FROM compactions INDEXED BY compactions_landed
		WHERE conversation = ? AND generation IS NOT NULL AND cleared_before IS NOT NULL AND state <> 'undone' AND from_seq >= ? ORDER BY generation DESC LIMIT 1`
	madeWith  = "AND generation = ? AND from_seq >= ? ORDER BY from_seq, id"
	endedWith = "AND ended_with = ? AND from_seq >= ? ORDER BY from_seq, id"
)

// Latest returns the latest landing of the segment that was not taken back yet, and
// what stands in the view without it. Latest.Why says why it cannot be taken back.
func (c *Conversation) Latest(ctx context.Context) (l compactor.Landing, err error) {
	err = c.store.view(ctx, func(tx *transaction) error {
		l, err = c.latest(tx)
		return err
	})
	if err != nil {
		return compactor.Landing{}, c.fail("read the latest landing", err)
	}
	return l, nil
}

func (c *Conversation) latest(tx *transaction) (l compactor.Landing, err error) {
	if l.Head, err = c.head(tx); err != nil {
		return l, err
	}
	l.Generation = l.Head.Generation
	// What lands in earlier segments is no business of those who take something back,
	// and stays, also where it landed together with what they take back.
	err = tx.QueryRow(latestLanded, c.id, l.Head.Start).Scan(&l.Landed, &l.Head.ClearedTo)
	if errors.Is(err, sql.ErrNoRows) {
		var before bool
		err := tx.QueryRow("SELECT EXISTS ("+latestLanded+")", c.id, 1).Scan(&before)
		if l.Why = nothingLanded; before {
			l.Why = beforeTheStart
		}
		return l, err
	}
	if err != nil {
		return l, err
	}
	if l.Rows, err = c.compactions(tx, madeWith, l.Landed, l.Head.Start); err != nil {
		return l, err
	}
	ended, err := c.compactions(tx, endedWith, l.Landed, l.Head.Start)
	if err != nil {
		return l, err
	}
	if l.Why, err = c.whyNot(tx, l.Landed, l.Rows, ended); err != nil || l.Why != "" {
		return l, err
	}
	l.Back = slices.DeleteFunc(ended, func(r compactor.Compaction) bool { return holds(l.Rows, r.ID) })
	if err := c.without(tx, &l); err != nil {
		return l, err
	}
	if len(l.Freed) == 0 {
		return l, nil
	}
	later, err := c.compactions(tx, "AND state = 'active' AND generation > ? AND from_seq > ? LIMIT 1", l.Landed, l.Freed[0].Seq)
	if len(later) > 0 {
		l.Why = hiddenSince // the view is in order: what is older does not stand below it
	}
	return l, err
}

func holds(rows []compactor.Compaction, id int64) bool {
	return slices.ContainsFunc(rows, func(r compactor.Compaction) bool { return r.ID == id })
}

// whyNot tells what has happened since to a landing that made rows and ended others.
func (c *Conversation) whyNot(tx *transaction, landed int64, rows, ended []compactor.Compaction) (string, error) {
	for _, row := range rows {
		if row.State != compactor.Active && !holds(ended, row.ID) {
			return changedSince, nil
		}
	}
	for _, row := range slices.Concat(rows, ended) {
		low, high := c.rows(row.From, row.To)
		var touched bool
		err := tx.QueryRow(`SELECT EXISTS (SELECT 1 FROM messages INDEXED BY messages_changed
			WHERE id BETWEEN ? AND ? AND changed_with > ?)`, low, high, landed).Scan(&touched)
		if err != nil {
			return "", err
		}
		if touched {
			return changedSince, nil
		}
	}
	return "", nil
}

// without makes l.Head what the head is when the landing is taken back, and l.Freed
// the messages that no row covers then. They and what comes back to be healed are
// spared from now on, beside what is spared already.
func (c *Conversation) without(tx *transaction, l *compactor.Landing) error {
	l.Head.Generation++
	stack := slices.DeleteFunc(l.Head.Stack, func(r compactor.Compaction) bool { return holds(l.Rows, r.ID) })
	for i, row := range l.Back {
		if row.State == compactor.Replaced {
			spare(&l.Head, row.From, row.To)
		}
		l.Back[i].State = compactor.Active
		stack = append(stack, l.Back[i])
	}
	slices.SortFunc(stack, func(a, b compactor.Compaction) int { return cmp.Compare(a.From, b.From) })
	if l.Head.Stack = stack; len(stack) == 0 {
		l.Head.Stack = nil // as it reads back
	}
	for _, row := range l.Rows {
		if row.State != compactor.Active {
			continue // it was folded by another row of the landing, which covers it
		}
		for _, gap := range gaps(stack, row.From, row.To) {
			freed, err := c.messages(tx, gap.from, gap.to, "ORDER BY id")
			if err != nil {
				return err
			}
			l.Freed = append(l.Freed, freed...)
			spare(&l.Head, gap.from, gap.to)
		}
	}
	return nil
}

// spare widens what a head leaves alone.
func spare(head *compactor.Head, from, to int64) {
	if head.SparedTo == 0 {
		head.SparedFrom, head.SparedTo = from, to
	}
	head.SparedFrom, head.SparedTo = min(head.SparedFrom, from), max(head.SparedTo, to)
}

func (c *Conversation) spare(tx *transaction, from, to int64) error {
	return changed(tx, "UPDATE conversations SET spared_from = ?, spared_to = ? WHERE id = ?", from, to, c.id)
}

// Undo takes the latest landing back if generation is still the stored one; applied
// tells. All its rows become undone, and those it folded, replaced or split are
// active again. The memories that were saved with it stay.
func (c *Conversation) Undo(ctx context.Context, generation int64) (head compactor.Head, applied bool, err error) {
	err = c.store.update(ctx, func(tx *transaction) error {
		l, err := c.latest(tx)
		if err != nil {
			return err
		}
		if l.Generation != generation || l.Why != "" {
			head, err = c.head(tx)
			return err
		}
		applied = true
		head, err = c.takeBack(tx, l)
		return err
	})
	if err != nil {
		return compactor.Head{}, false, c.fail("take the latest landing back", err)
	}
	return head, applied, nil
}

func (c *Conversation) takeBack(tx *transaction, l compactor.Landing) (head compactor.Head, err error) {
	for _, row := range l.Back {
		if _, err := tx.Exec("UPDATE compactions SET state = 'active', ended_with = NULL, parent = NULL WHERE id = ?", row.ID); err != nil {
			return head, err
		}
		if row.Kind != compactor.Rollup {
			continue
		}
		for _, child := range row.Children { // a rollup that healed it has taken them
			if _, err := tx.Exec("UPDATE compactions SET parent = ? WHERE id = ? AND conversation = ? AND state = 'folded'", row.ID, child, c.id); err != nil {
				return head, err
			}
		}
	}
	staged, err := c.compactions(tx, "AND state = 'staged'")
	if err != nil {
		return head, err
	}
	for _, row := range l.Rows {
		if err := c.end(tx, row.ID, compactor.Undone, l.Head.Generation); err != nil {
			return head, err
		}
		for _, late := range staged { // they would hide again what people want to see
			if late.From <= row.To && row.From <= late.To {
				if err := c.makeStale(tx, late.ID); err != nil {
					return head, err
				}
			}
		}
	}
	_, err = tx.Exec("UPDATE conversations SET generation = ?, cleared_to = ?, spared_from = ?, spared_to = ? WHERE id = ?",
		l.Head.Generation, l.Head.ClearedTo, l.Head.SparedFrom, l.Head.SparedTo, c.id)
	if err != nil {
		return head, err
	}
	return c.head(tx)
}

// takenBack tells whether somebody took back, since a row was begun, what stood
// over messages of its span: it would hide again what people want to see.
func (c *Conversation) takenBack(tx *transaction, row compactor.Compaction) (back bool, err error) {
	err = tx.QueryRow(`SELECT EXISTS (SELECT 1 FROM compactions WHERE conversation = ?1 AND state = 'undone' AND from_seq <= ?2 AND to_seq >= ?3
		AND ended_with > (SELECT begun_with FROM compactions WHERE id = ?4))`, c.id, row.To, row.From, row.ID).Scan(&back)
	return back, err
}
