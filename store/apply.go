// Commits a change that package transcript computed, unless the stored state has changed since; reads what has changed, and what an
// undo needs.

package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"cairn/chat"
	"cairn/transcript"
)

// Commit writes a change of s, the state that was loaded or committed last, and returns the head as committed.
// transcript.ErrStale: what the change depends on differs on disk from s; nothing has changed.
func (cs Compactions) Commit(ctx context.Context, s *transcript.State, change transcript.Change) (transcript.Head, error) {
	return Update(ctx, cs.c, "change the head", func(tx *Tx) transcript.Head {
		ss := cs.c.Summaries(tx)
		tx.Fail(ss.current(s, change))
		return ss.write(s, change)
	})
}

// current returns transcript.ErrStale if the head, a row to apply, or the messages to hide differ
// on disk from s.
func (ss Summaries) current(s *transcript.State, change transcript.Change) error {
	var version, next int64
	ss.tx.row("SELECT version, next_seq FROM conversations WHERE id = ?", ss.c.id).Scan(&version, &next)
	if version != s.HeadVersion {
		return fmt.Errorf("the head is of version %d, not %d: %w", version, s.HeadVersion, transcript.ErrStale)
	}
	if start := change.Marks.SessionStart; start != s.SessionStart && start != next {
		return fmt.Errorf("a session begins at %d, and the next message is %d: %w", start, next, transcript.ErrStale)
	}
	for _, row := range change.Summaries {
		if row.State != transcript.Applied {
			continue
		}
		if slices.Contains(transcript.IDs(s.Prepared), row.ID) &&
			!exists(ss.tx, "SELECT 1 FROM compactions WHERE id = ? AND conversation = ? AND state = 'prepared'", row.ID, ss.c.id) {
			return fmt.Errorf("summary %d is not prepared: %w", row.ID, transcript.ErrStale)
		}
		for _, gap := range row.Gaps(s.Summaries) {
			if known, is := len(s.Messages.In(gap)), ss.between(gap).Messages; known != is {
				return fmt.Errorf("%d messages are verbatim from %d to %d, not %d: %w", is, gap.From, gap.To, known, transcript.ErrStale)
			}
		}
	}
	return nil
}

// Reload returns the snapshot, which messages people edited or deleted since the version known, and what is left of the running
// turn's messages. If that is still the version, it returns only the version and the prepared rows.
func (cs Compactions) Reload(ctx context.Context, known int64, running []chat.Message) (transcript.Snapshot, error) {
	return View(ctx, cs.c, "read what has changed", func(tx *Tx) (now transcript.Snapshot) {
		tx.row("SELECT version FROM conversations WHERE id = ?", cs.c.id).Scan(&now.Head.Version)
		if now.Head.Version == known {
			now.Prepared = cs.c.Summaries(tx).prepared()
			return now
		}
		now = cs.c.Summaries(tx).Load()
		now.Changed = listValues[int64](tx, "SELECT seq FROM messages WHERE "+inConversation+" AND changed_with > ?2", cs.c.id, known)
		running, deleted := Inbox(cs).steered(tx, running)
		now.Running, _ = cs.c.Messages(tx).withoutChangedCopies(without(running, deleted), known, len(deleted) > 0)
		return now
	})
}

// Stretch counts the messages of a span, for transcript.State.Cover.
func (cs Compactions) Stretch(ctx context.Context, sp transcript.Span) (transcript.Stretch, error) {
	return View(ctx, cs.c, "count messages behind summaries", func(tx *Tx) transcript.Stretch { return cs.c.Summaries(tx).between(sp) })
}

func (ss Summaries) between(sp transcript.Span) (n transcript.Stretch) {
	low, high := ss.c.rowRange(sp.From, sp.To)
	ss.tx.row(`SELECT count(*),
		coalesce((SELECT said_at FROM messages WHERE id BETWEEN ?1 AND ?2 AND deleted_at IS NULL ORDER BY id LIMIT 1), 0),
		coalesce((SELECT said_at FROM messages WHERE id BETWEEN ?1 AND ?2 AND deleted_at IS NULL ORDER BY id DESC LIMIT 1), 0)
		FROM messages WHERE id BETWEEN ?1 AND ?2 AND deleted_at IS NULL`, low, high).Scan(&n.Messages, localInto(&n.First), localInto(&n.Last))
	return n
}

func (ss Summaries) write(s *transcript.State, change transcript.Change) transcript.Head {
	if change.Empty() {
		return ss.head()
	}
	given := make(map[int64]int64) // row IDs, by the temporary IDs of the change
	for _, row := range change.Summaries {
		ss.writeRow(s, row, change.Marks.HeadVersion, given)
	}
	for _, ended := range change.Sessions[len(s.Sessions):] {
		ss.tx.do(`INSERT INTO sessions (conversation, from_seq, to_seq, settled)
			VALUES (?, ?, ?, 0)`, ss.c.id, ended.From, ended.To)
		ss.settle(ended.From)
		ss.tx.do(dropSession, ss.c.id) // the request is fulfilled
	}
	if m := change.Marks; m.HeadVersion != s.HeadVersion {
		ss.messages().dropContexts()
		ss.tx.do("UPDATE conversations SET version = ?, cleared_to = ?, session_start = ?, spared_from = ?, spared_to = ? WHERE id = ?",
			m.HeadVersion, m.ClearedTo, m.SessionStart, m.Spared.From, m.Spared.To, ss.c.id)
	}
	return ss.head()
}

// settle stores whether the earlier session around a seq is settled, which its applied summaries decide.
func (ss Summaries) settle(seq int64) {
	ss.tx.do(`UPDATE sessions SET settled = CASE WHEN
			(SELECT count(*) FROM compactions WHERE `+inSession+`) < 2
			AND NOT EXISTS (SELECT 1 FROM compactions WHERE `+inSession+` AND (kind = 'placeholder' OR made_by = 'extractive' OR owed = 1)) THEN 1 ELSE 0 END
		WHERE conversation = ?1 AND to_seq >= ?2
		AND from_seq = (SELECT max(from_seq) FROM sessions WHERE conversation = ?1 AND from_seq <= ?2)`, ss.c.id, seq)
}

const inSession = "conversation = ?1 AND state = 'applied' AND from_seq BETWEEN sessions.from_seq AND sessions.to_seq"

// clearedBefore keeps, with a row that is being applied, how far tool results were cleared before: it can be undone.
const clearedBefore = "UPDATE compactions SET cleared_before = (SELECT cleared_to FROM conversations WHERE id = conversation) WHERE id = ?"

// writeRow writes what a change of s with a version does to one summary.
func (ss Summaries) writeRow(s *transcript.State, row transcript.Summary, version int64, given map[int64]int64) {
	if row.ID >= transcript.Unstored {
		fresh := row
		fresh.State = transcript.Applied
		id := ss.insert(fresh, version).ID
		given[row.ID] = id
		if row.Trigger == transcript.OnRewrite { // it can be undone, and takes over the children
			ss.tx.do(clearedBefore, id)
			ss.adopt(id, row.Children)
		}
		if row.State == transcript.Applied {
			return
		}
		row.ID = id // a rollup of the same change already has it
	}
	row.Children = slices.Clone(row.Children)
	for i, child := range row.Children {
		row.Children[i] = cmp.Or(given[child], child)
	}
	if row.State == transcript.Stale {
		ss.makeStale(row.ID)
		return
	}
	stored := RecordedSummary{Summary: row}
	if row.State != transcript.Applied {
		stored.EndedWith = version
	}
	written := []string{"state", "kind", "made_by", "owed", "tokens", "ended_with", "parent"}
	if slices.Contains(transcript.IDs(s.Prepared), row.ID) {
		stored.Applied = utcTime(nowMillis())
		stored.Version = version
		stored.Next = readEnd(ss.tx, ss.c.id)
		written = append(written, "messages", "children", "text", "lines", "dropped_lines", "applied_at", "version", "next_seq")
		ss.tx.do(clearedBefore, row.ID)
	}
	ss.update(stored, written...)
	if row.State == transcript.Applied || row.State == transcript.RolledUp {
		ss.adopt(row.ID, row.Children)
	}
}

// adopt makes a row the parent of the rows that it was rolled up from.
func (ss Summaries) adopt(parent int64, children []int64) {
	for _, child := range children {
		ss.tx.do("UPDATE compactions SET parent = ? WHERE id = ? AND conversation = ? AND state = 'rolled_up'", parent, child, ss.c.id)
	}
}

// Revise writes what an edit or a deletion, which incremented the version, does to the summaries
// over messages, and to others.
func (ss Summaries) Revise(seqs []int64, others []transcript.Summary, version int64, to func(transcript.Summary) transcript.Summary) {
	over := make(map[int64]transcript.Summary)
	for _, row := range others {
		over[row.ID] = row
	}
	for _, seq := range seqs {
		for _, row := range ss.read("AND from_seq <= ? AND to_seq >= ?", seq, seq) {
			over[row.ID] = row
		}
	}
	for _, was := range over {
		row := RecordedSummary{Summary: to(was)}
		written := []string{
			"state", "kind", "made_by", "owed", "messages", "text", "sources", "tokens", "model", "tries", "lines", "dropped", "dropped_lines",
		}
		if was.State == transcript.Applied && row.State != transcript.Applied {
			row.EndedWith = version
			written = append(written, "ended_with")
		}
		ss.update(row, written...)
	}
}

// makeStale ends a running or prepared row that cannot be applied.
func (ss Summaries) makeStale(id int64) {
	ss.tx.do("UPDATE compactions SET state = 'stale', text = '', sources = '', lines = '', dropped = 0, dropped_lines = '' WHERE id = ? AND conversation = ?", id, ss.c.id)
}

const beforeTheStart = "the last summary is from before the last /new" // in words for people

// The rows of an applied compaction, none of which begins before a seq, or of a line that was rewritten since then. It cleared the
// tool results of its time, so newer ones were cleared for another reason, and an undo leaves them alone.
const (
	headSteps = `SELECT DISTINCT version, (SELECT CASE WHEN cleared_to < s.next_seq THEN s.cleared_before ELSE cleared_to END FROM conversations WHERE id = s.conversation),
		trigger = 'rewrite' FROM compactions s
		WHERE conversation = ?1 AND version IS NOT NULL AND cleared_before IS NOT NULL AND state <> 'undone'
		AND (from_seq >= ?2 OR trigger = 'rewrite' AND state = 'applied' AND next_seq >= ?2)`
	latestApplied = headSteps + " ORDER BY version DESC LIMIT 1"
	latestAct     = headSteps + " AND trigger NOT IN (?3, ?4) ORDER BY version DESC LIMIT 1"
	stepsSince    = headSteps + " AND version >= ?3 ORDER BY version DESC"

	appliedWith = "AND version = ? AND from_seq >= ? ORDER BY from_seq, id"
	endedWith   = "AND ended_with = ? AND from_seq >= ? ORDER BY from_seq, id"
)

// Latest returns the latest act of the session that was not undone yet, with what undoing it needs. What was applied
// in earlier sessions stays, even where it was applied together with what is undone. Where only folds and repairs were
// applied, it returns the latest of these.
func (cs Compactions) Latest(ctx context.Context) (transcript.Undoable, error) {
	return View(ctx, cs.c, "read the latest compaction", func(tx *Tx) transcript.Undoable { return cs.c.Summaries(tx).latest() })
}

// headStep is a change of the head that applied summaries, by the version that it led to.
type headStep struct {
	version, clearedTo int64
	rewrite            bool
}

func steps(tx *Tx, query string, args ...any) []headStep {
	return listRows(tx, func(rows *sql.Rows, step *headStep) error {
		return rows.Scan(&step.version, &step.clearedTo, &step.rewrite)
	}, query, args...)
}

func (ss Summaries) latest() (l transcript.Undoable) {
	var start int64
	ss.tx.row("SELECT version, session_start FROM conversations WHERE id = ?", ss.c.id).Scan(&l.Version, &start)
	first := steps(ss.tx, latestAct, ss.c.id, start, transcript.Upkeep[0], transcript.Upkeep[1])
	if len(first) == 0 {
		first = steps(ss.tx, latestApplied, ss.c.id, start)
	}
	if len(first) == 0 {
		l.Why = transcript.ErrNothingApplied.Error()
		if exists(ss.tx, latestApplied, ss.c.id, 1) {
			l.Why = beforeTheStart
		}
		return l
	}
	for _, step := range steps(ss.tx, stepsSince, ss.c.id, start, first[0].version) {
		l.Steps = append(l.Steps, ss.step(step, start))
	}
	l.Steps = transcript.ActIn(l.Steps)
	return l
}

// step reads a step of the session that begins at start.
func (ss Summaries) step(at headStep, start int64) transcript.Step {
	if at.rewrite { // it may be of an earlier session
		start = 1
	}
	step := transcript.Step{
		Rows: ss.read(appliedWith, at.version, start), Ended: ss.read(endedWith, at.version, start), ClearedTo: at.clearedTo,
	}
	step.Changed = slices.ContainsFunc(slices.Concat(step.Rows, step.Ended), func(row transcript.Summary) bool {
		low, high := ss.c.rowRange(row.From, row.To)
		return exists(ss.tx, "SELECT 1 FROM messages WHERE id BETWEEN ? AND ? AND changed_with > ?", low, high, at.version)
	})
	step.Freed = ss.freed(step.Rows, step.Ended)
	return step
}

// freed returns the messages that were verbatim before a compaction that made rows and ended others.
func (ss Summaries) freed(rows, ended []transcript.Summary) (messages []chat.Message) {
	before := slices.DeleteFunc(slices.Clone(ended), func(row transcript.Summary) bool { return slices.Contains(transcript.IDs(rows), row.ID) })
	for _, row := range rows {
		if slices.Contains(transcript.IDs(ended), row.ID) {
			continue // it was folded by another row of the compaction, which covers it
		}
		for _, gap := range row.Gaps(before) {
			messages = append(messages, ss.messages().read(gap.From, gap.To, "ORDER BY id")...)
		}
	}
	return messages
}
