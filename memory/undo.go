// Undoing: the latest compaction is undone, and the rows it made give their place
// to those that stood there before.

package memory

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"cairn/compactor"
	"cairn/transcript"
)

// beforeTheStart says why an applied compaction cannot be undone, in words for people.
const beforeTheStart = "what was summarized last lies before the beginning of this conversation"

// The rows of an applied compaction, of which none begins before a seq.
const (
	latestApplied = `SELECT version, cleared_before FROM compactions INDEXED BY compactions_applied
		WHERE conversation = ? AND version IS NOT NULL AND cleared_before IS NOT NULL AND state <> 'undone' AND from_seq >= ? ORDER BY version DESC LIMIT 1`
	madeWith  = "AND version = ? AND from_seq >= ? ORDER BY from_seq, id"
	endedWith = "AND ended_with = ? AND from_seq >= ? ORDER BY from_seq, id"
)

// Latest returns the latest compaction of the session that was not undone yet, and
// what stands in the view without it. Latest.Why says why it cannot be undone.
func (c *Conversation) Latest(ctx context.Context) (l compactor.Undoable, err error) {
	err = c.store.view(ctx, func(tx *transaction) error {
		u, err := c.latest(tx)
		l = u.Undoable
		return err
	})
	if err != nil {
		return compactor.Undoable{}, c.fail("read the latest compaction", err)
	}
	return l, nil
}

// undoing is the latest compaction, with what undoes it.
type undoing struct {
	compactor.Undoable
	state  *transcript.State
	change transcript.Change // only if Why is empty
}

func (c *Conversation) latest(tx *transaction) (u undoing, err error) {
	if u.Head, err = c.head(tx); err != nil {
		return u, err
	}
	u.Version = u.Head.Version
	jobs, err := c.compactions(tx, "AND state IN ('prepared', 'running') ORDER BY id")
	if err != nil {
		return u, err
	}
	if u.state, err = c.state(tx, 0, jobs); err != nil {
		return u, err
	}
	ended, err := c.readSet(tx, &u)
	if err != nil || u.Why != "" {
		return u, err
	}
	needs, err := u.state.UndoNeeds()
	if err != nil {
		u.Why = err.Error()
		return u, nil
	}
	loaded := transcript.Loaded{Needs: needs, Rows: ended}
	for _, sp := range needs.Messages {
		freed, err := c.messages(tx, sp.From, sp.To, "ORDER BY id")
		if err != nil {
			return u, err
		}
		u.Freed = append(u.Freed, freed...)
	}
	for _, m := range u.Freed {
		loaded.Read = append(loaded.Read, transcript.Message{Seq: m.Seq})
	}
	if u.change, err = u.state.Undo(loaded); err != nil {
		return u, err
	}
	u.announce()
	return u, nil
}

// readSet enters the latest compaction of the session into the state, and returns the rows that
// ended with it. What was applied in earlier sessions is no business of those who take something
// back, and stays, also where it was applied together with what they take back.
func (c *Conversation) readSet(tx *transaction, u *undoing) (ended []compactor.Compaction, err error) {
	set := transcript.Set{}
	err = tx.QueryRow(latestApplied, c.id, u.Head.Start).Scan(&set.Version, &set.ClearedBefore)
	if errors.Is(err, sql.ErrNoRows) {
		var before bool
		err := tx.QueryRow("SELECT EXISTS ("+latestApplied+")", c.id, 1).Scan(&before)
		if u.Why = transcript.ErrNothingApplied.Error(); before {
			u.Why = beforeTheStart
		}
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	u.AppliedVersion = set.Version
	if u.Rows, err = c.compactions(tx, madeWith, u.AppliedVersion, u.Head.Start); err != nil {
		return nil, err
	}
	if ended, err = c.compactions(tx, endedWith, u.AppliedVersion, u.Head.Start); err != nil {
		return nil, err
	}
	set.Made, set.Ended = ids(u.Rows), ids(ended)
	for _, row := range u.Rows {
		set.Over = append(set.Over, row.Span)
	}
	if set.Hid, set.Messages, err = c.hidden(tx, u.Rows, ended); err != nil {
		return nil, err
	}
	set.Changed, err = c.changedSince(tx, u.AppliedVersion, slices.Concat(u.Rows, ended))
	u.state.Sets = []transcript.Set{set}
	return ended, err
}

// hidden returns where messages were verbatim before an applied compaction that made rows and ended
// others, and how many.
func (c *Conversation) hidden(tx *transaction, made, ended []compactor.Compaction) (hid []transcript.Span, messages int, err error) {
	ends := func(row compactor.Compaction) bool {
		return slices.ContainsFunc(ended, func(old compactor.Compaction) bool { return old.ID == row.ID })
	}
	before := slices.DeleteFunc(slices.Clone(ended), func(row compactor.Compaction) bool { return slices.Contains(ids(made), row.ID) })
	for _, row := range made {
		if ends(row) {
			continue // it was folded by another row of the compaction, which covers it
		}
		for _, gap := range row.Gaps(before) {
			n, err := c.between(tx, gap)
			if err != nil {
				return nil, 0, err
			}
			if n.Messages > 0 {
				hid, messages = append(hid, gap), messages+n.Messages
			}
		}
	}
	return hid, messages, nil
}

// changedSince reports whether a message of one of the rows was edited or deleted since an applied compaction.
func (c *Conversation) changedSince(tx *transaction, applied int64, rows []compactor.Compaction) (touched bool, err error) {
	for _, row := range rows {
		low, high := c.rows(row.From, row.To)
		err := tx.QueryRow(`SELECT EXISTS (SELECT 1 FROM messages INDEXED BY messages_changed
			WHERE id BETWEEN ? AND ? AND changed_with > ?)`, low, high, applied).Scan(&touched)
		if err != nil || touched {
			return touched, err
		}
	}
	return false, nil
}

// announce fills in what comes back, and the head as it will be.
func (u *undoing) announce() {
	then := u.state.With(u.change)
	u.Head.Version, u.Head.ClearedTo = then.HeadVersion, then.ClearedTo
	u.Head.SparedFrom, u.Head.SparedTo = then.Spared.From, then.Spared.To
	u.Head.Stack = nil
	for _, row := range then.Summaries {
		if row = priced(row); row.From < u.Head.Start {
			continue
		}
		u.Head.Stack = append(u.Head.Stack, row)
		if !slices.ContainsFunc(u.state.Summaries, func(now transcript.Summary) bool { return now.ID == row.ID }) {
			u.Back = append(u.Back, row)
		}
	}
}

// Undo undoes the latest compaction if version is still the stored one; applied
// tells. All its rows become undone, and those it folded, replaced or split are
// active again. The memories that were saved with it stay.
func (c *Conversation) Undo(ctx context.Context, version int64) (head compactor.Head, applied bool, err error) {
	err = c.store.update(ctx, func(tx *transaction) error {
		u, err := c.latest(tx)
		if err != nil {
			return err
		}
		if u.Version != version || u.Why != "" {
			head, err = c.head(tx)
			return err
		}
		applied = true
		head, err = c.write(tx, u.state, u.change)
		return err
	})
	if err != nil {
		return compactor.Head{}, false, c.fail("undo the latest compaction", err)
	}
	return head, applied, nil
}
