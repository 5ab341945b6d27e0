// What a thread has of the channel above it: a copy of its summaries, and of the
// message the thread hangs on, made once. Later changes there do not reach it; deletions do.

package memory

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"cairn/compactor"
	"cairn/llm"
	"cairn/transcript"
)

// hangsOn takes the name of a thread apart: the name of its channel, and the
// platform id of the message it hangs on, if it hangs on one. Both are empty for a
// conversation that is no thread.
func (c *Conversation) hangsOn() (channel, message string) {
	channel, message = c.name[:max(strings.LastIndexByte(c.name, '/'), 0)], c.name[strings.LastIndexByte(c.name, '/')+1:]
	if !strings.Contains(channel, "/") {
		return "", ""
	}
	return channel, message
}

// inherit gives a thread, with the first message that is written of it, copies of
// its channel's active rows, as they stand, and of the message it hangs on. Where
// the bot has heard nothing in the channel there is nothing to copy.
func (c *Conversation) inherit(tx *transaction) error {
	name, root := c.hangsOn()
	above := &Conversation{store: c.store, name: name}
	err := tx.QueryRow("SELECT id FROM conversations WHERE name = ?", name).Scan(&above.id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := tx.Exec("UPDATE conversations SET parent = ?, generation = generation + 1 WHERE id = ?", above.id, c.id); err != nil {
		return err
	}
	head, err := above.head(tx)
	if err != nil {
		return err
	}
	for i, row := range head.Stack {
		_, err := tx.Exec(`INSERT INTO inherited (conversation, place, parent, from_seq, to_seq, from_at, to_at, kind, messages,
			platform_id, role, author, reply_to, quote, text, attachments, tokens) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '', '', '', '', '', ?, '', ?)`,
			c.id, i+1, above.id, row.From, row.To, row.FromTime.UnixMilli(), row.ToTime.UnixMilli(), row.Kind, row.Messages,
			row.Text, compactor.TokensOfInherited(row))
		if err != nil {
			return err
		}
	}
	m, found, err := above.saidAs(tx, root)
	if err != nil || !found {
		return err
	}
	answer, err := above.answerTo(tx, m)
	if err != nil {
		return err
	}
	if answer != "" {
		m.Text += "\n\nYou answered: " + answer
	}
	return c.inheritRoot(tx, above, m, root)
}

// answerTo returns what the bot answered to a message that somebody asked; empty: nothing
// yet. In Slack the answer may stand in the thread and belong to the channel.
func (c *Conversation) answerTo(tx *transaction, m compactor.Message) (text string, err error) {
	if m.Role != llm.RoleUser || m.Seq == 0 {
		return "", nil
	}
	low, high := c.rows(m.Seq, maxSeq)
	err = tx.QueryRow(`SELECT text FROM messages WHERE id BETWEEN ? AND ? AND turn = ? AND role = 'assistant' AND platform_id <> ''
		ORDER BY id LIMIT 1`, low, high, m.Turn).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return text, err
}

// saidAs finds the message with a platform id, taken up or not, or the bot's reply
// that was sent as such.
func (c *Conversation) saidAs(tx *transaction, id string) (m compactor.Message, found bool, err error) {
	if id == "" {
		return m, false, nil
	}
	seq, err := c.placeOf(tx, id)
	if err != nil {
		return m, false, err
	}
	if seq != 0 {
		m, err = c.message(tx, seq)
		return m, err == nil, err
	}
	waits, err := c.waiting(tx, "AND platform_id = ?", id)
	if err != nil || len(waits) == 0 {
		return m, false, err
	}
	w := waits[0]
	return compactor.Message{
		Role: llm.RoleUser, Author: w.Author, Text: w.Text, Attachments: w.Attachments, ReplyTo: w.ReplyTo, Quote: w.Quote, Time: w.Time,
	}, true, nil
}

func (c *Conversation) inheritRoot(tx *transaction, above *Conversation, m compactor.Message, id string) error {
	if m.ReplySeq > 0 { // its number would be another message here
		m.ReplyTo, m.Quote = "", ""
	}
	for i := range m.Attachments {
		m.Attachments[i].File = 0 // described in words
	}
	attachments, err := toJSON(m.Attachments)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO inherited (conversation, place, parent, from_seq, to_seq, from_at, to_at, kind, messages,
		platform_id, role, author, reply_to, quote, text, attachments, tokens) VALUES (?, 0, ?, ?, ?, ?, ?, '', 1, ?, ?, ?, ?, ?, ?, ?, 0)`,
		c.id, above.id, m.Seq, m.Seq, m.Time.UnixMilli(), m.Time.UnixMilli(), id, m.Role, m.Author, m.ReplyTo, m.Quote, m.Text, attachments)
	return err
}

// inheritance reads what a thread has of the channel above it.
func (c *Conversation) inheritance(tx *transaction) (in compactor.Inheritance, err error) {
	err = each(tx, func(rows *sql.Rows) error {
		var row compactor.Compaction
		var m compactor.Message
		var fromAt, toAt int64
		var text, attachments string
		err := rows.Scan(&row.From, &row.To, &fromAt, &toAt, &row.Kind, &row.Messages, &m.ID, &m.Role, &m.Author, &m.ReplyTo, &m.Quote, &text, &attachments, &row.Tokens)
		if err != nil {
			return err
		}
		if row.Kind == "" {
			m.Text, m.Time = text, at(fromAt)
			in.Root = &m
			return fromJSON(attachments, &m.Attachments)
		}
		row.Text, row.FromTime, row.ToTime = text, at(fromAt), at(toAt)
		in.Stack = append(in.Stack, row)
		return nil
	}, `SELECT from_seq, to_seq, from_at, to_at, kind, messages, platform_id, role, author, reply_to, quote, text, attachments, tokens
		FROM inherited WHERE conversation = ? ORDER BY place`, c.id)
	return in, err
}

// deleteInherited takes a message away from the threads that hang on it, and
// quotes of it from those that hang on an answer to it.
func (c *Conversation) deleteInherited(tx *transaction, id string) error {
	if err := c.touchThreads(tx, "platform_id = ? AND platform_id <> ''", id); err != nil {
		return err
	}
	if err := c.touchThreads(tx, "reply_to = ? AND quote <> ''", id); err != nil {
		return err
	}
	_, err := tx.Exec("UPDATE inherited SET quote = '' WHERE parent = ? AND reply_to = ? AND quote <> ''", c.id, id)
	if err == nil {
		_, err = tx.Exec("DELETE FROM inherited WHERE parent = ? AND platform_id = ? AND platform_id <> ''", c.id, id)
	}
	return err
}

// deleteInThread takes quotes of a message away from the threads of the channel.
func (c *Conversation) deleteInThread(tx *transaction, id string) error {
	var quoting []*Conversation
	err := each(tx, func(rows *sql.Rows) error {
		thread := &Conversation{store: c.store}
		err := rows.Scan(&thread.id, &thread.name)
		quoting = append(quoting, thread)
		return err
	}, `SELECT c.id, c.name FROM conversations c WHERE c.name >= ?1 || '/' AND c.name < ?1 || '0' -- which comes right after /
		AND (EXISTS (SELECT 1 FROM messages INDEXED BY messages_quotes WHERE conversation = c.id AND reply_to = ?2 AND quote <> '')
		OR EXISTS (SELECT 1 FROM inbox WHERE conversation = c.id AND reply_to = ?2 AND quote <> ''))`, c.name, id)
	for _, thread := range quoting {
		if err == nil {
			_, err = thread.deleteAll(tx, []string{id})
		}
	}
	return err
}

// touchThreads raises the generation of the threads whose copies are chosen.
func (c *Conversation) touchThreads(tx *transaction, where string, args ...any) error {
	_, err := tx.Exec("UPDATE conversations SET generation = generation + 1 WHERE id IN (SELECT conversation FROM inherited WHERE parent = ? AND "+where+")",
		append([]any{c.id}, args...)...)
	return err
}

// redoInherited makes the copies of rows over deleted messages anew of what
// remains, after the conversation's own rows were, see redo. The copies stay what
// the built-in summarizer makes of it: what is healed here later does not reach them.
func (c *Conversation) redoInherited(tx *transaction, seqs []int64, repeating []compactor.Compaction) error {
	type copied struct {
		transcript.Span
		fromAt, toAt int64
		kind         compactor.Kind
		text         string
	}
	over := make(map[copied]bool)
	spans := make([]transcript.Span, 0, len(seqs)+len(repeating))
	for _, seq := range seqs {
		spans = append(spans, transcript.Span{From: seq, To: seq})
	}
	for _, row := range repeating {
		spans = append(spans, row.Span)
	}
	for i, sp := range spans {
		err := each(tx, func(rows *sql.Rows) error {
			var one copied
			err := rows.Scan(&one.From, &one.To, &one.fromAt, &one.toAt, &one.kind, &one.text)
			if i < len(seqs) || one.Span == sp {
				over[one] = true
			}
			return err
		}, "SELECT DISTINCT from_seq, to_seq, from_at, to_at, kind, text FROM inherited WHERE parent = ? AND to_seq >= ? AND from_seq <= ? AND kind <> ''", c.id, sp.To, sp.From)
		if err != nil {
			return err
		}
	}
	for one := range over {
		row, err := c.remaining(tx, compactor.Compaction{
			Kind: one.kind, Span: compactor.Span{From: one.From, To: one.To}, FromTime: at(one.fromAt), ToTime: at(one.toAt), Text: one.text,
		})
		if err != nil {
			return fmt.Errorf("redo what threads inherited: %w", err)
		}
		const these = "from_seq = ? AND to_seq = ? AND kind = ? AND text = ?"
		if err := c.touchThreads(tx, these, one.From, one.To, one.kind, one.text); err != nil {
			return err
		}
		_, err = tx.Exec("UPDATE inherited SET text = ?, messages = ?, tokens = ? WHERE parent = ? AND "+these,
			row.Text, row.Messages, compactor.TokensOfInherited(row), c.id, one.From, one.To, one.kind, one.text)
		if err != nil {
			return err
		}
	}
	return nil
}

// remaining is a copy of a row, made of what is left of its span.
func (c *Conversation) remaining(tx *transaction, row compactor.Compaction) (compactor.Compaction, error) {
	there, err := c.between(tx, row.Span)
	if row.Messages = there.Messages; err != nil || row.Kind == compactor.Marker {
		return row, err
	}
	left, err := c.materialOf(tx, row.Span)
	if err != nil {
		return row, err
	}
	row.Text = compactor.Extract(left, max(compactor.Estimate(row.Text), minStandIn), 0, "").Text
	if row.Text == "" {
		row.Text = fmt.Sprintf("%d messages without words that could be summed up.", row.Messages)
	}
	return row, nil
}

// materialOf is what a span is summed up from: the largest rows that lie in it, as
// far as their texts are good, and messages.
func (c *Conversation) materialOf(tx *transaction, s transcript.Span) (found []compactor.Message, err error) {
	rows, err := c.compactions(tx, "AND state IN ('active', 'folded') AND from_seq BETWEEN ? AND ? AND to_seq <= ? ORDER BY from_seq, to_seq DESC, level DESC", s.From, s.To, s.To)
	if err != nil {
		return nil, err
	}
	from := s.From
	upTo := func(seq int64) error {
		between, err := c.messages(tx, from, seq, "ORDER BY id")
		found = append(found, between...)
		return err
	}
	for _, row := range rows {
		if row.From < from {
			continue // inside of one that was taken
		}
		if err := upTo(row.From - 1); err != nil {
			return nil, err
		}
		from = row.To + 1
		if !row.NeedsRepair() {
			found = append(found, compactor.Message{Role: llm.RoleAssistant, Text: row.Text, Time: row.FromTime})
			continue
		}
		part, err := c.material(tx, row)
		if err != nil {
			return nil, err
		}
		found = append(found, part...)
	}
	err = upTo(s.To)
	return found, err
}
