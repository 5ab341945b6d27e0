// The transcript: a conversation's messages, each in its permanent place, and pins, which stay in the context.

package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"cairn/chat"
	"cairn/transcript"
)

// MaxSeq is the largest seq that fits into a row id.
const MaxSeq = math.MaxUint32

// rowID returns the row id of a seq.
func (c handle) rowID(seq int64) int64 { return c.id<<32 | seq }

// rowRange returns the row IDs of the seqs from and to, both included. Queries of messages use it or inConversation, so that none leaves
// its conversation, whatever numbers it gets; without any seqs the range is empty.
func (c handle) rowRange(from, to int64) (low, high int64) {
	from = max(from, 1)
	to = min(to, MaxSeq)
	if from > to {
		return 1, 0
	}
	return c.rowID(from), c.rowID(to)
}

// inConversation selects the messages of conversation ?1.
const inConversation = "id BETWEEN CAST(?1 AS BIGINT) << 32 AND CAST(?1 AS BIGINT) << 32 | 4294967295"

const messageColumns = `seq, turn, role, platform_id, author_id, author, text, attachments, reply_to, reply_seq, quote,
	calls, call_id, tool, native, said_at, addressed, optional, tokens, context, deprived`

// read reads the messages of [from, to] that were not deleted, oldest first. rest continues the WHERE clause.
func (ms Messages) read(from, to int64, rest string, args ...any) []chat.Message {
	return ms.readBehind(nil, from, to, rest, args...)
}

// readBehind is read behind messages that are known.
func (ms Messages) readBehind(known []chat.Message, from, to int64, rest string, args ...any) []chat.Message {
	low, high := ms.c.rowRange(from, to)
	return appendRows(ms.tx, known, func(rows *sql.Rows, m *chat.Message) error { return scanMessage(rows, m) },
		"SELECT "+messageColumns+" FROM messages WHERE id BETWEEN ? AND ? AND deleted_at IS NULL "+rest, append([]any{low, high}, args...)...)
}

// scanMessage reads messageColumns, and the columns behind them into more.
func scanMessage(rows *sql.Rows, m *chat.Message, more ...any) error {
	var native string
	err := rows.Scan(append([]any{
		&m.Seq, &m.Turn, &m.Role, &m.ID, &m.AuthorID, &m.Author, &m.Text,
		jsonInto(&m.Attachments),
		&m.ReplyTo, &m.ReplySeq, &m.Quote,
		jsonInto(&m.Calls),
		&m.CallID, &m.Tool, &native, localInto(&m.Time), &m.Addressed, &m.Optional, &m.Tokens, &m.Context, &m.Deprived,
	}, more...)...)
	if native != "" {
		m.Native = json.RawMessage(native)
	}
	return err
}

// toJSON encodes a list; an empty one becomes empty text.
func toJSON[T any](list []T) string {
	if len(list) == 0 {
		return ""
	}
	return encode(list)
}

// encode encodes numbers, texts, and lists, maps and structs of them as JSON, which cannot fail.
func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Page returns at most limit messages from seq from on, oldest first, without deleted ones.
func (tr Transcript) Page(ctx context.Context, from int64, limit int) ([]chat.Message, error) {
	return View(ctx, tr.c, "read transcript", func(tx *Tx) []chat.Message {
		return tr.c.Messages(tx).read(from, MaxSeq, "ORDER BY id LIMIT ?", max(limit, 0))
	})
}

// Earlier returns the newest messages before a seq (0: of all), at most limit, oldest first, without deleted ones, and whether
// there are older ones.
func (tr Transcript) Earlier(ctx context.Context, before int64, limit int) (page []chat.Message, more bool, err error) {
	if before <= 0 {
		before = MaxSeq
	}
	page, err = View(ctx, tr.c, "read transcript", func(tx *Tx) []chat.Message {
		return tr.c.Messages(tx).read(1, before-1, "ORDER BY id DESC LIMIT ?", limit+1)
	})
	more = len(page) > limit
	if more {
		page = page[:limit]
	}
	slices.Reverse(page)
	return page, more, err
}

// Page reads the messages between two seqs, at least one and at most limit, without deleted ones. next is the seq of the
// following one; 0: none.
func (ms Messages) Page(from, to int64, limit int) (page []chat.Message, next int64) {
	limit = max(limit, 1)
	page = ms.read(from, to, "ORDER BY id LIMIT ?", limit+1)
	if len(page) > limit {
		page, next = page[:limit], page[limit].Seq
	}
	return page, next
}

// Message returns one message. ErrNotFound: there is none, or it was deleted.
func (tr Transcript) Message(ctx context.Context, seq int64) (chat.Message, error) {
	return View(ctx, tr.c, fmt.Sprintf("read message %d", seq), func(tx *Tx) chat.Message { return tr.c.Messages(tx).message(seq) })
}

// NewestAnswer returns the newest message of the bot. ErrNotFound: there is none.
func (tr Transcript) NewestAnswer(ctx context.Context) (chat.Message, error) {
	return View(ctx, tr.c, "find the newest answer", func(tx *Tx) chat.Message {
		return firstOf(tx, tr.c.Messages(tx).read(1, MaxSeq, "AND role = 'assistant' AND platform_id <> '' ORDER BY id DESC LIMIT 1"))
	})
}

// Sent returns the message that the platform knows by an id, of a person or the bot; one that waits has no seq yet. ErrNotFound: there is
// none, or it was deleted.
func (tr Transcript) Sent(ctx context.Context, id string) (chat.Message, error) {
	return View(ctx, tr.c, "find message "+id, func(tx *Tx) chat.Message {
		m, found := tr.sentAs(tx, id)
		if !found {
			tx.Fail(ErrNotFound)
		}
		return m
	})
}

// message reads a message; there must be one.
func (ms Messages) message(seq int64) chat.Message { return firstOf(ms.tx, ms.read(seq, seq, "")) }

// The states of a turn. Its first message holds it; the others have none.
const (
	waiting  = 0
	answered = 1
	closed   = 2 // it will not be answered
)

// nextSeq returns the seq that the next message of a conversation gets.
func nextSeq(tx *Tx, conversation int64) int64 {
	return getValue[int64](tx, "SELECT next_seq FROM conversations WHERE id = ?", conversation)
}

// add stores messages and their index rows; the first has the conversation's next seq, and all have their turn. state
// returns the state of the turn that a message begins, nil if it begins none; for a waiting turn, the first attempt is counted.
func (tr Transcript) add(tx *Tx, messages []chat.Message, state func(chat.Message) any) {
	if len(messages) == 0 {
		return
	}
	next := messages[0].Seq
	known := fmt.Errorf("message %d is in the transcript already", next)
	tx.require(known, "UPDATE conversations SET next_seq = ? WHERE id = ? AND next_seq <= ?", messages[len(messages)-1].Seq+1, tr.c.id, next)
	for _, m := range messages {
		if m.Seq < next || m.Seq > MaxSeq {
			tx.Fail(fmt.Errorf("message with seq %d, the next one is %d", m.Seq, next))
		}
		turn := state(m)
		tx.do(`INSERT INTO messages (id, turn, role, platform_id, author_id, author, text, attachments, reply_to, reply_seq, quote,
			calls, call_id, tool, native, said_at, saved_at, addressed, optional, answered, attempts, tokens, deprived)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			tr.c.rowID(m.Seq), m.Turn, m.Role, m.ID, m.AuthorID, m.Author, m.Text, toJSON(m.Attachments), m.ReplyTo, m.ReplySeq, m.Quote,
			toJSON(m.Calls), m.CallID, m.Tool, string(m.Native), m.Time.UnixMilli(), nowMillis(), m.Addressed, m.Optional, turn, turn == waiting, m.Tokens, m.Deprived)
		tr.c.Messages(tx).index(m)
		next = m.Seq + 1
	}
}

// Counts are a conversation's numbers for /context.
type Counts struct {
	Messages int // without deleted ones
	Waiting  int // in the inbox
	Memories int // applied ones
}

// Counts counts the conversation. It reads every message's row once.
func (tr Transcript) Counts(ctx context.Context) (n Counts, err error) {
	err = tr.c.row(ctx, "count", []any{&n.Messages, &n.Waiting, &n.Memories}, `SELECT
		(SELECT count(*) FROM messages WHERE `+inConversation+` AND deleted_at IS NULL),
		(SELECT count(*) FROM inbox WHERE conversation = ?1),
		(SELECT count(*) FROM memories WHERE conversation = ?1 AND state = 'active')`, tr.c.id)
	return n, err
}

// Pin pins a message; fresh is false if it was already pinned. ErrNotFound: there is no such message, or it was deleted.
func (tr Transcript) Pin(ctx context.Context, seq int64, by Person) (fresh bool, err error) {
	err = tr.c.Update(ctx, fmt.Sprintf("pin message %d", seq), func(tx *Tx) {
		tr.c.Messages(tx).message(seq)
		fresh = tx.changed("INSERT INTO pins (conversation, seq, made_by, made_by_id, made_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", tr.c.id, seq, by.Name, by.ID, nowMillis())
		if fresh {
			tr.c.NextVersion(tx)
		}
	})
	return fresh, err
}

// Unpin removes a pin. ErrNotFound: the message is not pinned.
func (tr Transcript) Unpin(ctx context.Context, seq int64) error {
	return tr.c.Update(ctx, fmt.Sprintf("unpin message %d", seq), func(tx *Tx) {
		tx.change("DELETE FROM pins WHERE conversation = ? AND seq = ?", tr.c.id, seq)
		tr.c.NextVersion(tx)
	})
}

// Newest returns the newest message from a person. ErrNotFound: there is none.
func (tr Transcript) Newest(ctx context.Context) (chat.Message, error) {
	return View(ctx, tr.c, "read the newest message", func(tx *Tx) chat.Message {
		return firstOf(tx, tr.c.Messages(tx).read(1, MaxSeq, "AND role = 'user' ORDER BY id DESC LIMIT 1"))
	})
}

// Addressed returns those of the messages with these platform ids whose authors asked for an answer.
func (tr Transcript) Addressed(ctx context.Context, ids []string) ([]chat.Message, error) {
	return View(ctx, tr.c, "look who asked", func(tx *Tx) []chat.Message {
		return tr.c.Messages(tx).read(1, MaxSeq, "AND role = 'user' AND addressed = 1 AND optional = 0 AND platform_id IN (SELECT value FROM json_each(?))", encode(ids))
	})
}

// Known is a message as it was stored.
type Known struct {
	ID     string
	Edited time.Time // by the platform's clock; zero: no edit is known
	Saved  time.Time // by this machine's clock
	Reply  bool      // it replies to another message
}

// Recent returns at most limit of the newest messages of people, in no particular order, sent since a time, without deleted
// ones.
func (tr Transcript) Recent(ctx context.Context, since time.Time, limit int) ([]Known, error) {
	const reviewed = 500 // rows of the transcript
	recent, err := selectAlone(ctx, tr.c.store, func(rows *sql.Rows, m *Known) error {
		return rows.Scan(&m.ID, utcInto(&m.Edited), utcInto(&m.Saved), &m.Reply)
	}, fmt.Sprintf(`SELECT platform_id, edited, saved_at, reply_to <> '' FROM (
			SELECT platform_id, coalesce(edited_at, 0) AS edited, said_at, received_at AS saved_at, reply_to FROM inbox WHERE conversation = ?1
			UNION ALL SELECT * FROM (SELECT platform_id, coalesce(edited_at, 0), said_at, saved_at, reply_to FROM
				(SELECT * FROM messages WHERE %s ORDER BY id DESC LIMIT %d) newest WHERE role = 'user' AND platform_id <> '' AND deleted_at IS NULL) said
		) known WHERE said_at >= ?2 ORDER BY said_at DESC LIMIT ?3`, inConversation, reviewed), tr.c.id, since.UnixMilli(), limit)
	return recent, tr.c.Fail("look for recent messages", err)
}

// pins reads the pinned messages of all sessions, in the order in which they were pinned.
func (tr Transcript) pins(tx *Tx) []transcript.Pin {
	pins := listRows(tx, func(rows *sql.Rows, p *transcript.Pin) error {
		return rows.Scan(&p.Seq, &p.By, utcInto(&p.At), &p.Earlier)
	}, `SELECT p.seq, p.made_by, p.made_at, p.seq < c.session_start FROM pins p JOIN conversations c ON c.id = p.conversation
		WHERE p.conversation = ? ORDER BY p.made_at, p.seq`, tr.c.id)
	if len(pins) == 0 {
		return nil
	}
	for _, m := range tr.c.Messages(tx).read(1, MaxSeq, ofPins, tr.c.id) {
		i := slices.IndexFunc(pins, func(p transcript.Pin) bool { return p.Seq == m.Seq })
		pins[i].Message = m
	}
	return pins
}

// ofPins selects the pinned messages. A pin is deleted with its message.
const ofPins = "AND id IN (SELECT conversation << 32 | seq FROM pins WHERE conversation = ?)"
