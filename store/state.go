// Writing the decisions of package transcript to rows.

package store

import (
	"cmp"
	"slices"

	"cairn/transcript"
)

// write writes a change of s, and returns the resulting head.
func (c *Conversation) write(tx *Tx, s *transcript.State, change transcript.Change) transcript.Head {
	if change.Empty() {
		return c.head(tx)
	}
	given := make(map[int64]int64) // row IDs, by the temporary IDs of the change
	for _, row := range change.Summaries {
		c.writeRow(tx, s, row, change.Marks.HeadVersion, given)
	}
	for _, ended := range change.Sessions[len(s.Sessions):] {
		tx.Do(`INSERT INTO sessions (conversation, from_seq, to_seq, settled)
			SELECT ?1, ?2, ?3, count(*) < 2 AND NOT coalesce(max(kind = 'placeholder' OR made_by = 'extractive' OR owed), 0)
			FROM compactions WHERE conversation = ?1 AND state = 'applied' AND from_seq BETWEEN ?2 AND ?3`, c.id, ended.From, ended.To)
		c.dropSession(tx) // the request is fulfilled
	}
	if m := change.Marks; m.HeadVersion != s.HeadVersion {
		tx.Do("UPDATE conversations SET version = ?, cleared_to = ?, session_start = ?, spared_from = ?, spared_to = ? WHERE id = ?",
			m.HeadVersion, m.ClearedTo, m.SessionStart, m.Spared.From, m.Spared.To, c.id)
	}
	return c.head(tx)
}

// writeRow writes what a change of s with a version does to one summary.
func (c *Conversation) writeRow(tx *Tx, s *transcript.State, row transcript.Summary, version int64, given map[int64]int64) {
	if row.ID >= transcript.Unstored {
		fresh := row
		fresh.State = transcript.Applied
		fresh = c.insert(tx, fresh, version)
		given[row.ID] = fresh.ID
		if row.State == transcript.Applied {
			return
		}
		row.ID = fresh.ID // a rollup of the same change already has it
	}
	row.Children = slices.Clone(row.Children)
	for i, child := range row.Children {
		row.Children[i] = cmp.Or(given[child], child)
	}
	if row.State == transcript.Stale {
		c.makeStale(tx, row.ID)
		return
	}
	var ended any
	if row.State != transcript.Applied {
		ended = version
	}
	tx.Do("UPDATE compactions SET state = ?, kind = ?, made_by = ?, owed = ?, tokens = ?, ended_with = ?, parent = NULL WHERE id = ? AND conversation = ?",
		row.State, row.Kind, row.By, row.AwaitsModel, row.Tokens, ended, row.ID, c.id)
	if slices.ContainsFunc(s.Prepared, func(prepared transcript.Summary) bool { return prepared.ID == row.ID }) {
		tx.Do(`UPDATE compactions SET messages = ?, children = ?, applied_at = ?, version = ?, cleared_before = c.cleared_to, next_seq = c.next_seq
			FROM conversations c WHERE compactions.id = ? AND c.id = compactions.conversation`, row.Messages, toJSON(row.Children), Now(), version, row.ID)
	}
	if row.State != transcript.Applied && row.State != transcript.RolledUp {
		return
	}
	for _, child := range row.Children {
		tx.Do("UPDATE compactions SET parent = ? WHERE id = ? AND conversation = ? AND state = 'rolled_up'", row.ID, child, c.id)
	}
}

// Revise writes what an edit or a deletion, which incremented the version, does to the summaries
// over messages, and to others.
func (rs Rows) Revise(seqs []int64, others []transcript.Summary, version int64, to func(transcript.Summary) transcript.Summary) {
	over := make(map[int64]transcript.Summary)
	for _, row := range others {
		over[row.ID] = row
	}
	for _, seq := range seqs {
		for _, row := range rs.Compactions("AND from_seq <= ? AND to_seq >= ?", seq, seq) {
			over[row.ID] = row
		}
	}
	for _, was := range over {
		row := to(was)
		rs.tx.Do(`UPDATE compactions SET state = ?1, kind = ?2, made_by = ?3, owed = ?4, messages = ?5, text = ?6, sources = ?7, tokens = ?8, model = ?9, tries = ?12,
			ended_with = iif(state = 'applied' AND ?1 <> state, ?10, ended_with) WHERE id = ?11`,
			row.State, row.Kind, row.By, row.AwaitsModel, row.Messages, row.Text, toJSON(row.Sources), row.Tokens, row.Model, version, row.ID, row.Declined.Times)
	}
}

// makeStale ends a running or prepared row that cannot be applied.
func (c *Conversation) makeStale(tx *Tx, id int64) {
	tx.Do("UPDATE compactions SET state = 'stale', text = '', sources = '' WHERE id = ? AND conversation = ?", id, c.id)
}
