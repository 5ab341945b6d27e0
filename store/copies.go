// Copies of messages and memories: in the results of tools, which name what they quote, and in turn contexts. Deletions reach
// them.

package store

import (
	"database/sql"
	"slices"
	"strings"

	"cairn/chat"
	"cairn/llm"
	"cairn/transcript"
)

// unknown is a source of what could not be parsed when an older database was upgraded: it may quote anything.
const unknown = 0

// quotesChanged reports whether one of the messages was deleted, or edited since a version, or one of the memories was deleted, or
// has that state.
func (ms Messages) quotesChanged(q llm.Quotes, version int64, state string) bool {
	known := make(map[int64]int64) // versions in which messages were quoted
	for _, seq := range q.Messages {
		known[ms.c.rowID(seq)] = version
	}
	for _, e := range q.Elsewhere {
		if first, twice := known[e.Number]; !twice || e.Version < first {
			known[e.Number] = e.Version
		}
	}
	if len(known)+len(q.Memories) == 0 {
		return false
	}
	return exists(ms.tx, `SELECT 1 FROM json_each(?) q WHERE (SELECT count(*) FROM messages WHERE id = CAST(q.key AS BIGINT)
			AND deleted_at IS NULL AND (changed_with IS NULL OR changed_with <= CAST(q.value AS BIGINT))) = 0
		UNION ALL SELECT 1 FROM json_each(?) q WHERE (SELECT count(*) FROM memories WHERE id = CAST(q.value AS BIGINT) AND state <> ?) = 0`,
		encode(known), listOf(q.Memories), state)
}

// Elsewhere names a message of a conversation for quotes of it in others.
func (t *Tx) Elsewhere(c *Conversation, seq int64) llm.Elsewhere {
	version := getValue[int64](t, "SELECT version FROM conversations WHERE id = ?", c.id)
	return llm.Elsewhere{Number: c.rowID(seq), Version: version}
}

// DeletedCopyText replaces the result of a tool that found a deleted message.
const DeletedCopyText = "What was found here has been deleted."

// lastOf returns the seq of a turn's last message. Its messages are neighbours.
func (ms Messages) lastOf(turn int64) int64 {
	low, high := ms.c.rowRange(turn, MaxSeq)
	return getValue[int64](ms.tx, `SELECT coalesce((SELECT seq - 1 FROM messages
		WHERE id BETWEEN ?1 AND ?2 AND turn > ?3 ORDER BY id LIMIT 1), ?4)`, low, high, turn, MaxSeq)
}

// quotesFinds reports whether a message is an answer without a model: it quotes what the tools of its turn found.
func quotesFinds(m chat.Message) bool {
	return m.Role == llm.RoleAssistant && strings.Contains(m.Text, "“") && llm.IsOffline(m.Text)
}

// quoting returns a tool's result, and the answer without a model that quotes it, if there is one.
func (ms Messages) quoting(result chat.Message) []chat.Message {
	later := ms.read(result.Seq, ms.lastOf(result.Turn), "AND role = 'assistant'")
	return append([]chat.Message{result}, slices.DeleteFunc(later, func(m chat.Message) bool { return !quotesFinds(m) })...)
}

// WithoutCopies returns a message of a model or tool without its copies of other texts.
func WithoutCopies(m chat.Message) chat.Message {
	if m.Role == llm.RoleTool || quotesFinds(m) {
		m.Text = DeletedCopyText
		m.Attachments = nil
		m.Quotes = llm.Quotes{}
	}
	if m.Role == llm.RoleAssistant {
		m.Native = nil
		m.Calls = slices.Clone(m.Calls)
		for i := range m.Calls {
			if m.Calls[i].Name != "context" { // which cannot repeat a message; those of other programs may
				m.Calls[i].Arguments = "{}"
			}
		}
	}
	m.Tokens = chat.TokensOf(m)
	return m
}

// Copying returns the results of tools that quote a message, and the answers without a model that quote these.
func (ms Messages) Copying(seq int64) (copies []chat.Message) {
	for _, result := range ms.read(1, MaxSeq,
		"AND id IN (SELECT message FROM quotes WHERE kind = 'message' AND source IN (?, ?)) AND role = 'tool'", ms.c.rowID(seq), ms.c.rowID(unknown)) {
		copies = append(copies, ms.quoting(result)...)
	}
	return copies
}

// Replace writes what WithoutCopies leaves of a message, and of the results of tools that found it.
func (ms Messages) Replace(was, m chat.Message) {
	row := ms.c.rowID(m.Seq)
	if m.Text != was.Text { // otherwise it is a model's, and so is its index
		ms.unindex(was)
		ms.dropVectors(m.Seq)
		ms.tx.do("DELETE FROM quotes WHERE message = ?", row)
	}
	ms.tx.do("UPDATE messages SET text = ?, attachments = ?, calls = ?, native = ?, tokens = ? WHERE id = ?",
		m.Text, toJSON(m.Attachments), toJSON(m.Calls), string(m.Native), m.Tokens, row)
	if m.Text != was.Text || !slices.Equal(m.Calls, was.Calls) {
		for _, found := range ms.Copying(m.Seq) {
			ms.Replace(found, WithoutCopies(found))
		}
	}
	if m.Text != was.Text && m.Role == llm.RoleAssistant { // an answer without a model: it may not be sent yet, and threads may have started with it
		const began = "kind = '' AND from_seq BETWEEN ? AND ?"
		ms.tx.do("UPDATE outbox SET text = ? WHERE conversation = ? AND reply = ? AND "+unsent, m.Text, ms.c.id, m.ID)
		ms.c.Threads(ms.tx).touch(began, m.Turn, m.Seq)
		ms.tx.do("UPDATE inherited SET text = replace(text, ?, ?) WHERE parent = ? AND "+began, was.Text, m.Text, ms.c.id, m.Turn, m.Seq)
	}
}

// withoutChangedCopies returns the messages of a running turn without what was deleted during it, or edited since a version,
// and whether that changed one. deleted: a message that was said during it is not there any more.
func (ms Messages) withoutChangedCopies(answer []chat.Message, known int64, deleted bool) (left []chat.Message, changed bool) {
	may := func(m chat.Message) bool { return m.Role == llm.RoleTool || len(m.Calls) > 0 || len(m.Native) > 0 }
	if !slices.ContainsFunc(answer, may) { // as in most
		return answer, false
	}
	turn := answer[0].Turn
	low, high := ms.c.rowRange(turn, ms.lastOf(turn))
	near := deleted || exists(ms.tx, `SELECT 1 FROM messages
		WHERE id BETWEEN ? AND ? AND changed_with IS NOT NULL AND deleted_at IS NOT NULL AND turn = ?`, low, high, turn)
	answer = slices.Clone(answer)
	anyLost := false
	for i, m := range answer {
		lost := ms.quotesChanged(m.Quotes, known, "")
		anyLost = anyLost || lost
		// A result may repeat what it found or, if it is another program's, what it was given.
		repeats := m.Role == llm.RoleAssistant || m.Tool != "context" && m.Tool != "memory_save"
		if near && repeats && !isSteered(m) || lost || anyLost && quotesFinds(m) {
			answer[i] = WithoutCopies(m)
			changed = true
		}
	}
	return answer, changed
}

// contexts returns the contexts that are still shown, by seq.
func (ms Messages) contexts() []transcript.Context {
	return listRows(ms.tx, func(rows *sql.Rows, ctx *transcript.Context) error {
		return rows.Scan(&ctx.Seq, &ctx.Text, numbersInto(&ctx.Messages), numbersInto(&ctx.Memories))
	}, `SELECT seq, context,
		(SELECT string_agg(CAST(source & 4294967295 AS TEXT), ',' ORDER BY source) FROM quotes q WHERE q.message = m.id AND q.kind = 'message' AND q.source >> 32 = m.id >> 32),
		(SELECT string_agg(CAST(source AS TEXT), ',' ORDER BY source) FROM quotes q WHERE q.message = m.id AND q.kind = 'memory')
		FROM messages m WHERE `+inConversation+` AND context <> '' AND deleted_at IS NULL ORDER BY id`, ms.c.id)
}

// keepContext stores the context of an answered turn, unless the head no longer has this version, or something that the context
// quotes was deleted or forgotten in the meantime, and reports that.
func (ms Messages) keepContext(ctx transcript.Context, version int64) (stored bool) {
	row := ms.c.rowID(ctx.Seq)
	stored = ctx.Text != "" && !ms.quotesChanged(ctx.Quotes, version, "forgotten") &&
		ms.tx.changed(`UPDATE messages SET context = ? WHERE id = ? AND deleted_at IS NULL
			AND (SELECT version FROM conversations WHERE id = ?) = ?`, ctx.Text, row, ms.c.id, version)
	if stored {
		ms.tx.do("DELETE FROM quotes WHERE message = ?", row)
		ms.addQuotes(row, ctx.Quotes)
	}
	return stored
}

// dropContexts drops the turn contexts of earlier turns: a new head ends what the provider's cache holds, and with it these.
func (ms Messages) dropContexts() {
	low, high := ms.c.rowRange(1, MaxSeq)
	const shown = "id BETWEEN ? AND ? AND context <> ''"
	if !exists(ms.tx, "SELECT 1 FROM messages WHERE "+shown, low, high) { // as in most versions
		return
	}
	ms.tx.do("DELETE FROM quotes WHERE message IN (SELECT id FROM messages WHERE "+shown+")", low, high)
	ms.tx.do("UPDATE messages SET context = '' WHERE "+shown, low, high)
}

func (ms Messages) addQuotes(row int64, q llm.Quotes) {
	const quote = "INSERT INTO quotes (kind, source, message) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
	for _, seq := range q.Messages {
		ms.tx.do(quote, "message", ms.c.rowID(seq), row)
	}
	for _, e := range q.Elsewhere {
		ms.tx.do(quote, "message", e.Number, row)
	}
	for _, id := range q.Memories {
		ms.tx.do(quote, "memory", id, row)
	}
}

// quote is a message of a conversation which, or whose context, quotes something.
type quote struct {
	at   handle
	seq  int64
	tool bool // it is the answer of a tool
}

// ForgetQuotes removes the turn contexts that quote these memories of the conversation, here and where they were recalled, and,
// if answers, empties the answers of tools that do. The context of a running turn is not stored yet: a new version ends it.
func (ms Messages) ForgetQuotes(memories []int64, answers bool) {
	for _, id := range memories {
		ms.c.NextVersion(ms.tx)
		ms.removeQuotes("q.kind = 'memory' AND q.source IN (?, ?) AND (? OR m.role <> 'tool')", id, unknown, answers)
	}
}

// ForgetElsewhere empties the answers of tools in other conversations that quote messages of c between two seqs.
func (t *Tx) ForgetElsewhere(c *Conversation, from, to int64) {
	low, high := c.rowRange(from, to)
	c.Messages(t).removeQuotes("q.kind = 'message' AND q.source BETWEEN ? AND ? AND q.message >> 32 <> ?", low, high, c.id)
}

// removeQuotes removes the quotes q, in messages m, that meet a condition. Their conversations get a new version.
func (ms Messages) removeQuotes(condition string, args ...any) {
	quoting := listRows(ms.tx, func(rows *sql.Rows, q *quote) error {
		q.at = handle{store: ms.c.store}
		return rows.Scan(&q.at.id, &q.at.name, &q.seq, &q.tool)
	}, `SELECT v.id, v.name, q.message & 4294967295, m.role = 'tool' FROM quotes q JOIN conversations v ON v.id = q.message >> 32
		JOIN messages m ON m.id = q.message WHERE `+condition+" ORDER BY q.message", args...)
	for _, q := range quoting {
		q.remove(ms.tx)
		q.at.NextVersion(ms.tx)
	}
}

func (q quote) remove(tx *Tx) {
	if !q.tool {
		row := q.at.rowID(q.seq)
		tx.do("UPDATE messages SET context = '' WHERE id = ?", row)
		tx.do("DELETE FROM quotes WHERE message = ?", row)
		return
	}
	ms := q.at.Messages(tx)
	for _, result := range ms.read(q.seq, q.seq, "") {
		for _, m := range ms.quoting(result) {
			ms.Replace(m, WithoutCopies(m))
		}
	}
}
