// Taking up: moving waiting messages from the inbox to the transcript; and what a thread then inherits from its channel: a copy
// of its summaries and of the message the thread hangs on, made once. Later changes in the channel do not reach it; deletions do.

package store

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"strings"
	"time"

	"cairn/chat"
	"cairn/llm"
	"cairn/transcript"
)

// All is the end of the inbox, as a row.
const All = math.MaxInt64

// Due is what a conversation has to do before it takes up messages.
type Due struct {
	Waiting    int   // messages in the inbox
	Last       int64 // row of the message delivered last: later ones come after it; 0: none is waiting
	Asked      bool  // a waiting message is addressed to the bot
	Incomplete bool  // the connector can find out more about a waiting message
	Gap        bool  // messages may have been missed
	Session    bool  // a new one is wanted
}

// Due checks what there is to do, in one statement because every turn calls it.
func (in Inbox) Due(ctx context.Context) (d Due, err error) {
	err = in.c.row(ctx, "read what waits in the inbox", []any{&d.Waiting, &d.Last, &d.Asked, &d.Incomplete, &d.Gap, &d.Session},
		`SELECT (SELECT count(*) FROM inbox WHERE conversation = ?1),
		coalesce((SELECT max(id) FROM inbox WHERE conversation = ?1), 0),
		EXISTS (SELECT 1 FROM inbox WHERE conversation = ?1 AND addressed),
		EXISTS (SELECT 1 FROM inbox WHERE conversation = ?1 AND incomplete),
		gap IS NOT NULL,
		EXISTS (SELECT 1 FROM wanted_sessions WHERE conversation = ?1)
		FROM conversations WHERE id = ?1`, in.c.id)
	return d, err
}

// Dequeue moves the oldest messages of the inbox to the transcript, at least one, and returns them
// with their seqs. Those of the turn that waits for its answer, and those before it, cost no more
// than budget tokens each. It returns none if none is waiting or the oldest is incomplete: it never
// goes past an incomplete message, past the row upTo, or past the place where a session ends.
//
// Each message before the first addressed one is a turn of its own that gets no answer; from
// there on all are one turn, which now waits for its answer. Messages that arrived before since
// are too old to answer: Dequeue treats them as not addressed to the bot. Their age is the time
// that has passed, where this process knows it, not the difference of clock times.
func (in Inbox) Dequeue(ctx context.Context, upTo int64, budget int, since time.Time) (taken []chat.Message, err error) {
	taken, err = Update(ctx, in.c, "take up messages", func(tx *Tx) []chat.Message { return in.c.dequeue(tx, upTo, budget, since) })
	for _, m := range taken {
		in.c.store.arrivals.Delete(waitingMessage{in.c.id, m.ID})
	}
	return taken, err
}

func (c *Conversation) dequeue(tx *Tx, upTo int64, budget int, since time.Time) []chat.Message {
	next := c.nextSeq(tx)
	taken, last := c.oldest(tx, next, upTo, budget, since)
	if len(taken) == 0 {
		return nil
	}
	if next == 1 {
		c.inherit(tx)
	}
	turn := int64(0) // the one that will be answered
	for i := range taken {
		m := &taken[i]
		if m.Addressed && turn == 0 {
			turn = m.Seq
		}
		m.Turn = cmp.Or(turn, m.Seq)
	}
	c.addMessages(tx, taken, func(m chat.Message) any {
		switch {
		case m.Turn != m.Seq:
			return nil
		case m.Turn == turn:
			return waiting
		}
		return TurnClosed
	})
	tx.Do("DELETE FROM inbox WHERE conversation = ? AND id <= ?", c.id, last)
	tx.Do("UPDATE conversations SET origin = 'live' WHERE id = ? AND origin <> 'live'", c.id)
	if Get[bool](tx, "SELECT unread_from > 0 FROM conversations WHERE id = ?", c.id) { // they are shown before what is not read
		c.In(tx).NextVersion()
	}
	return taken
}

// oldest reads the messages of the inbox up to a row that fit the budget, with seqs from next on, and the last one's row.
func (c *Conversation) oldest(tx *Tx, next, upTo int64, budget int, since time.Time) (found []chat.Message, last int64) {
	const most = 1000
	waiting := c.In(tx).Waiting(`AND id <= min(?2, coalesce((SELECT min(after) FROM wanted_sessions WHERE conversation = ?1), ?2))
		ORDER BY id LIMIT ?3`, upTo, most)
	places := make(map[string]int64) // of those found so far
	left := budget
	asked := false
	for _, in := range waiting {
		if in.Incomplete {
			break
		}
		m := in.message()
		m.Seq = next
		if m.Optional && !m.Addressed {
			m.Addressed = c.following(tx)
			m.Optional = false
		}
		m.Addressed = m.Addressed && c.arrivedSince(in, since)
		m.Optional = m.Optional && m.Addressed
		c.resolve(tx, &m, places)
		if m.Addressed && !asked { // what is only context does not shorten the turn
			left = budget
			asked = true
		}
		if left -= m.Tokens; left < 0 && len(found) > 0 {
			break
		}
		found = append(found, m)
		last = in.row
		places[m.ID] = m.Seq
		next++
	}
	return found, last
}

// resolve finds the message that m replies to, in the transcript or among those being taken up now, and counts m's tokens.
func (c *Conversation) resolve(tx *Tx, m *chat.Message, places map[string]int64) {
	if m.ReplyTo != "" {
		m.ReplySeq = places[m.ReplyTo]
		if m.ReplySeq == 0 {
			m.ReplySeq = c.placeOf(tx, m.ReplyTo)
		}
	}
	// A seq says it; and a platform still quotes what was deleted, here or in the channel of this thread.
	above, _ := c.HangsOn()
	if m.ReplySeq != 0 || m.Quote != "" && Exists(tx, `SELECT 1 FROM conversations c WHERE name IN (?1, ?2) AND (
		EXISTS (SELECT 1 FROM gone WHERE conversation = c.id AND platform_id = ?3)
		OR EXISTS (SELECT 1 FROM messages m WHERE m.conversation = c.id AND platform_id = ?3 AND role = 'user' AND deleted_at IS NOT NULL))`, c.name, above, m.ReplyTo) {
		m.Quote = ""
	}
	m.Tokens = chat.TokensOf(*m)
}

// placeOf returns the seq of the message with the platform ID, or of the bot's reply sent under it; 0: none, or deleted.
func (c *Conversation) placeOf(tx *Tx, id string) (seq int64) {
	return Get[int64](tx, `SELECT seq FROM messages WHERE conversation = ?1 AND platform_id = ?2 AND role = 'user' AND deleted_at IS NULL
		UNION ALL SELECT seq FROM messages INDEXED BY messages_replies
			WHERE conversation = ?1 AND role = 'assistant' AND platform_id <> ''
			AND platform_id = (SELECT reply FROM outbox INDEXED BY outbox_platform WHERE conversation = ?1 AND platform_id = ?2 AND platform_id <> '')
		LIMIT 1`, c.id, id)
}

type waitingMessage struct {
	conversation int64
	id           string
}

// arrivedSince reports whether a message arrived at then or later. The time in this process has a monotonic clock, so it
// stays right when the clock is set. For a message that an earlier process delivered, only its wall clock time is known.
func (c *Conversation) arrivedSince(m Inbound, then time.Time) bool {
	if came, known := c.store.arrivals.Load(waitingMessage{c.id, m.ID}); known {
		return !came.(time.Time).Before(then)
	}
	return m.received >= then.UnixMilli()
}

// HangsOn returns, for a thread, the name of its channel and the platform ID of the message it hangs on, if any.
func (c *Conversation) HangsOn() (channel, message string) {
	end := max(strings.LastIndexByte(c.name, '/'), 0)
	if c.IsTask() || !strings.Contains(c.name[:end], "/") { // its parent sends a task what it may know
		return "", ""
	}
	return c.name[:end], c.name[end+1:]
}

// inherit copies the channel's applied rows and the message the thread hangs on, when the thread's first message is written.
// If the bot has seen nothing in the channel there is nothing to copy.
func (c *Conversation) inherit(tx *Tx) {
	name, root := c.HangsOn()
	above := &Conversation{store: c.store, name: name}
	above.id = Get[int64](tx, "SELECT id FROM conversations WHERE name = ?", name)
	if above.id == 0 {
		return
	}
	tx.Do("UPDATE conversations SET parent = ? WHERE id = ?", above.id, c.id)
	c.In(tx).NextVersion()
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
		m.ReplyTo = ""
		m.Quote = ""
	}
	for i := range m.Attachments {
		m.Attachments[i].File = 0 // described in words
	}
	c.addInherited(tx, above, 0, transcript.Summary{Span: transcript.Span{From: m.Seq, To: m.Seq}, FromTime: m.Time, ToTime: m.Time, Messages: 1}, 0, m)
}

// addInherited writes a summary, with its text in m, or the message m that the thread hangs on.
func (c *Conversation) addInherited(tx *Tx, above *Conversation, place int, row transcript.Summary, tokens int, m chat.Message) {
	tx.Do(`INSERT INTO inherited (conversation, place, parent, from_seq, to_seq, from_at, to_at, kind, messages,
		platform_id, role, author, reply_to, quote, text, attachments, tokens, lines) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		c.id, place, above.id, row.From, row.To, row.FromTime.UnixMilli(), row.ToTime.UnixMilli(), row.Kind, row.Messages,
		m.ID, m.Role, m.Author, m.ReplyTo, m.Quote, m.Text, toJSON(m.Attachments), tokens, toJSON(row.Lines))
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
			&m.ID, &m.Role, &m.Author, &m.ReplyTo, &m.Quote, &row.Text, JSON(&m.Attachments), &row.Tokens,
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
		FROM inherited WHERE conversation = ? ORDER BY place`, c.id)
	return in
}

// TouchThreads increments the version of the threads whose copies match the condition.
func (rs Rows) TouchThreads(where string, args ...any) {
	for _, thread := range rs.tx.Conversations("WHERE id IN (SELECT conversation FROM inherited WHERE parent = ? AND "+where+")",
		append([]any{rs.c.id}, args...)...) {
		thread.In(rs.tx).NextVersion()
	}
}
