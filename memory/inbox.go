// The inbox: what was delivered waits here, on disk, until its conversation takes it up.

package memory

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"cairn/compactor"
	"cairn/llm"
)

// Deliver puts m into the inbox. When it returns without error the message is on
// disk for good and may be acknowledged. A message is known by its ID, never by
// its text, and is not taken twice. A repetition can only add that somebody wants
// an answer, as long as the message waits.
func (c *Conversation) Deliver(ctx context.Context, m Inbound) (r Receipt, err error) {
	m, err = clean(m)
	if err != nil {
		return r, c.fail("deliver message", err)
	}
	attachments, err := toJSON(m.Attachments)
	if err != nil {
		return r, c.fail("deliver message", err)
	}
	err = c.store.update(ctx, func(tx *sql.Tx) error {
		if r.Seq, err = c.seqOf(tx, m.ID); err != nil || r.Seq > 0 {
			return err
		}
		err := changed(tx, `INSERT INTO inbox (conversation, platform_id, author_id, author, text, attachments, reply_to, said_at, received_at, addressed)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			c.id, m.ID, m.AuthorID, m.Author, m.Text, attachments, m.ReplyTo, m.Time.UnixMilli(), now(), m.Addressed)
		r.Fresh = err == nil
		if errors.Is(err, ErrNotFound) { // it waits already
			_, err = tx.Exec("UPDATE inbox SET addressed = addressed OR ? WHERE conversation = ? AND platform_id = ?", m.Addressed, c.id, m.ID)
		}
		return err
	})
	if err != nil {
		return Receipt{}, c.fail("deliver message", err)
	}
	return r, nil
}

// clean makes a message fit to be stored: valid UTF-8 and a time.
func clean(m Inbound) (Inbound, error) {
	if m.ID == "" {
		return m, errors.New("it has no id")
	}
	valid := func(s *string) { *s = strings.ToValidUTF8(*s, "\uFFFD") }
	valid(&m.Text)
	valid(&m.Author)
	valid(&m.AuthorID)
	if len(m.Attachments) == 0 {
		m.Attachments = nil // as it reads back
	}
	if m.Time.IsZero() {
		m.Time = time.Now()
	}
	return m, nil
}

// seqOf returns the place of a person's message by its platform id, 0 if it was
// not taken up.
func (c *Conversation) seqOf(tx *sql.Tx, id string) (seq int64, err error) {
	err = tx.QueryRow("SELECT seq FROM messages WHERE conversation = ? AND platform_id = ? AND role = 'user'", c.id, id).Scan(&seq)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return seq, err
}

// TakeUp moves the oldest messages of the inbox to the transcript, at least one
// and no more than cost budget tokens, and returns them with their seqs; none if
// nothing waits. Those before the first addressed one are turns of their own that
// nobody answers; from there on all are one turn, which now waits for its answer.
// What arrived before since is too old to be answered: it is taken up as if nobody
// had addressed the bot.
func (c *Conversation) TakeUp(ctx context.Context, budget int, since time.Time) (taken []compactor.Message, err error) {
	err = c.store.update(ctx, func(tx *sql.Tx) error {
		taken, err = c.takeUp(tx, budget, since)
		return err
	})
	if err != nil {
		return nil, c.fail("take up messages", err)
	}
	return taken, nil
}

func (c *Conversation) takeUp(tx *sql.Tx, budget int, since time.Time) ([]compactor.Message, error) {
	p, err := c.newPen(tx)
	if err != nil {
		return nil, err
	}
	taken, last, err := c.oldest(tx, p.next, budget, since)
	if err != nil || len(taken) == 0 {
		return nil, err
	}
	turn := int64(0) // the one that will be answered
	for i := range taken {
		m := &taken[i]
		m.Turn = m.Seq
		var state any = closed
		switch {
		case turn != 0:
			m.Turn, state = turn, nil
		case m.Addressed:
			turn, state = m.Seq, waiting
		}
		if err := p.write(*m, state); err != nil {
			return nil, err
		}
	}
	if _, err := tx.Exec("DELETE FROM inbox WHERE conversation = ? AND id <= ?", c.id, last); err != nil {
		return nil, err
	}
	if _, err := tx.Exec("UPDATE conversations SET origin = 'live' WHERE id = ?", c.id); err != nil {
		return nil, err
	}
	return taken, p.finish()
}

// oldest reads what fits the budget from the inbox, with seqs from next on, and
// the row of the last one.
func (c *Conversation) oldest(tx *sql.Tx, next int64, budget int, since time.Time) (found []compactor.Message, last int64, err error) {
	rows, err := tx.Query(`SELECT id, platform_id, author_id, author, text, attachments, reply_to, said_at, addressed AND received_at >= ?
		FROM inbox WHERE conversation = ? ORDER BY id`, since.UnixMilli(), c.id)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		m := compactor.Message{Seq: next, Role: llm.RoleUser}
		var row, saidAt int64
		var attachments string
		err := rows.Scan(&row, &m.ID, &m.AuthorID, &m.Author, &m.Text, &attachments, &m.ReplyTo, &saidAt, &m.Addressed)
		if err != nil {
			return nil, 0, err
		}
		if err := fromJSON(attachments, &m.Attachments); err != nil {
			return nil, 0, err
		}
		m.Time = at(saidAt)
		m.Tokens = compactor.TokensOf(m)
		if budget -= m.Tokens; budget < 0 && len(found) > 0 {
			break
		}
		found, last = append(found, m), row
		next++
	}
	return found, last, rows.Err()
}

// Import adds messages of the past, which nobody answers, behind those that are
// there, and returns those that were new. It is one transaction, so it takes a
// batch at a time. ErrLive: people have talked to the bot here.
func (c *Conversation) Import(ctx context.Context, past []Inbound) (added []compactor.Message, err error) {
	err = c.store.update(ctx, func(tx *sql.Tx) error {
		added, err = c.imports(tx, past)
		return err
	})
	if err != nil {
		return nil, c.fail("import messages", err)
	}
	return added, nil
}

func (c *Conversation) imports(tx *sql.Tx, past []Inbound) ([]compactor.Message, error) {
	var live bool
	err := tx.QueryRow(`SELECT origin = 'live' OR EXISTS (SELECT 1 FROM inbox WHERE conversation = c.id)
		FROM conversations c WHERE id = ?`, c.id).Scan(&live)
	if err == nil && live {
		err = ErrLive
	}
	if err != nil {
		return nil, err
	}
	p, err := c.newPen(tx)
	if err != nil {
		return nil, err
	}
	var added []compactor.Message
	for _, in := range past {
		in, err := clean(in)
		if err != nil {
			return nil, err
		}
		if seq, err := c.seqOf(tx, in.ID); err != nil {
			return nil, err
		} else if seq > 0 {
			continue
		}
		m := compactor.Message{
			Seq: p.next, Turn: p.next, Role: llm.RoleUser, ID: in.ID, AuthorID: in.AuthorID, Author: in.Author,
			Text: in.Text, Attachments: in.Attachments, ReplyTo: in.ReplyTo, Time: at(in.Time.UnixMilli()), Addressed: in.Addressed,
		}
		m.Tokens = compactor.TokensOf(m)
		if err := p.write(m, closed); err != nil {
			return nil, err
		}
		added = append(added, m)
	}
	if len(added) == 0 {
		return nil, nil
	}
	if _, err := tx.Exec("UPDATE conversations SET origin = 'imported' WHERE id = ?", c.id); err != nil {
		return nil, err
	}
	return added, p.finish()
}
