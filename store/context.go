// Turn contexts: the block after the newest message of a turn, stored until the head changes. The
// trigger conversations_head removes them then.

package store

import (
	"database/sql"

	"cairn/transcript"
)

// contexts returns the contexts that are still shown, by seq.
func (c *Conversation) contexts(tx *Tx) []transcript.Context {
	low, high := c.RowRange(1, MaxSeq)
	return List(tx, func(rows *sql.Rows, ctx *transcript.Context) error {
		return rows.Scan(&ctx.Seq, &ctx.Text, fromJSON{&ctx.Messages}, fromJSON{&ctx.Memories})
	}, `SELECT seq, context,
		(SELECT json_group_array(source & 4294967295) FROM quotes q WHERE q.message = m.id AND q.kind = 'message'),
		(SELECT json_group_array(source) FROM quotes q WHERE q.message = m.id AND q.kind = 'memory')
		FROM messages m INDEXED BY messages_context WHERE id BETWEEN ? AND ? AND context <> '' AND deleted_at IS NULL ORDER BY id`, low, high)
}

// keepContext stores the context of an answered turn, unless the head no longer has this version,
// or something the context quotes was deleted or forgotten in the meantime. It reports whether the
// context is stored.
func (c *Conversation) keepContext(tx *Tx, ctx transcript.Context, version int64) (stored bool) {
	row := c.Row(ctx.Seq)
	stored = ctx.Text != "" && !c.sourcesGone(tx, ctx.Messages, ctx.Memories, "forgotten") &&
		tx.Do(`UPDATE messages SET context = ? WHERE id = ? AND deleted_at IS NULL
			AND (SELECT version FROM conversations WHERE id = ?) = ?`, ctx.Text, row, c.id, version)
	if stored {
		tx.Do("DELETE FROM quotes WHERE message = ?", row)
		c.addQuotes(tx, row, ctx.Messages, ctx.Memories)
	}
	return stored
}

// addQuotes stores what a row's context or tool result quotes.
func (c *Conversation) addQuotes(tx *Tx, row int64, messages, memories []int64) {
	const quote = "INSERT INTO quotes (kind, source, message) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
	for _, seq := range messages {
		tx.Do(quote, "message", c.Row(seq), row)
	}
	for _, id := range memories {
		tx.Do(quote, "memory", id, row)
	}
}

// quote is a message of a conversation which, or whose context, quotes something.
type quote struct {
	at   *Conversation
	seq  int64
	tool bool // it is the answer of a tool
}

// ForgetQuotes removes the turn contexts that quote these memories, in this conversation and in
// others that recalled them, and, if answers, empties the answers of tools that do. It returns the
// seqs that it changed here; WatchCopies reports those elsewhere.
func (rs Rows) ForgetQuotes(memories []int64, answers bool) (seqs []int64) {
	elsewhere := make(map[string][]int64)
	for _, id := range memories {
		quoting := List(rs.tx, func(rows *sql.Rows, q *quote) error {
			q.at = &Conversation{store: rs.c.store}
			return rows.Scan(&q.at.id, &q.at.name, &q.seq, &q.tool)
		}, `SELECT v.id, v.name, q.message & 4294967295, m.role = 'tool' FROM quotes q JOIN conversations v ON v.id = q.message >> 32
			JOIN messages m ON m.id = q.message WHERE q.kind = 'memory' AND q.source IN (?, 0) AND (? OR m.role <> 'tool') ORDER BY q.message`, id, answers)
		for _, q := range quoting {
			changed := q.remove(rs.tx)
			if q.at.id == rs.c.id {
				seqs = append(seqs, changed...)
			} else {
				elsewhere[q.at.name] = append(elsewhere[q.at.name], changed...)
			}
		}
	}
	for name, seqs := range elsewhere {
		rs.tx.Do("UPDATE conversations SET version = version + 1 WHERE name = ?", name)
		rs.tx.CopiesChanged(name, seqs...)
	}
	return seqs
}

// remove empties what quotes something, and returns the messages that changed.
func (q quote) remove(tx *Tx) (seqs []int64) {
	if !q.tool {
		row := q.at.Row(q.seq)
		tx.Do("UPDATE messages SET context = '' WHERE id = ?", row)
		tx.Do("DELETE FROM quotes WHERE message = ?", row)
		return []int64{q.seq}
	}
	rs := q.at.In(tx)
	for _, result := range rs.Messages(q.seq, q.seq, "") {
		for _, m := range rs.Quoting(result) {
			rs.Replace(m, WithoutCopies(m))
			seqs = append(seqs, m.Seq)
		}
	}
	return seqs
}
