// Compactions and sessions as rows: what a conversation's compactor loads, starts and changes.

package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"time"

	"cairn/chat"
	"cairn/transcript"
)

// compactions reads the conversation's summaries that the rest of the query chooses.
func (rs Rows) compactions(rest string, args ...any) (found []transcript.Summary) {
	for _, row := range rs.recorded(rest, args...) {
		found = append(found, row.Summary)
	}
	return found
}

// recorded is Compactions with the times of the rows.
func (rs Rows) recorded(rest string, args ...any) []RecordedSummary {
	return listRows(rs.tx, func(rows *sql.Rows, row *RecordedSummary) error { return scanCompaction(rows, row) },
		"SELECT "+compactionColumns+" FROM compactions WHERE conversation = ? "+rest, append([]any{rs.c.id}, args...)...)
}

// Compaction reads a row of the conversation; there must be one.
func (rs Rows) Compaction(id int64) transcript.Summary {
	return firstOf(rs.tx, rs.compactions("AND id = ?", id))
}

// childrenOf selects the rows that a rollup folded. The + keeps the planner from reading all that were ever folded.
const childrenOf = "AND parent = ? AND +state = 'rolled_up' ORDER BY from_seq"

func (cs Compactions) activeIn(tx *Tx, s transcript.Span) []transcript.Summary {
	return cs.c.In(tx).compactions("AND state = 'applied' AND from_seq BETWEEN ? AND ? ORDER BY from_seq", s.From, s.To)
}

// insert writes a new row and returns it as stored. A row inserted as applied gets the given version.
func (cs Compactions) insert(tx *Tx, summary transcript.Summary, version int64) transcript.Summary {
	now := At(Now())
	row := RecordedSummary{Summary: summary, Began: now, Next: readEnd(tx, cs.c.id)}
	if summary.State == transcript.Applied {
		row.Applied = now
		row.Version = version
	}
	return cs.c.In(tx).Compaction(insertCompaction(tx, cs.c.id, row))
}

func (cs Compactions) head(tx *Tx) (head transcript.Head) {
	tx.row("SELECT version, cleared_to, session_start, spared_from, spared_to FROM conversations WHERE id = ?", cs.c.id).
		Scan(&head.Version, &head.ClearedTo, &head.Start, &head.Spared.From, &head.Spared.To)
	head.Pins, head.Inherited = Transcript(cs).pins(tx), inheritance(tx, cs.c.id)
	head.Stack, head.Earlier = cs.activeIn(tx, transcript.Span{From: head.Start, To: MaxSeq}), cs.earlier(tx)
	return head
}

// Head returns the head as last committed.
func (cs Compactions) Head(ctx context.Context) (transcript.Head, error) {
	return View(ctx, cs.c, "read the head", cs.head)
}

// first reads the first messages of the session from start on that were addressed to the bot, and the replies of
// their turns. A turn's rows are adjacent, so nothing else is read.
func (cs Compactions) first(tx *Tx, start int64) []chat.Message {
	first := cs.c.In(tx).messages(start, MaxSeq, "AND addressed = 1 ORDER BY id LIMIT ?", transcript.MaxFirst)
	if len(first) == 0 {
		return first
	}
	replies := cs.c.In(tx).messages(start, MaxSeq, `AND id IN (
		SELECT (SELECT id FROM messages r WHERE r.id > f.id AND r.role = 'assistant' AND r.text <> '' AND r.calls = ''
				AND r.id < coalesce((SELECT n.id FROM messages n WHERE n.id > f.id AND n.turn <> f.turn ORDER BY n.id LIMIT 1), ?) ORDER BY r.id LIMIT 1)
			FROM messages f WHERE f.id BETWEEN ? AND ? AND f.deleted_at IS NULL AND f.addressed = 1) ORDER BY id`,
		cs.c.Row(MaxSeq), cs.c.Row(first[0].Seq), cs.c.Row(first[len(first)-1].Seq))
	first = append(first, replies...)
	slices.SortFunc(first, func(a, b chat.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return first
}

// Load returns the snapshot from which the view is rebuilt. Its cost does not depend on the conversation's age. Running rows
// become failed, unless the store is Shared.
func (cs Compactions) Load(ctx context.Context) (transcript.Snapshot, error) {
	if !cs.c.store.shared {
		err := cs.c.set(ctx, "load the state", `UPDATE compactions SET state = 'failed', error = 'the bot stopped before it was done'
			WHERE conversation = ? AND state = 'running'`, cs.c.id)
		if err != nil {
			return transcript.Snapshot{}, err
		}
	}
	return View(ctx, cs.c, "load the state", func(tx *Tx) transcript.Snapshot { return cs.c.In(tx).Load() })
}

func (rs Rows) prepared() []transcript.Summary {
	return rs.compactions("AND state = 'prepared' ORDER BY id")
}

func (rs Rows) Load() (state transcript.Snapshot) {
	cs := Compactions{rs.c}
	state.Head = cs.head(rs.tx)
	var read int64
	state.Next, state.Beyond, read = shown(rs.tx, rs.c.id)
	for _, gap := range (transcript.Span{From: state.Head.Start, To: read}).Gaps(state.Head.Stack) {
		state.Messages = append(state.Messages, rs.messages(gap.From, gap.To, "ORDER BY id")...)
	}
	if state.Beyond > 0 {
		state.Messages = append(state.Messages, rs.messages(state.Beyond, state.Next-1, "ORDER BY id")...)
	}
	state.First, state.Prepared = cs.first(rs.tx, state.Head.Start), rs.prepared()
	state.Count, state.Contexts = lastCount(rs.tx, rs.c.id), rs.contexts()
	state.Open, state.Addressed = openTurn(rs.tx, rs.c.id), cs.addressedSince(rs.tx)
	return state
}

// addressedSince reports whether the bot was addressed since the newest summary of its session was applied. It takes a
// twentieth of a Load. Columns for the two seqs would not replace the queries: an undo brings an older summary back.
func (cs Compactions) addressedSince(tx *Tx) bool {
	asked := getValue[int64](tx, "SELECT seq FROM messages WHERE "+ownRows+" AND addressed = 1 AND deleted_at IS NULL ORDER BY id DESC LIMIT 1", cs.c.id)
	return asked > 0 && asked >= getValue[int64](tx, newestSummary, cs.c.id)
}

// newestSummary selects the seq of the next message when the newest summary was applied, of those that were applied in their session.
// Folds and repairs do not count: they cover what was summarized before.
const newestSummary = `SELECT coalesce(next_seq, 0) FROM compactions s
	WHERE conversation = ?1 AND state IN ('applied', 'rolled_up', 'replaced') AND children = '' AND ended_at IS NOT NULL AND trigger <> 'repair'
	AND NOT EXISTS (SELECT 1 FROM sessions WHERE conversation = ?1 AND from_seq > s.to_seq AND from_seq <= s.next_seq)
	AND NOT (SELECT session_start > s.to_seq AND session_start <= s.next_seq FROM conversations WHERE id = ?1)
	ORDER BY to_seq DESC LIMIT 1`

// Begin writes row in state running, and returns it. ErrNotFound: the conversation was purged since the row was planned.
func (cs Compactions) Begin(ctx context.Context, row transcript.Summary) (transcript.Summary, error) {
	row.State = transcript.Running
	return Update(ctx, cs.c, "begin compaction", func(tx *Tx) transcript.Summary {
		if !exists(tx, `SELECT 1 FROM conversations WHERE id = ?1 AND session_start <= ?2
			UNION ALL SELECT 1 FROM sessions WHERE conversation = ?1 AND from_seq <= ?2 AND to_seq >= ?2`, cs.c.id, row.From) {
			tx.Fail(fmt.Errorf("messages from #%d on: %w", row.From, ErrNotFound))
		}
		return cs.insert(tx, row, 0)
	})
}

// Fail marks a row as failed, unless it is finished; cause is in words for people. If the row was running, and not stale, it also calls
// also, which may be nil, in the same transaction.
func (cs Compactions) Fail(ctx context.Context, id int64, cause string, also func(tx *Tx)) error {
	return cs.c.Update(ctx, fmt.Sprintf("note the failure of compaction %d", id), func(tx *Tx) {
		if also != nil && exists(tx, "SELECT 1 FROM compactions WHERE id = ? AND state = 'running'", id) {
			also(tx)
		}
		tx.change(`UPDATE compactions SET state = 'failed', error = ?, ended_at = ?
			WHERE id = ? AND conversation = ? AND state IN ('running', 'failed', 'stale')`, cause, Now(), id, cs.c.id)
	})
}

// Children returns the rows that a rollup folded, oldest first.
func (cs Compactions) Children(ctx context.Context, rollup int64) ([]transcript.Summary, error) {
	return View(ctx, cs.c, fmt.Sprintf("read children of compaction %d", rollup), func(tx *Tx) []transcript.Summary {
		return cs.c.In(tx).compactions(childrenOf, rollup)
	})
}

// Rows returns rows by their ids. ErrNotFound: one of them is not in this conversation.
func (cs Compactions) Rows(ctx context.Context, ids []int64) ([]transcript.Summary, error) {
	return View(ctx, cs.c, "read compactions", func(tx *Tx) (rows []transcript.Summary) {
		for _, id := range ids {
			rows = append(rows, cs.c.In(tx).Compaction(id))
		}
		return rows
	})
}

// Prepare writes the text of a running row, with its lines, tokens, sources and, if known, its model, and makes it prepared. Its job
// also read other rows and messages. stale: some of what it read was edited, deleted or undone since; then the row is
// stale, and nothing of its text is written.
func (rs Rows) Prepare(row transcript.Summary, rows, messages []int64) (stale bool) {
	left := func(id int64, placeholder bool) bool {
		return exists(rs.tx, `SELECT 1 FROM compactions
			WHERE id = ? AND (state NOT IN ('prepared', 'applied', 'rolled_up') OR ? AND kind = 'placeholder')`, id, placeholder)
	}
	state := getValue[transcript.Status](rs.tx, "SELECT state FROM compactions WHERE id = ? AND conversation = ?", row.ID, rs.c.id)
	if state == transcript.Stale || rs.messagesGone(messages, math.MaxInt64) ||
		slices.ContainsFunc(rows, func(id int64) bool { return left(id, true) }) ||
		slices.ContainsFunc(row.Children, func(id int64) bool { return left(id, false) }) {
		makeStale(rs.tx, rs.c.id, row.ID)
		return true
	}
	if state != transcript.Running {
		rs.tx.Fail(ErrNotFound)
	}
	prepared := RecordedSummary{Summary: row, Ended: At(Now())}
	prepared.State = transcript.Prepared
	written := []string{"state", "sources", "text", "lines", "dropped", "dropped_lines", "tokens", "ended_at"}
	if row.Model != "" {
		written = append(written, "model")
	}
	updateCompaction(rs.tx, rs.c.id, prepared, written)
	return false
}

// Measured stores the tokens used before and after a row was applied.
func (cs Compactions) Measured(ctx context.Context, row int64, before, after int) error {
	return cs.c.change(ctx, fmt.Sprintf("note the effect of compaction %d", row),
		"UPDATE compactions SET before_tokens = ?, after_tokens = ? WHERE id = ? AND conversation = ?", before, after, row, cs.c.id)
}

// Declined records that a model declined to summarize what a row covers; row 0: all that were declined.
func (cs Compactions) Declined(ctx context.Context, row int64, d transcript.Declined) error {
	return cs.c.set(ctx, fmt.Sprintf("note a refusal of compaction %d", row),
		"UPDATE compactions SET tries = ?1, tried_with = ?2 WHERE conversation = ?3 AND (id = ?4 OR ?4 = 0 AND tries > 0)",
		d.Times, d.By, cs.c.id, row)
}

// Span returns the messages from..to without deleted ones, oldest first.
func (cs Compactions) Span(ctx context.Context, from, to int64) ([]chat.Message, error) {
	return View(ctx, cs.c, "read messages", func(tx *Tx) []chat.Message { return cs.c.In(tx).messages(from, to, "ORDER BY id") })
}

const (
	sessionsShown = 100 // as many as the settings may ask for
	sessionsHeld  = 20  // older ones that need work, read at the same time
)

// WantSession records that a user wants a new session, which starts after the turn being answered and what is waiting in the
// inbox; later: there is any of that. wanted is false if nothing would be left behind. at is when, by the clock by which messages
// have their times.
func (cs Compactions) WantSession(ctx context.Context, at time.Time) (wanted, later bool, err error) {
	err = cs.c.Update(ctx, "request a new session", func(tx *Tx) {
		var before, last int64 // the last row of the inbox before the known requests, and before this one
		var known, said, waiting bool
		tx.row(`SELECT coalesce(max(after), 0), count(*) > 0, coalesce((SELECT max(id) FROM inbox WHERE conversation = ?1), 0),
			EXISTS (SELECT 1 FROM messages WHERE id BETWEEN (SELECT id << 32 | session_start FROM conversations WHERE id = ?1)
				AND ?1 << 32 | 4294967295 AND deleted_at IS NULL),
			EXISTS (SELECT 1 FROM messages WHERE `+ownRows+` AND answered = 0)
			FROM wanted_sessions WHERE conversation = ?1`, cs.c.id).Scan(&before, &known, &last, &said, &waiting)
		later = waiting || last > 0
		wanted = last > before || said && !known
		if wanted {
			tx.do("INSERT INTO wanted_sessions (conversation, after, wanted_at) VALUES (?, ?, ?)", cs.c.id, last, at.UnixMilli())
		}
	})
	return wanted, later, err
}

// SessionDue reports whether a requested session should start now: all that waited before it was taken up.
func (cs Compactions) SessionDue(ctx context.Context) (due bool, err error) {
	err = cs.c.row(ctx, "look for a requested session", []any{&due},
		`SELECT NOT EXISTS (SELECT 1 FROM inbox WHERE conversation = ?1 AND id <= after)
		FROM wanted_sessions WHERE conversation = ?1 ORDER BY after, id LIMIT 1`, cs.c.id)
	return due, err
}

// DropSession forgets the oldest request for a session: it would leave nothing behind.
func (cs Compactions) DropSession(ctx context.Context) error {
	return cs.c.set(ctx, "forget a request for a session", dropSession, cs.c.id)
}

const dropSession = `DELETE FROM wanted_sessions WHERE id = (
	SELECT id FROM wanted_sessions WHERE conversation = ? ORDER BY after, id LIMIT 1)`

// earlier reads the newest earlier sessions, and of those before them the newest that need work, oldest first.
func (cs Compactions) earlier(tx *Tx) []transcript.Session {
	sessions := sessionsOf(tx, cs.c.id, "ORDER BY from_seq DESC LIMIT ?", sessionsShown)
	if len(sessions) == sessionsShown {
		oldest := sessions[len(sessions)-1].From
		sessions = append(sessions, sessionsOf(tx, cs.c.id, "AND NOT settled AND from_seq < ? ORDER BY from_seq DESC LIMIT ?", oldest, sessionsHeld)...)
	}
	slices.Reverse(sessions)
	newest := sessions[max(len(sessions)-sessionsShown, 0):]
	for i, s := range sessions[:len(sessions)-len(newest)] {
		sessions[i].Rows = cs.activeIn(tx, transcript.Span{From: s.From, To: s.To})
	}
	if len(newest) == 0 {
		return nil
	}
	for _, row := range cs.activeIn(tx, transcript.Span{From: newest[0].From, To: newest[len(newest)-1].To}) {
		i := slices.IndexFunc(newest, func(s transcript.Session) bool { return row.From <= s.To })
		newest[i].Rows = append(newest[i].Rows, row)
	}
	return sessions
}

func sessionsOf(tx *Tx, conversation int64, rest string, args ...any) []transcript.Session {
	return listRows(tx, func(rows *sql.Rows, s *transcript.Session) error { return rows.Scan(&s.From, &s.To) },
		"SELECT from_seq, to_seq FROM sessions WHERE conversation = ? "+rest, append([]any{conversation}, args...)...)
}
