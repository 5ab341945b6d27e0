// Compactions and sessions as rows: what a conversation's compactor loads, starts and changes.

package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"

	"cairn/chat"
	"cairn/llm"
	"cairn/transcript"
)

// read reads the conversation's summaries that the rest of the query chooses.
func (ss Summaries) read(rest string, args ...any) (found []transcript.Summary) {
	for _, row := range ss.recorded(rest, args...) {
		found = append(found, row.Summary)
	}
	return found
}

// recorded is read with the times of the rows.
func (ss Summaries) recorded(rest string, args ...any) []RecordedSummary {
	return listRows(ss.tx, func(rows *sql.Rows, row *RecordedSummary) error { return scanCompaction(rows, row) },
		"SELECT "+compactionColumns+" FROM compactions WHERE conversation = ? "+rest, append([]any{ss.c.id}, args...)...)
}

// Get reads a summary of the conversation; there must be one.
func (ss Summaries) Get(id int64) transcript.Summary {
	return firstOf(ss.tx, ss.read("AND id = ?", id))
}

// childrenOf selects the rows that a rollup folded. The + keeps the planner from reading all that were ever folded.
const childrenOf = "AND parent = ? AND coalesce(state, '') = 'rolled_up' ORDER BY from_seq"

func (ss Summaries) activeIn(s transcript.Span) []transcript.Summary {
	return ss.read("AND state = 'applied' AND from_seq BETWEEN ? AND ? ORDER BY from_seq", s.From, s.To)
}

// insert writes a new row and returns it as stored. A row inserted as applied gets the given version.
func (ss Summaries) insert(summary transcript.Summary, version int64) transcript.Summary {
	now := utcTime(nowMillis())
	row := RecordedSummary{Summary: summary, Began: now, Next: readEnd(ss.tx, ss.c.id)}
	if summary.State == transcript.Applied {
		row.Applied = now
		row.Version = version
	}
	return ss.Get(ss.add(row))
}

func (ss Summaries) head() (head transcript.Head) {
	ss.tx.row("SELECT version, cleared_to, session_start, spared_from, spared_to FROM conversations WHERE id = ?", ss.c.id).
		Scan(&head.Version, &head.ClearedTo, &head.Start, &head.Spared.From, &head.Spared.To)
	head.Pins, head.Inherited = Transcript{ss.c}.pins(ss.tx), inheritance(ss.tx, ss.c.id)
	head.Stack, head.Earlier = ss.activeIn(transcript.Span{From: head.Start, To: MaxSeq}), ss.earlier()
	return head
}

// Head returns the head as last committed.
func (cs Compactions) Head(ctx context.Context) (transcript.Head, error) {
	return View(ctx, cs.c, "read the head", func(tx *Tx) transcript.Head { return cs.c.Summaries(tx).head() })
}

// first reads the first messages of the session from start on that were addressed to the bot, and the replies of
// their turns. A turn's rows are adjacent, so nothing else is read.
func (ss Summaries) first(start int64) []chat.Message {
	first := ss.messages().read(start, MaxSeq, "AND addressed = 1 ORDER BY id LIMIT ?", transcript.MaxFirst)
	if len(first) == 0 {
		return first
	}
	replies := ss.messages().read(start, MaxSeq, `AND id IN (
		SELECT (SELECT id FROM messages r WHERE r.id > f.id AND r.role = 'assistant' AND r.text <> '' AND r.calls = ''
				AND r.id < coalesce((SELECT n.id FROM messages n WHERE n.id > f.id AND n.turn <> f.turn ORDER BY n.id LIMIT 1), ?) ORDER BY r.id LIMIT 1)
			FROM messages f WHERE f.id BETWEEN ? AND ? AND f.deleted_at IS NULL AND f.addressed = 1) ORDER BY id`,
		ss.c.rowID(MaxSeq), ss.c.rowID(first[0].Seq), ss.c.rowID(first[len(first)-1].Seq))
	first = append(first, replies...)
	slices.SortFunc(first, func(a, b chat.Message) int { return cmp.Compare(a.Seq, b.Seq) })
	return first
}

// Load returns the snapshot from which the view is rebuilt. Its cost does not depend on the conversation's age. Running rows
// become failed, unless the store is Shared.
func (cs Compactions) Load(ctx context.Context) (transcript.Snapshot, error) {
	if cs.c.owned() {
		err := cs.c.set(ctx, "load the state", `UPDATE compactions SET state = 'failed', error = 'the bot stopped before it was done'
			WHERE conversation = ? AND state = 'running'`, cs.c.id)
		if err != nil {
			return transcript.Snapshot{}, err
		}
	}
	return cs.Read(ctx)
}

// Read is Load for those who only look: a compaction may be running in the conversation.
func (cs Compactions) Read(ctx context.Context) (transcript.Snapshot, error) {
	return View(ctx, cs.c, "load the state", func(tx *Tx) transcript.Snapshot { return cs.c.Summaries(tx).Load() })
}

func (ss Summaries) prepared() []transcript.Summary {
	return ss.read("AND state = 'prepared' ORDER BY id")
}

const maxRoom = 4096 // messages; many of a span may have been deleted

// Load reads the snapshot from which the view is rebuilt.
func (ss Summaries) Load() (state transcript.Snapshot) {
	messages := ss.messages()
	state.Head = ss.head()
	var read int64
	state.Next, state.Beyond, read = promptRange(ss.tx, ss.c.id)
	verbatim := transcript.Span{From: state.Head.Start, To: read}.Gaps(state.Head.Stack)
	if state.Beyond > 0 {
		verbatim = append(verbatim, transcript.Span{From: state.Beyond, To: state.Next - 1})
	}
	room := int64(0) // so that the list is not copied while it grows
	for _, span := range verbatim {
		room += span.To - span.From + 1
	}
	state.Messages = make([]chat.Message, 0, min(room, maxRoom))
	for _, span := range verbatim {
		state.Messages = messages.readBehind(state.Messages, span.From, span.To, "ORDER BY id")
	}
	state.First, state.Prepared = ss.first(state.Head.Start), ss.prepared()
	state.Count, state.Contexts = lastCount(ss.tx, ss.c.id), messages.contexts()
	state.Open, state.Addressed = openTurn(ss.tx, ss.c.id), ss.addressedSince()
	return state
}

// addressedSince reports whether the bot was addressed since the newest summary of its session was applied. It takes a
// twentieth of a Load. Columns for the two seqs would not replace the queries: an undo brings an older summary back.
func (ss Summaries) addressedSince() bool {
	addressed := getValue[int64](ss.tx, "SELECT seq FROM messages WHERE "+inConversation+" AND addressed = 1 AND deleted_at IS NULL ORDER BY id DESC LIMIT 1", ss.c.id)
	return addressed > 0 && addressed >= getValue[int64](ss.tx, newestSummary, ss.c.id)
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
		return cs.c.Summaries(tx).insert(row, 0)
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
			WHERE id = ? AND conversation = ? AND state IN ('running', 'failed', 'stale')`, cause, nowMillis(), id, cs.c.id)
	})
}

// Children returns the rows that a rollup folded, oldest first.
func (cs Compactions) Children(ctx context.Context, rollup int64) ([]transcript.Summary, error) {
	return View(ctx, cs.c, fmt.Sprintf("read children of compaction %d", rollup), func(tx *Tx) []transcript.Summary {
		return cs.c.Summaries(tx).read(childrenOf, rollup)
	})
}

// Rows returns rows by their ids. ErrNotFound: one of them is not in this conversation.
func (cs Compactions) Rows(ctx context.Context, ids []int64) ([]transcript.Summary, error) {
	return View(ctx, cs.c, "read compactions", func(tx *Tx) (rows []transcript.Summary) {
		for _, id := range ids {
			rows = append(rows, cs.c.Summaries(tx).Get(id))
		}
		return rows
	})
}

// Prepare writes the text of a running row, with its lines, tokens, sources and, if known, its model, and makes it prepared. Its job
// also read other rows and messages. stale: some of what it read was edited, deleted or undone since; then the row is
// stale, and nothing of its text is written.
func (ss Summaries) Prepare(row transcript.Summary, rows, messages []int64) (stale bool) {
	left := func(id int64, placeholder bool) bool {
		return exists(ss.tx, `SELECT 1 FROM compactions
			WHERE id = ? AND (state NOT IN ('prepared', 'applied', 'rolled_up') OR ? AND kind = 'placeholder')`, id, placeholder)
	}
	state := getValue[transcript.Status](ss.tx, "SELECT state FROM compactions WHERE id = ? AND conversation = ?", row.ID, ss.c.id)
	if state == transcript.Stale || ss.messages().quotesChanged(llm.Quotes{Messages: messages}, math.MaxInt64, "") ||
		slices.ContainsFunc(rows, func(id int64) bool { return left(id, true) }) ||
		slices.ContainsFunc(row.Children, func(id int64) bool { return left(id, false) }) {
		ss.makeStale(row.ID)
		return true
	}
	if state != transcript.Running {
		ss.tx.Fail(ErrNotFound)
	}
	prepared := RecordedSummary{Summary: row, Ended: utcTime(nowMillis())}
	prepared.State = transcript.Prepared
	written := []string{"state", "sources", "text", "lines", "dropped", "dropped_lines", "tokens", "ended_at"}
	if row.Model != "" {
		written = append(written, "model")
	}
	ss.update(prepared, written...)
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
	return View(ctx, cs.c, "read messages", func(tx *Tx) []chat.Message { return cs.c.Messages(tx).read(from, to, "ORDER BY id") })
}
