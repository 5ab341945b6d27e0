// Dequeuing: moving waiting messages from the inbox to the transcript.

package store

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"time"

	"cairn/chat"
)

// All is the end of the inbox, as a row.
const All = math.MaxInt64

// Due is what a conversation has to do before it dequeues messages.
type Due struct {
	Waiting    int   // messages in the inbox
	Last       int64 // row of the message delivered last: later ones come after it; 0: none is waiting
	Addressed  bool  // a waiting message is addressed to the bot
	Incomplete bool  // the connector can find out more about a waiting message
	Gap        bool  // messages may have been missed
	Session    bool  // a new one is wanted
}

// Due checks what there is to do, in one statement because every turn calls it.
func (in Inbox) Due(ctx context.Context) (d Due, err error) {
	err = in.c.row(ctx, "read what waits in the inbox", []any{&d.Waiting, &d.Last, &d.Addressed, &d.Incomplete, &d.Gap, &d.Session},
		`SELECT (SELECT count(*) FROM inbox WHERE conversation = ?1),
		coalesce((SELECT max(id) FROM inbox WHERE conversation = ?1), 0),
		EXISTS (SELECT 1 FROM inbox WHERE conversation = ?1 AND addressed = 1),
		EXISTS (SELECT 1 FROM inbox WHERE conversation = ?1 AND incomplete = 1),
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
// Each message before the first addressed one is a separate turn that gets no answer; from
// there on all are one turn, which now waits for its answer. Messages that arrived before since
// are too old to answer: Dequeue treats them as not addressed to the bot. Their age is the time
// that has passed, where this process knows it, not the difference of clock times.
func (in Inbox) Dequeue(ctx context.Context, upTo int64, budget int, since time.Time) (dequeued []chat.Message, err error) {
	dequeued, err = Update(ctx, in.c, "take up messages", func(tx *Tx) []chat.Message { return in.dequeue(tx, upTo, budget, since) })
	for _, m := range dequeued {
		in.c.store.arrivals.Delete(waitingMessage{in.c.id, m.ID})
	}
	return dequeued, err
}

func (in Inbox) dequeue(tx *Tx, upTo int64, budget int, since time.Time) []chat.Message {
	dequeued, last, unread := in.oldest(tx, upTo, budget, since)
	if len(dequeued) == 0 {
		return nil
	}
	if dequeued[0].Seq == 1 {
		inherit(tx, in.c)
	}
	turn := int64(0) // the one that will be answered
	for i := range dequeued {
		m := &dequeued[i]
		if m.Addressed && turn == 0 {
			turn = m.Seq
		}
		m.Turn = cmp.Or(turn, m.Seq)
	}
	Transcript(in).add(tx, dequeued, func(m chat.Message) any {
		switch {
		case m.Turn != m.Seq:
			return nil
		case m.Turn == turn:
			return waiting
		}
		return closed
	})
	tx.do("DELETE FROM inbox WHERE conversation = ? AND id <= ?", in.c.id, last)
	tx.do("UPDATE conversations SET origin = 'live' WHERE id = ? AND origin <> 'live'", in.c.id)
	if unread { // they are shown before that
		in.c.NextVersion(tx)
	}
	return dequeued
}

// oldest reads the messages of the inbox up to a row that fit the budget, with their seqs, and the last one's row. unread: messages of an
// import were not read yet. All of it is one statement, because every turn needs it.
func (in Inbox) oldest(tx *Tx, upTo int64, budget int, since time.Time) (found []chat.Message, last int64, unread bool) {
	const atOnce = 1000
	next := int64(0)
	waiting := listRows(tx, func(rows *sql.Rows, m *Inbound) error { return scanInbound(rows, m, &next, &unread) },
		"SELECT "+inboxColumns+`, (SELECT next_seq FROM conversations WHERE id = ?1), (SELECT unread_from > 0 FROM conversations WHERE id = ?1)
		FROM inbox WHERE conversation = ?1 AND id <= ?2 AND id <= coalesce((SELECT min(after) FROM wanted_sessions WHERE conversation = ?1), ?2)
		ORDER BY id LIMIT ?3`, in.c.id, upTo, atOnce)
	places := make(map[string]int64) // of those found so far
	left := budget
	addressed := false
	for _, waits := range waiting {
		if waits.Incomplete {
			break
		}
		m := waits.message()
		m.Seq = next
		if m.Optional && !m.Addressed {
			m.Addressed = Settings(in).following(tx)
			m.Optional = false
		}
		m.Addressed = m.Addressed && in.arrivedSince(waits, since)
		m.Optional = m.Optional && m.Addressed
		Transcript(in).resolve(tx, &m, places)
		if m.Addressed && !addressed { // what is only context does not shorten the turn
			left = budget
			addressed = true
		}
		if left -= m.Tokens; left < 0 && len(found) > 0 {
			break
		}
		found = append(found, m)
		last = waits.row
		places[m.ID] = m.Seq
		next++
	}
	return found, last, unread
}

// resolve finds the message that m replies to, in the transcript or among those being taken up now, and counts m's tokens.
func (tr Transcript) resolve(tx *Tx, m *chat.Message, places map[string]int64) {
	if m.ReplyTo != "" {
		m.ReplySeq = places[m.ReplyTo]
		if m.ReplySeq == 0 {
			m.ReplySeq = tr.placeOf(tx, m.ReplyTo)
		}
	}
	// A seq says it; and a platform still quotes what was deleted, here or in the channel of this thread.
	above, _ := tr.c.HangsOn()
	if m.ReplySeq != 0 || m.Quote != "" && exists(tx, `SELECT 1 FROM conversations c WHERE name IN (?1, ?2) AND (
		EXISTS (SELECT 1 FROM gone WHERE conversation = c.id AND platform_id = ?3)
		OR EXISTS (SELECT 1 FROM messages m WHERE m.conversation = c.id AND platform_id = ?3 AND role = 'user' AND deleted_at IS NOT NULL))`, tr.c.name, above, m.ReplyTo) {
		m.Quote = ""
	}
	m.Tokens = chat.TokensOf(*m)
}

// placeOf returns the seq of the message with the platform ID, or of the bot's reply sent under it; 0: none, or deleted.
func (tr Transcript) placeOf(tx *Tx, id string) (seq int64) {
	return getValue[int64](tx, `SELECT seq FROM messages WHERE conversation = ?1 AND platform_id = ?2 AND role = 'user' AND deleted_at IS NULL
		UNION ALL SELECT seq FROM messages
			WHERE conversation = ?1 AND role = 'assistant' AND platform_id <> ''
			AND platform_id = (SELECT reply FROM outbox WHERE conversation = ?1 AND platform_id = ?2 AND platform_id <> '')
		LIMIT 1`, tr.c.id, id)
}

type waitingMessage struct {
	conversation int64
	id           string
}

// arrivedSince reports whether a message arrived at then or later. The time in this process has a monotonic clock, so it
// stays right when the clock is set. For a message that an earlier process delivered, only its wall clock time is known.
func (in Inbox) arrivedSince(m Inbound, then time.Time) bool {
	if arrived, known := in.c.store.arrivals.Load(waitingMessage{in.c.id, m.ID}); known {
		return !arrived.(time.Time).Before(then)
	}
	return m.received >= then.UnixMilli()
}

// sentAs finds the message with a platform ID, waiting or not, or the bot's reply that was sent under it.
func (tr Transcript) sentAs(tx *Tx, id string) (m chat.Message, found bool) {
	if id == "" {
		return m, false
	}
	if seq := tr.placeOf(tx, id); seq != 0 {
		return tr.c.Messages(tx).message(seq), true
	}
	for _, in := range Inbox(tr).waiting(tx, "AND platform_id = ?", id) {
		return in.message(), true
	}
	return m, false
}
