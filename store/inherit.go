// What a thread inherits from its channel: a copy of its summaries and of the message the thread
// hangs on, made once. Later changes in the channel do not reach the copy; deletions do.

package store

import (
	"database/sql"
	"strings"

	"cairn/chat"
	"cairn/llm"
	"cairn/transcript"
)

// HangsOn returns, for a thread, the name of its channel and the platform ID of the message it hangs on, if any.
func (c *Conversation) HangsOn() (channel, message string) {
	if strings.HasPrefix(c.name, TaskConnector+":") { // its parent sends it what it may know
		return "", ""
	}
	channel, message = c.name[:max(strings.LastIndexByte(c.name, '/'), 0)], c.name[strings.LastIndexByte(c.name, '/')+1:]
	if !strings.Contains(channel, "/") {
		return "", ""
	}
	return channel, message
}

// inherit copies the channel's applied rows and the message the thread hangs on, when the thread's first message is written.
// If the bot has seen nothing in the channel there is nothing to copy.
func (c *Conversation) inherit(tx *Tx) {
	name, root := c.HangsOn()
	above := &Conversation{store: c.store, name: name}
	if above.id = Get[int64](tx, "SELECT id FROM conversations WHERE name = ?", name); above.id == 0 {
		return
	}
	tx.Do("UPDATE conversations SET parent = ?, version = version + 1 WHERE id = ?", above.id, c.id)
	for i, row := range above.head(tx).Stack {
		c.addInherited(tx, above, i+1, row, row.InheritedCost(), chat.Message{Text: row.Text})
	}
	m, found := above.saidAs(tx, root)
	if !found {
		return
	}
	low, high := above.RowRange(m.Seq, MaxSeq)
	answer := Get[string](tx, `SELECT text FROM messages WHERE id BETWEEN ? AND ? AND turn = ? AND role = 'assistant' AND platform_id <> ''
		ORDER BY id LIMIT 1`, low, high, m.Turn) // in Slack it may be in the thread and belong to the channel
	if answer != "" && m.Role == llm.RoleUser && m.Seq != 0 {
		m.Text += "\n\nYou answered: " + answer
	}
	m.ID = root
	if m.ReplySeq > 0 { // its number would refer to another message here
		m.ReplyTo, m.Quote = "", ""
	}
	for i := range m.Attachments {
		m.Attachments[i].File = 0 // described in words
	}
	c.addInherited(tx, above, 0, transcript.Summary{Span: transcript.Span{From: m.Seq, To: m.Seq}, FromTime: m.Time, ToTime: m.Time, Messages: 1}, 0, m)
}

// addInherited writes a summary, with its text in m, or the message m that the thread hangs on.
func (c *Conversation) addInherited(tx *Tx, above *Conversation, place int, row transcript.Summary, tokens int, m chat.Message) {
	tx.Do(`INSERT INTO inherited (conversation, place, parent, from_seq, to_seq, from_at, to_at, kind, messages,
		platform_id, role, author, reply_to, quote, text, attachments, tokens) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		c.id, place, above.id, row.From, row.To, row.FromTime.UnixMilli(), row.ToTime.UnixMilli(), row.Kind, row.Messages,
		m.ID, m.Role, m.Author, m.ReplyTo, m.Quote, m.Text, toJSON(m.Attachments), tokens)
}

// saidAs finds the message with a platform ID, waiting or not, or the bot's reply that was sent under it.
func (c *Conversation) saidAs(tx *Tx, id string) (m chat.Message, found bool) {
	if id == "" {
		return m, false
	}
	if seq := c.placeOf(tx, id); seq != 0 {
		return c.In(tx).Message(seq), true
	}
	for _, in := range c.In(tx).Waiting("AND platform_id = ?", id) {
		return in.message(), true
	}
	return m, false
}

func (c *Conversation) inheritance(tx *Tx) (in transcript.Inheritance) {
	Each(tx, func(rows *sql.Rows) error {
		var row transcript.Summary
		var m chat.Message
		err := rows.Scan(&row.From, &row.To, Local(&row.FromTime), Local(&row.ToTime), &row.Kind, &row.Messages,
			&m.ID, &m.Role, &m.Author, &m.ReplyTo, &m.Quote, &row.Text, JSON(&m.Attachments), &row.Tokens)
		if row.Kind == "" {
			m.Text, m.Time = row.Text, row.FromTime
			in.Root = &m
			return err
		}
		if row.Kind == transcript.Placeholder { // it says how many messages are left, which a deletion changes
			row.Tokens = row.InheritedCost()
		}
		in.Stack = append(in.Stack, row)
		return err
	}, `SELECT from_seq, to_seq, from_at, to_at, kind, messages, platform_id, role, author, reply_to, quote, text, attachments, tokens
		FROM inherited WHERE conversation = ? ORDER BY place`, c.id)
	return in
}

// TouchThreads increments the version of the threads whose copies match the condition.
func (rs Rows) TouchThreads(where string, args ...any) {
	rs.tx.Do("UPDATE conversations SET version = version + 1 WHERE id IN (SELECT conversation FROM inherited WHERE parent = ? AND "+where+")",
		append([]any{rs.c.id}, args...)...)
}
