// Taking up: moving waiting messages from the inbox to the transcript.

package store

import (
	"context"
	"math"
	"time"

	"cairn/chat"
)

// All is the end of the inbox, as a row.
const All = math.MaxInt64

// Due is what a conversation has to do before it takes up messages.
type Due struct {
	Waiting    int   // messages in the inbox
	Last       int64 // row of the message delivered last: later ones come after it; 0: none is waiting
	Incomplete bool  // the connector can find out more about a waiting message
	Gap        bool  // messages may have been missed
	Session    bool  // a new one is wanted
}

// Due checks what there is to do, in one statement because every turn calls it.
func (in Inbox) Due(ctx context.Context) (d Due, err error) {
	err = in.c.row(ctx, "look what there is to do", []any{&d.Waiting, &d.Last, &d.Incomplete, &d.Gap, &d.Session},
		`SELECT (SELECT count(*) FROM inbox WHERE conversation = ?1),
		coalesce((SELECT max(id) FROM inbox WHERE conversation = ?1), 0),
		EXISTS (SELECT 1 FROM inbox WHERE conversation = ?1 AND incomplete),
		gap IS NOT NULL,
		EXISTS (SELECT 1 FROM wanted_sessions WHERE conversation = ?1)
		FROM conversations WHERE id = ?1`, in.c.id)
	return d, err
}

// Dequeue moves the oldest messages of the inbox to the transcript, at least one and no more than
// cost budget tokens, and returns them with their seqs. It returns none if none is waiting or the
// oldest is incomplete: it never goes past an incomplete message, past the row upTo, or past the
// place where a session ends.
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
	p := c.newAppender(tx)
	taken, last := c.oldest(tx, p.next, upTo, budget, since)
	if len(taken) == 0 {
		return nil
	}
	if p.next == 1 {
		c.inherit(tx)
	}
	turn := int64(0) // the one that will be answered
	for i := range taken {
		m := &taken[i]
		m.Turn = m.Seq
		var state any = TurnClosed
		switch {
		case turn != 0:
			m.Turn, state = turn, nil
		case m.Addressed:
			turn, state = m.Seq, waiting
		}
		p.write(*m, state)
	}
	tx.Do("DELETE FROM inbox WHERE conversation = ? AND id <= ?", c.id, last)
	tx.Do("UPDATE conversations SET origin = 'live' WHERE id = ? AND origin <> 'live'", c.id)
	p.finish()
	return taken
}

// oldest reads the messages of the inbox up to a row that fit the budget, with seqs from next on, and the last one's row.
func (c *Conversation) oldest(tx *Tx, next, upTo int64, budget int, since time.Time) (found []chat.Message, last int64) {
	const most = 1000
	waiting := c.In(tx).Waiting(`AND id <= min(?2, coalesce((SELECT min(after) FROM wanted_sessions WHERE conversation = ?1), ?2))
		ORDER BY id LIMIT ?3`, upTo, most)
	places := make(map[string]int64) // of those found so far
	for _, in := range waiting {
		if in.Incomplete {
			break
		}
		m := in.message()
		m.Seq = next
		if m.Optional && !m.Addressed {
			m.Addressed, m.Optional = c.following(tx), false
		}
		m.Addressed = m.Addressed && c.arrivedSince(in, since)
		m.Optional = m.Optional && m.Addressed
		c.resolve(tx, &m, places)
		if budget -= m.Tokens; budget < 0 && len(found) > 0 {
			break
		}
		found, last = append(found, m), in.row
		places[m.ID] = m.Seq
		next++
	}
	return found, last
}

// resolve finds the message that m replies to, in the transcript or among those being taken up now, and counts m's tokens.
func (c *Conversation) resolve(tx *Tx, m *chat.Message, places map[string]int64) {
	if m.ReplyTo != "" {
		if m.ReplySeq = places[m.ReplyTo]; m.ReplySeq == 0 {
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
