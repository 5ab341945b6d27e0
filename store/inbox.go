// The inbox: delivered messages wait here, on disk, until their conversation takes them up.

package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"cairn/chat"
	"cairn/llm"
)

// Inbound is a message as a connector hands it over.
type Inbound struct {
	ID          string // the platform's id, unique in its conversation; never empty
	AuthorID    string
	Author      string
	Text        string
	Attachments []chat.Attachment
	ReplyTo     string    // the platform ID of the message it replies to
	Quote       string    // the start of that message and its author: `Ada: "shall we…"`
	Time        time.Time // when it was sent
	Edited      time.Time // when it was last edited; zero: never, as far as is known
	Addressed   bool      // a person wants an answer: the bot was mentioned, replied to, or is alone with them
	Steers      bool      // addressed, and for the answer that is being written: see Steering
	Above       string    // the channel's conversation, if another process may deliver it there, or to one of its threads: see isElsewhere
	Thread      bool      // sent in a thread, where the bot keeps answering once it was addressed, until /stop
	Optional    bool      // no one addressed the bot; it may answer or stay silent; the hub sets it
	Bot         bool      // sent by another program
	Audience    Audience  // who may read the place where it was sent
	Label       string    // what people call that place: "#general · Cozy Corner"; empty: not known
	Incomplete  bool      // the connector can find out more: names, files; see channel.Completer
	Tries       int       // how often completing it was attempted, see Try; the store sets it

	row, received int64 // of the inbox: its id, and when it arrived
	uncounted     bool  // it does not count for countBotTurn: Cairn wrote it, or it is old

	// Compaction overrides the policy in the turn that answers the message, and in the check that
	// follows it. It is not stored: a turn that is answered after a restart uses the policy.
	Compaction map[string]string `json:"-"`
}

// Receipt is the outcome of a delivery.
type Receipt struct {
	Fresh     bool  // false: the message was known already
	Seq       int64 // its place, if it was taken up; 0: it is waiting in the inbox
	Addressed bool  // as stored: in a followed thread the bot may answer without being addressed; a bot may have asked too often
}

// Deliver puts messages into the inbox, in order and in one transaction. When it returns without error they are durably on disk
// and may be acknowledged. Messages are deduped by ID, never by text: a message is not stored twice, nor again after it was
// deleted. While a message waits, a redelivery can only mark it as addressed and add files.
//
// When a message in a thread addresses the bot, the bot follows the thread from there on (see Follow): later messages in it are
// optional in the inbox, and count as addressed if the bot still follows the thread when they are taken up.
func (in Inbox) Deliver(ctx context.Context, all ...Inbound) (receipts []Receipt, err error) {
	err = in.c.enter(ctx, "deliver message", woken, func(tx *Tx) {
		for _, m := range all {
			receipts = append(receipts, in.deliver(tx, m))
		}
	})
	if err != nil {
		return nil, err
	}
	return receipts, nil
}

// deliver is Deliver for one message.
func (in Inbox) deliver(tx *Tx, m Inbound) (r Receipt) {
	m = clean(m)
	if m.ID == "" {
		tx.Fail(errNoID)
		return r
	}
	if m.Audience != unknownPlace {
		audience := m.Audience
		if audience == Members {
			audience = ""
		}
		tx.do("UPDATE conversations SET audience = ?1 WHERE id = ?2 AND audience <> ?1", audience, in.c.id)
	}
	relabel(tx, in.c.id, m.Label)
	is := in.delivery(tx, m.ID)
	if is.left {
		return Receipt{Seq: is.seq, Addressed: is.addressed}
	}
	if !is.waits && in.isElsewhere(tx, m) {
		return Receipt{}
	}
	in.countBotTurn(tx, &m, is)
	requested := m.Addressed && !m.Optional // by a person
	switch {
	case !is.waits:
		r.Fresh = true
		if m.Thread && !requested {
			r.Addressed = Settings(in).following(tx)
			if r.Addressed {
				m.Addressed = false
				m.Optional = true
			}
		}
		r.Addressed = r.Addressed || m.Addressed
		attachments := ""
		if len(m.Attachments) > 0 { // else there is nothing to store or delete: the message is new
			attachments = in.c.Messages(tx).keepFiles(m.ID, m.Attachments)
		}
		in.c.store.arrivals.Store(waitingMessage{in.c.id, m.ID}, time.Now())
		tx.do(`INSERT INTO inbox (conversation, platform_id, author_id, author, text, attachments, reply_to, quote,
			said_at, received_at, addressed, optional, incomplete, steers) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			in.c.id, m.ID, m.AuthorID, m.Author, m.Text, attachments, m.ReplyTo, m.Quote, m.Time.UnixMilli(), nowMillis(), m.Addressed, m.Optional, m.Incomplete, m.Steers)
	default:
		wasRequested := is.addressed && !is.optional
		followed := is.optional && !is.addressed
		r.Addressed = is.addressed || m.Addressed || followed
		if requested || !followed {
			tx.do("UPDATE inbox SET addressed = ?, optional = ? WHERE conversation = ? AND platform_id = ?",
				r.Addressed, r.Addressed && !requested && !wasRequested, in.c.id, m.ID)
		}
		if len(m.Attachments) > 0 {
			in.addFiles(tx, m)
		}
		requested = requested && !wasRequested // a mere redelivery does not follow the thread again after a /stop
	}
	if m.Thread && requested {
		tx.do(follow, true, in.c.id)
	}
	return r
}

// MaxBotTurns is the maximum number of messages of other bots that a conversation answers before a person writes: two bots could answer
// each other for ever. Further ones are overheard.
const MaxBotTurns = 3

// countBotTurn counts a bot's message that asks for an answer, or leaves it unaddressed if there were too many. A person's new
// message ends the count.
func (in Inbox) countBotTurn(tx *Tx, m *Inbound, is delivery) {
	switch {
	case m.uncounted:
	case m.Bot && m.Addressed && !is.addressed:
		m.Addressed = tx.changed("UPDATE conversations SET bot_turns = bot_turns + 1 WHERE id = ? AND bot_turns < ?", in.c.id, MaxBotTurns)
		m.Optional = m.Optional && m.Addressed
	case !m.Bot && !is.waits:
		tx.do("UPDATE conversations SET bot_turns = 0 WHERE id = ? AND bot_turns > 0", in.c.id)
	}
}

// addFiles adds the files of a redelivery to a waiting message without any: Slack delivers a mention twice, and perhaps only one
// delivery has the files.
func (in Inbox) addFiles(tx *Tx, m Inbound) {
	was := in.waiting(tx, "AND platform_id = ?", m.ID)
	if len(was) == 0 || len(was[0].Attachments) > 0 {
		return
	}
	tx.do("UPDATE inbox SET attachments = ?, incomplete = ?, tries = 0 WHERE conversation = ? AND platform_id = ?",
		in.c.Messages(tx).keepFiles(m.ID, m.Attachments), m.Incomplete, in.c.id, m.ID)
}

// Addressed reports whether a message is known and was addressed to the bot by a person.
func (in Inbox) Addressed(ctx context.Context, id string) (bool, error) {
	return View(ctx, in.c, "look who asked", func(tx *Tx) bool {
		is := in.delivery(tx, id)
		return is.addressed && !is.optional
	})
}

// Has reports whether a message has arrived here, by its platform ID; it may be deleted since.
func (in Inbox) Has(ctx context.Context, id string) (bool, error) {
	return View(ctx, in.c, "look for a message", func(tx *Tx) bool {
		is := in.delivery(tx, id)
		return is.waits || is.left
	})
}

// Said returns the text of a message, by its platform ID, and that of the message it replies to; empty if it is unknown or deleted.
func (in Inbox) Said(ctx context.Context, id string) (text, replyTo string, err error) {
	err = in.c.row(ctx, "read a message", []any{&text, &replyTo}, "SELECT text, reply_to FROM messages WHERE "+inConversation+` AND platform_id = ?2 AND role = 'user'
		UNION ALL SELECT text, reply_to FROM inbox WHERE conversation = ?1 AND platform_id = ?2 LIMIT 1`, in.c.id, id)
	return text, replyTo, err
}

// AskedFirst reports whether a message in the transcript, by its platform ID, wanted an answer, and whether it came before all that the bot
// has written. It may be deleted since.
func (in Inbox) AskedFirst(ctx context.Context, id string) (asked, first bool, err error) {
	err = in.c.row(ctx, "look who asked", []any{&asked, &first}, `SELECT addressed = 1,
			NOT EXISTS (SELECT 1 FROM messages a WHERE a.id BETWEEN CAST(?1 AS BIGINT) << 32 AND m.id AND a.role = 'assistant')
		FROM messages m WHERE conversation = ?1 AND platform_id = ?2 AND role = 'user'`, in.c.id, id)
	return asked, first, err
}

// HasOther reports whether people have written anything here besides a message, by its platform ID: commands and
// what was deleted count.
func (in Inbox) HasOther(ctx context.Context, but string) (has bool, err error) {
	err = in.c.row(ctx, "look for messages", []any{&has}, "SELECT EXISTS (SELECT 1 FROM messages WHERE "+inConversation+` AND role = 'user' AND platform_id <> ?2)
		OR EXISTS (SELECT 1 FROM inbox WHERE conversation = ?1 AND platform_id <> ?2) OR EXISTS (SELECT 1 FROM gone WHERE conversation = ?1 AND platform_id <> ?2)`, in.c.id, but)
	return has, err
}

// FirstTo reports whether nobody has called it here with this id, which is no platform's, and notes that.
func (in Inbox) FirstTo(ctx context.Context, id string) (first bool, err error) {
	err = in.c.enter(ctx, "note what is handled", quiet, func(tx *Tx) {
		first = tx.changed("INSERT INTO gone (conversation, platform_id) VALUES (?, ?) ON CONFLICT DO NOTHING", in.c.id, id)
	})
	return first, err
}

// delivery is what the store knows about a delivered message; zero: nothing yet.
type delivery struct {
	waits               bool  // in the inbox
	left                bool  // the inbox: it was taken up or deleted
	seq                 int64 // its place in the transcript; 0: it has none
	addressed, optional bool
}

// delivery looks up a message by its platform ID, in one statement because every delivery needs it.
func (in Inbox) delivery(tx *Tx, id string) (w delivery) {
	tx.row(`SELECT 0, 1, seq, addressed, optional FROM messages WHERE conversation = ?1 AND platform_id = ?2 AND role = 'user'
		UNION ALL SELECT 0, 1, 0, 0, 0 FROM gone WHERE conversation = ?1 AND platform_id = ?2
		UNION ALL SELECT 1, 0, 0, addressed, optional FROM inbox WHERE conversation = ?1 AND platform_id = ?2
		LIMIT 1`, in.c.id, id).Found(&w.waits, &w.left, &w.seq, &w.addressed, &w.optional)
	return w
}

// maxAuthorBytes limits the name or ID of a person. The store looks up authors very often.
const maxAuthorBytes = 300

var errNoID = errors.New("it has no id")

// storable returns a text as valid UTF-8 without NUL, which PostgreSQL cannot store.
func storable(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
}

// clean makes m fit to store: valid UTF-8, names of limited length, and a time.
func clean(m Inbound) Inbound {
	m.Text = storable(m.Text)
	for _, name := range []*string{&m.Author, &m.AuthorID} {
		*name = storable(*name)
		if len(*name) > maxAuthorBytes {
			*name = strings.ToValidUTF8((*name)[:maxAuthorBytes], "")
		}
	}
	m.Quote = storable(m.Quote)
	if len(m.Attachments) == 0 {
		m.Attachments = nil // the same form as read from the database
	}
	if m.Time.IsZero() {
		m.Time = time.Now()
	}
	m.Optional = m.Optional && m.Addressed
	return m
}

const inboxColumns = "platform_id, author_id, author, text, attachments, reply_to, quote, said_at, addressed, optional, incomplete, tries, steers, id, received_at"

// Oldest returns the messages that have waited longest, in order, at most limit.
func (in Inbox) Oldest(ctx context.Context, limit int) ([]Inbound, error) {
	return View(ctx, in.c, "read waiting messages", func(tx *Tx) []Inbound { return in.waiting(tx, "ORDER BY id LIMIT ?", limit) })
}

// waiting reads the rows of the inbox that the rest of the query selects.
func (in Inbox) waiting(tx *Tx, rest string, args ...any) []Inbound {
	return listRows(tx, func(rows *sql.Rows, m *Inbound) error { return scanInbound(rows, m) },
		"SELECT "+inboxColumns+" FROM inbox WHERE conversation = ? "+rest, append([]any{in.c.id}, args...)...)
}

// scanInbound reads inboxColumns, and the columns behind them into more.
func scanInbound(rows *sql.Rows, m *Inbound, more ...any) error {
	return rows.Scan(append([]any{
		&m.ID, &m.AuthorID, &m.Author, &m.Text, jsonInto(&m.Attachments), &m.ReplyTo, &m.Quote, localInto(&m.Time),
		&m.Addressed, &m.Optional, &m.Incomplete, &m.Tries, &m.Steers, &m.row, &m.received,
	}, more...)...)
}

func (m Inbound) message() chat.Message {
	return chat.Message{
		Role: llm.RoleUser, ID: m.ID, AuthorID: m.AuthorID, Author: m.Author, Text: m.Text, Attachments: m.Attachments,
		ReplyTo: m.ReplyTo, Quote: m.Quote, Time: localTime(m.Time.UnixMilli()), Addressed: m.Addressed, Optional: m.Optional,
	}
}

// Delete removes a waiting message, and quotes of it.
func (in Inbox) Delete(tx *Tx, id string) {
	tx.do("UPDATE inbox SET quote = '' WHERE conversation = ? AND reply_to = ? AND quote <> ''", in.c.id, id)
	steers := false
	if tx.row("DELETE FROM inbox WHERE conversation = ? AND platform_id = ? RETURNING steers", in.c.id, id).Found(&steers) {
		in.changed(tx, steers)
		in.c.store.arrivals.Delete(waitingMessage{in.c.id, id}) // if this is rolled back, its row tells when it came
		tx.do("INSERT INTO gone (conversation, platform_id) VALUES (?, ?) ON CONFLICT DO NOTHING", in.c.id, id)
		in.c.Messages(tx).storeFiles(id, nil)
	}
}

// Reject notes that a message is not delivered or read from the platform again, by its platform ID, unless the transcript has it. An empty
// ID is ignored.
func (in Inbox) Reject(tx *Tx, id string) {
	tx.do(`INSERT INTO gone (conversation, platform_id) SELECT CAST(?1 AS BIGINT), CAST(?2 AS TEXT) WHERE ?2 <> ''
		AND NOT EXISTS (SELECT 1 FROM messages WHERE conversation = ?1 AND platform_id = ?2 AND role = 'user') ON CONFLICT DO NOTHING`, in.c.id, id)
}

// Audience says who may read a place, besides its members. A connector that does not know leaves it empty, which changes
// nothing; if none has ever reported one, only the members read the place.
type Audience string

const (
	Members      Audience = "members" // a private channel, a private thread, a direct message
	ChannelWide  Audience = "channel" // a thread: all who may read its channel
	ServerWide   Audience = "server"  // a public channel, and its public threads: everybody on the server
	unknownPlace Audience = ""
)
