// Redoing: summaries over messages that people edited or deleted are no longer true.

package memory

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"cairn/compactor"
	"cairn/llm"
)

// redo deals with the compactions over messages that were edited or deleted in
// this transaction, which raised the generation, and with those that repeat them. What is staged becomes stale, and
// what is running will, see Store. What stands in the view is replaced by what the
// built-in summarizer makes of what remains, to be healed; only a text by a worker
// over an edited message stays until then. After a deletion no other row keeps a
// text, nor does what was made of it before it landed.
func (c *Conversation) redo(tx *transaction, seqs []int64, repeating []compactor.Compaction, generation int64, deleted bool) error {
	over := make(map[int64]compactor.Compaction)
	for _, row := range repeating {
		over[row.ID] = row
	}
	for _, seq := range seqs {
		rows, err := c.compactions(tx, "AND from_seq <= ? AND to_seq >= ?", seq, seq)
		if err != nil {
			return err
		}
		for _, row := range rows {
			over[row.ID] = row
		}
	}
	// Children before their rollups.
	rows := slices.SortedFunc(maps.Values(over), func(a, b compactor.Compaction) int {
		return cmp.Or(cmp.Compare(a.To-a.From, b.To-b.From), cmp.Compare(a.Level, b.Level), cmp.Compare(a.ID, b.ID))
	})
	for _, row := range rows {
		var err error
		switch {
		case row.State == compactor.Staged:
			err = c.makeStale(tx, row.ID)
		case row.State == compactor.Active && row.Kind != compactor.Marker:
			err = c.redoActive(tx, row, generation, deleted)
		case row.State == compactor.Active || row.State == compactor.Folded:
			err = c.redoFolded(tx, row, deleted)
		case deleted:
			err = c.blank(tx, row.ID)
		}
		if err != nil {
			return fmt.Errorf("redo compaction %d: %w", row.ID, err)
		}
	}
	return nil
}

// makeStale ends a staged row that cannot land.
func (c *Conversation) makeStale(tx *transaction, id int64) error {
	return errors.Join(c.setState(tx, id, compactor.Stale), c.blank(tx, id))
}

// blank empties the text of a row.
func (c *Conversation) blank(tx *transaction, id int64) error {
	_, err := tx.Exec("UPDATE compactions SET text = '', sources = '' WHERE id = ?", id)
	return err
}

// redoActive puts a new row in the place of one that stands in the view, with its
// children: a fold that was planned with the old text must not land.
func (c *Conversation) redoActive(tx *transaction, old compactor.Compaction, generation int64, deleted bool) error {
	row := old
	row.By, row.Trigger, row.Model, row.Owed = compactor.ByBuiltIn, compactor.OnHeal, "", old.Owed || old.By == compactor.ByWorker
	row, err := c.insert(tx, row, generation)
	if err != nil {
		return err
	}
	if _, err := tx.Exec("UPDATE compactions SET parent = ? WHERE parent = ?", row.ID, old.ID); err != nil {
		return err
	}
	if err := c.end(tx, old.ID, compactor.Replaced, generation); err != nil {
		return err
	}
	if deleted {
		if err := c.blank(tx, old.ID); err != nil {
			return err
		}
	}
	if old.By == compactor.ByBuiltIn {
		row.Sources = old.Sources
	}
	if row.Messages, err = c.held(tx, row); err != nil {
		return err
	}
	if err := c.standIn(tx, &row, compactor.Estimate(old.Text)); err != nil {
		return err
	}
	if old.By == compactor.ByWorker && !deleted {
		row.Text = old.Text
	}
	return c.rewriteRow(tx, row)
}

// redoFolded is for a row that is read only to make its rollup anew, and for
// markers, which have no text.
func (c *Conversation) redoFolded(tx *transaction, row compactor.Compaction, deleted bool) (err error) {
	if row.By == compactor.ByWorker {
		row.By, row.Owed, row.Sources = compactor.ByBuiltIn, true, nil // so that it is not read any more, but its messages
	}
	if deleted {
		row.Text = ""
	}
	if row.Messages, err = c.held(tx, row); err != nil {
		return err
	}
	return c.rewriteRow(tx, row)
}

func (c *Conversation) rewriteRow(tx *transaction, row compactor.Compaction) error {
	sources, err := toJSON(row.Sources)
	if err != nil {
		return err
	}
	return changed(tx, "UPDATE compactions SET made_by = ?, owed = ?, messages = ?, text = ?, sources = ?, tokens = ? WHERE id = ?",
		row.By, row.Owed, row.Messages, row.Text, sources, compactor.TokensOfCompaction(row), row.ID)
}

// held counts the messages of a row; a rollup's are those of its children, which may
// have been split since it was planned.
func (c *Conversation) held(tx *transaction, row compactor.Compaction) (n int, err error) {
	if row.Kind == compactor.Rollup {
		err = tx.QueryRow("SELECT coalesce(sum(messages), 0) FROM compactions WHERE parent = ? AND state = 'folded'", row.ID).Scan(&n)
		return n, err
	}
	there, err := c.between(tx, row.Span)
	return there.Messages, err
}

// standIn sums up what remains of a row, in at most so many tokens if they are
// enough to say anything.
func (c *Conversation) standIn(tx *transaction, row *compactor.Compaction, tokens int) error {
	left, err := c.material(tx, *row)
	if err != nil {
		return err
	}
	s := compactor.Extract(left, max(tokens, minStandIn), 0, row.Focus)
	if row.Text, row.Sources = s.Text, s.Sources; row.Text == "" {
		row.Text = fmt.Sprintf("%d messages without words that could be summed up.", row.Messages)
	}
	return nil
}

// minStandIn is the least a stand-in is given, in tokens: below it nothing can be said.
const minStandIn = 40

// material is what a row that is not by a worker is summed up from: the messages
// it was chosen from, or all of them; of a rollup, what its children stand for. A
// source 0 is what workers wrote, which only the children have.
func (c *Conversation) material(tx *transaction, row compactor.Compaction) ([]compactor.Message, error) {
	var found []compactor.Message
	if len(row.Sources) > 0 && !slices.Contains(row.Sources, 0) {
		for _, seq := range row.Sources {
			one, err := c.messages(tx, seq, seq, "")
			if err != nil {
				return nil, err
			}
			found = append(found, one...)
		}
		return found, nil
	}
	if row.Kind != compactor.Rollup {
		return c.messages(tx, row.From, row.To, "ORDER BY id")
	}
	children, err := c.compactions(tx, childrenOf, row.ID)
	if err != nil {
		return nil, err
	}
	for _, child := range children {
		part := []compactor.Message{{Role: llm.RoleAssistant, Text: child.Text, Time: child.FromTime}}
		if child.NeedsRepair() {
			if part, err = c.material(tx, child); err != nil {
				return nil, err
			}
		}
		found = append(found, part...)
	}
	return found, nil
}
