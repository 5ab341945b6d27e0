// Threads: what one inherits from its channel when its first message is written, a copy of the channel's summaries and of the message the
// thread hangs on, made once. Later changes in the channel do not reach it; deletions do.

package store

import (
	"context"
	"database/sql"
	"strings"

	"cairn/chat"
	"cairn/llm"
	"cairn/transcript"
)

// HangsOn returns, for a thread, the name of its channel and the platform ID of the message it hangs on, if any.
func (c handle) HangsOn() (channel, message string) {
	end := max(strings.LastIndexByte(c.name, '/'), 0)
	if c.IsTask() || !strings.Contains(c.name[:end], "/") { // its parent sends a task what it may know
		return "", ""
	}
	return c.name[:end], c.name[end+1:]
}

// inherit copies the channel's applied rows and the message the thread hangs on, when the thread's first message is written.
// If the bot has seen nothing in the channel there is nothing to copy.
func inherit(tx *Tx, thread handle) {
	name, root := thread.HangsOn()
	above := handle{store: thread.store, name: name}
	above.id = getValue[int64](tx, "SELECT id FROM conversations WHERE name = ?", name)
	if above.id == 0 {
		return
	}
	tx.do("UPDATE conversations SET parent = ? WHERE id = ?", above.id, thread.id)
	thread.NextVersion(tx)
	head := above.Summaries(tx).head()
	for i, row := range head.Stack {
		addInherited(tx, thread, above, i+1, row, row.InheritedCost(), chat.Message{Text: row.Text})
	}
	m, found := Transcript{above}.sentAs(tx, root)
	if !found {
		return
	}
	low, high := above.rowRange(m.Seq, MaxSeq)
	answer := getValue[string](tx, `SELECT text FROM messages WHERE id BETWEEN ? AND ? AND turn = ? AND role = 'assistant' AND platform_id <> ''
		ORDER BY id LIMIT 1`, low, high, m.Turn) // in Slack it may be in the thread and belong to the channel
	if answer != "" && m.Role == llm.RoleUser && m.Seq != 0 {
		m.Text += "\n\nYou answered: " + answer
	}
	m.ID = root
	if m.ReplySeq > 0 { // its number would refer to another message here
		m.ReplyTo = ""
		m.Quote = ""
	}
	for i := range m.Attachments {
		m.Attachments[i].File = 0 // described in words
	}
	addInherited(tx, thread, above, 0, transcript.Summary{Span: transcript.Span{From: m.Seq, To: m.Seq}, FromTime: m.Time, ToTime: m.Time, Messages: 1}, 0, m)
}

// addInherited writes a summary, with its text in m, or the message m that the thread hangs on.
func addInherited(tx *Tx, thread, above handle, place int, row transcript.Summary, tokens int, m chat.Message) {
	tx.do(`INSERT INTO inherited (conversation, place, parent, from_seq, to_seq, from_at, to_at, kind, messages,
		platform_id, role, author, reply_to, quote, text, attachments, tokens, lines) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		thread.id, place, above.id, row.From, row.To, row.FromTime.UnixMilli(), row.ToTime.UnixMilli(), row.Kind, row.Messages,
		m.ID, m.Role, m.Author, m.ReplyTo, m.Quote, m.Text, toJSON(m.Attachments), tokens, toJSON(row.Lines))
}

// inheritance reads what a thread inherited.
func inheritance(tx *Tx, conversation int64) (in transcript.Inheritance) {
	eachRow(tx, func(rows *sql.Rows) error {
		var row transcript.Summary
		var m chat.Message
		err := rows.Scan(&row.From, &row.To, localInto(&row.FromTime), localInto(&row.ToTime), &row.Kind, &row.Messages,
			&m.ID, &m.Role, &m.Author, &m.ReplyTo, &m.Quote, &row.Text, jsonInto(&m.Attachments), &row.Tokens,
			listColumn[transcript.Line]{&row.Lines, new(bool)})
		if row.Kind == "" {
			m.Text = row.Text
			m.Time = row.FromTime
			in.Root = &m
			return err
		}
		if row.Kind == transcript.Placeholder { // it says how many messages are left, which a deletion changes
			row.Tokens = row.InheritedCost()
		}
		in.Stack = append(in.Stack, row)
		return err
	}, `SELECT from_seq, to_seq, from_at, to_at, kind, messages, platform_id, role, author, reply_to, quote, text, attachments, tokens, lines
		FROM inherited WHERE conversation = ? ORDER BY place`, conversation)
	return in
}

// Threads are the threads of a conversation, and what they inherited from it, in one transaction.
type Threads struct {
	c  handle
	tx *Tx
}

// All returns the conversation's threads.
func (th Threads) All() []*Conversation {
	return th.tx.conversations("WHERE name >= ?1 || '/' AND name < ?1 || '0'", th.c.name) // which comes right after /
}

// ThreadWith returns the name of the conversation's thread that has a message of a person, by its platform ID, waiting or not; "" if none has.
func (c *Conversation) ThreadWith(ctx context.Context, id string) (name string, err error) {
	err = c.row(ctx, "look for a thread", []any{&name}, `SELECT c.name FROM conversations c WHERE c.name >= ?1 || '/' AND c.name < ?1 || '0' -- which comes right after /
		AND (EXISTS (SELECT 1 FROM messages WHERE conversation = c.id AND platform_id = ?2 AND role = 'user')
		OR EXISTS (SELECT 1 FROM inbox WHERE conversation = c.id AND platform_id = ?2)) LIMIT 1`, c.name, id)
	return name, err
}

// Holding returns the name of the conversation, or of its thread, that has a message of a person, waiting or not, or of the bot, by its
// platform ID; "" if none has.
func (c *Conversation) Holding(ctx context.Context, id string) (name string, err error) {
	err = c.row(ctx, "look for a message", []any{&name}, `SELECT c.name FROM conversations c WHERE (c.name = ?1 OR c.name >= ?1 || '/' AND c.name < ?1 || '0')
		AND (EXISTS (SELECT 1 FROM messages WHERE conversation = c.id AND platform_id = ?2 AND role = 'user')
		OR EXISTS (SELECT 1 FROM inbox WHERE conversation = c.id AND platform_id = ?2)
		OR EXISTS (SELECT 1 FROM messages WHERE conversation = c.id AND platform_id = ?2 AND role = 'assistant' AND platform_id <> '')
		OR EXISTS (SELECT 1 FROM outbox WHERE conversation = c.id AND platform_id = ?2 AND platform_id <> '')) ORDER BY c.name LIMIT 1`, c.name, id)
	return name, err
}

// touch increments the version of the threads whose copies match the condition.
func (th Threads) touch(where string, args ...any) {
	for _, thread := range th.tx.conversations("WHERE id IN (SELECT conversation FROM inherited WHERE parent = ? AND "+where+")",
		append([]any{th.c.id}, args...)...) {
		thread.NextVersion(th.tx)
	}
}

// DeleteMessage deletes the copies of a message that threads have, by its platform ID, and their quotes of it. The threads get a
// new version.
func (th Threads) DeleteMessage(id string) {
	th.touch("platform_id = ? AND platform_id <> ''", id)
	th.touch("reply_to = ? AND quote <> ''", id)
	th.tx.do("UPDATE inherited SET quote = '' WHERE parent = ? AND reply_to = ? AND quote <> ''", th.c.id, id)
	th.tx.do("DELETE FROM inherited WHERE parent = ? AND platform_id = ? AND platform_id <> ''", th.c.id, id)
}

// Quoting returns the threads with messages, waiting ones included, that quote a message, by its platform ID.
func (th Threads) Quoting(id string) []*Conversation {
	return th.tx.conversations(`WHERE c.name >= ?1 || '/' AND c.name < ?1 || '0' -- which comes right after /
		AND (EXISTS (SELECT 1 FROM messages WHERE conversation = c.id AND reply_to = ?2 AND quote <> '')
		OR EXISTS (SELECT 1 FROM inbox WHERE conversation = c.id AND reply_to = ?2 AND quote <> ''))`, th.c.name, id)
}

// QuotedBy returns the platform IDs of the conversation's messages, and of its replies, that messages of a thread quote.
func (th Threads) QuotedBy(thread *Conversation) []string {
	return listValues[string](th.tx, `WITH quoting (id) AS (
			SELECT reply_to FROM messages WHERE conversation = ?2 AND quote <> ''
			UNION SELECT reply_to FROM inbox WHERE conversation = ?2 AND quote <> '')
			SELECT q.id FROM quoting q WHERE EXISTS (SELECT 1 FROM messages WHERE `+inConversation+` AND platform_id = q.id)
			OR EXISTS (SELECT 1 FROM outbox WHERE conversation = ?1 AND platform_id = q.id AND platform_id <> '')`, th.c.id, thread.id)
}

const (
	inheritedOver = "from_seq <= ? AND to_seq >= ? AND kind <> ''"
	inheritedFrom = "from_seq = ? AND to_seq = ? AND kind <> ''"
)

// BlankOver turns the threads' copies of summaries over a message into placeholders. The threads get a new version.
func (th Threads) BlankOver(seq int64) { th.blank(inheritedOver, transcript.Span{From: seq, To: seq}) }

// BlankCopies does the same with the copies of a summary of a span.
func (th Threads) BlankCopies(sp transcript.Span) { th.blank(inheritedFrom, sp) }

func (th Threads) blank(where string, sp transcript.Span) {
	th.touch(where, sp.From, sp.To)
	th.tx.do("UPDATE inherited SET kind = ?, text = '', lines = '' WHERE parent = ? AND "+where, transcript.Placeholder, th.c.id, sp.From, sp.To)
}

// DecrementCounts counts one message less in the copies of summaries over a message.
func (th Threads) DecrementCounts(seq int64) {
	th.tx.do("UPDATE inherited SET messages = messages - 1 WHERE parent = ? AND "+inheritedOver, th.c.id, seq, seq)
}
