// Turns: what still has to be answered, and what an answer writes; the outbox, from which each piece is sent once.

package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"time"

	"cairn/chat"
	"cairn/llm"
	"cairn/transcript"
)

// Turn is an unanswered turn, found at start.
type Turn struct {
	Seq      int64     // of its first message
	Starts   int       // how often it started, this time included
	Since    time.Time // when it was taken up
	To       []string  // the platform ids of its addressed messages, see Turns.Of
	Optional bool      // no one addressed the bot: it may stay silent
}

// Outcome ends a turn: one transaction writes all of it.
type Outcome struct {
	Turn     int64            // the turn that is answered
	Messages []chat.Message   // what the bot, its tools and, see Inbox.Steering, people said, in order, with seqs set; may be empty
	Reply    string           // ID of the reply to send; empty: nothing is sent
	To       []string         // platform ids of the messages it answers
	Pieces   []string         // the reply, cut for the connector
	ShownAs  string           // platform id of the message that shows the reply already, so that nothing is sent; empty: none does
	Failure  bool             // Pieces are a plain sentence about a failure, not the assistant's words
	Count    transcript.Count // the provider's last count; zero: no valid one
	Sent     transcript.Sent  // the last request of the turn; zero: there was none
	Usage    []Usage          // what models were used for since the last outcome

	Context transcript.Context // the context the model got with the turn; its Text is empty if it is not kept
	Version int64              // of the head that Context and Messages were made for: under another one Context is not kept
}

// Unanswered returns the oldest turn waiting for its answer, if any, with one statement. Its first message counts even if it was deleted.
func (turns Turns) Unanswered(ctx context.Context) (turn Turn, ok bool, err error) {
	_, high := turns.c.rowRange(1, MaxSeq)
	var first Turn
	messages, err := selectAlone(ctx, turns.c.store, func(rows *sql.Rows, m *chat.Message) error { // what Of reads
		return rows.Scan(&first.Seq, &first.Starts, utcInto(&first.Since), &m.Turn, &m.ID, &m.ReplyTo, &m.Addressed, &m.Optional)
	}, `SELECT o.seq, o.attempts, o.saved_at, m.turn, m.platform_id, m.reply_to, m.addressed = 1 AND m.deleted_at IS NULL, m.optional
		FROM (SELECT id, seq, attempts, saved_at FROM messages WHERE `+inConversation+` AND answered = 0 ORDER BY id LIMIT 1) o
		CROSS JOIN messages m WHERE m.id BETWEEN o.id AND ?2 AND m.turn = o.seq ORDER BY m.id`, turns.c.id, high)
	if err != nil || len(messages) == 0 {
		return turn, false, turns.c.Fail("find unanswered turn", err)
	}
	turn = turns.Of(messages)
	turn.Seq = first.Seq
	turn.Starts = first.Starts
	turn.Since = first.Since
	return turn, true, nil
}

// Of returns the turn that answers the addressed ones of the messages; its Seq is 0 if there is none. To contains only ids that
// the platform knows: for nothing but results of tasks, the message that asked for the last one. A task knows all of its own.
func (turns Turns) Of(messages []chat.Message) (turn Turn) {
	turn.Starts = 1
	turn.Optional = true
	requester := ""
	for _, m := range messages {
		if !m.Addressed {
			continue
		}
		turn.Seq = m.Turn
		turn.Optional = turn.Optional && m.Optional
		if turns.c.IsTask() || !IsOwn(m.ID) {
			turn.To = append(turn.To, m.ID)
		} else if !IsOwn(m.ReplyTo) {
			requester = cmp.Or(m.ReplyTo, requester)
		}
	}
	if requester != "" && len(turn.To) == 0 {
		turn.To = []string{requester}
	}
	return turn
}

// Withdrawn returns the platform ids of the questions that were deleted since then, and that no reply answers, in order.
func (turns Turns) Withdrawn(ctx context.Context, since time.Time) ([]string, error) {
	return View(ctx, turns.c, "look for deleted questions", func(tx *Tx) []string {
		return listRows(tx, func(rows *sql.Rows, id *string) error { return rows.Scan(id) },
			`SELECT platform_id FROM messages m
				WHERE `+inConversation+` AND changed_with IS NOT NULL AND role = 'user' AND addressed = 1 AND deleted_at >= ?2
				AND NOT EXISTS (SELECT 1 FROM outbox WHERE conversation = ?1 AND instr(answers, '"' || m.platform_id || '"') > 0)
				ORDER BY id`, turns.c.id, since.UnixMilli())
	})
}

// Messages returns the messages of people in a turn, in order.
func (turns Turns) Messages(ctx context.Context, turn int64) ([]chat.Message, error) {
	return View(ctx, turns.c, fmt.Sprintf("read turn %d", turn), func(tx *Tx) []chat.Message {
		return turns.c.Messages(tx).read(turn, MaxSeq, "AND turn = ? AND role = 'user' ORDER BY id", turn)
	})
}

// openTurn returns the seq of the oldest waiting turn, 0 if none is waiting.
func openTurn(tx *Tx, conversation int64) (seq int64) {
	return getValue[int64](tx, "SELECT seq FROM messages WHERE "+inConversation+" AND answered = 0 ORDER BY id LIMIT 1", conversation)
}

// Retry records another start of a waiting turn and returns how many there were. ErrNotFound: no such turn is waiting.
func (turns Turns) Retry(ctx context.Context, turn int64) (int, error) {
	low, high := turns.c.rowRange(turn, turn)
	return Update(ctx, turns.c, fmt.Sprintf("retry turn %d", turn), func(tx *Tx) (starts int) {
		tx.row("UPDATE messages SET attempts = attempts + 1 WHERE id BETWEEN ? AND ? AND answered = 0 RETURNING attempts", low, high).Scan(&starts)
		return starts
	})
}

// Open reports whether a message, by its platform id, waits for its answer, or something waits to be sent.
func (turns Turns) Open(ctx context.Context, id string) (open bool, err error) {
	err = turns.c.row(ctx, "look for an answer", []any{&open}, `SELECT EXISTS (SELECT 1 FROM inbox WHERE conversation = ?1 AND platform_id = ?2)
		OR EXISTS (SELECT 1 FROM messages m JOIN messages first ON first.id = (CAST(?1 AS BIGINT) << 32 | m.turn)
			WHERE m.conversation = ?1 AND m.platform_id = ?2 AND m.role = 'user' AND first.answered = 0)
		OR EXISTS (SELECT 1 FROM outbox WHERE conversation = ?1 AND `+unsent+`)`, turns.c.id, id)
	return open, err
}

// Finish ends a waiting turn in one transaction: it writes the messages of bot and tools, queues the reply in the outbox, and
// marks the turn answered, or closed if it failed or the bot stays silent. Messages of people among them leave the inbox, and those that
// were deleted there are left out. The messages' seqs must increase, starting at the conversation's next one. contextStored: the turn's
// context was kept. ErrNotFound: no such turn is waiting.
func (turns Turns) Finish(ctx context.Context, o Outcome) (contextStored bool, err error) {
	return Update(ctx, turns.c, fmt.Sprintf("finish turn %d", o.Turn), func(tx *Tx) (contextStored bool) {
		state := answered
		if o.Failure || o.Reply == "" {
			state = closed
		}
		low, high := turns.c.rowRange(o.Turn, o.Turn)
		tx.change("UPDATE messages SET answered = ? WHERE id BETWEEN ? AND ? AND answered = 0", state, low, high)
		turns.append(tx, &o)
		contextStored = turns.c.Messages(tx).keepContext(o.Context, o.Version)
		if n := len(o.Messages); n > 0 && o.Sent.Window > 0 {
			tx.do(`INSERT INTO turn_usage (id, "window", used, counted, estimated, context, factor) VALUES (?, ?, ?, ?, ?, ?, ?)`,
				turns.c.rowID(o.Messages[n-1].Seq), o.Sent.Window, o.Sent.Used, o.Sent.Counted, o.Sent.Estimated, o.Sent.Context, o.Sent.Factor)
		}
		turns.addUsage(tx, o.Usage)
		Outbox(turns).post(tx, o)
		return contextStored
	})
}

// append writes the messages of an answer, and the count of its prompt.
func (turns Turns) append(tx *Tx, o *Outcome) {
	tx.do("UPDATE conversations SET counted = ?, counted_estimate = ?, counted_by = ?, counted_with = ? WHERE id = ?",
		o.Count.Prompt, o.Count.Estimate, o.Count.Model, o.Count.Version, turns.c.id)
	steered, deleted := Inbox(turns).steered(tx, o.Messages)
	if len(deleted) > 0 {
		steered = tombstones(steered, deleted)
	}
	o.Messages = steered
	Inbox(turns).leave(tx, o.Messages)
	messages, changed := turns.c.Messages(tx).withoutChangedCopies(o.Messages, o.Version, len(deleted) > 0)
	if changed { // the prompt still has that
		turns.c.NextVersion(tx)
	}
	turns.dropPictures(tx, o.Turn, messages)
	Transcript(turns).add(tx, messages, func(chat.Message) any { return nil })
	turns.c.Messages(tx).bury(messages, deleted)
	for i, m := range messages {
		if m.Turn != o.Turn || m.Role == llm.RoleUser && !isSteered(m) {
			tx.Fail(fmt.Errorf("message %d (%s, turn %d) is no part of the answer", m.Seq, m.Role, m.Turn))
		}
		if m.Role == llm.RoleAssistant && m.Text != o.Messages[i].Text { // an answer without a model, which is all of the reply
			o.Pieces = []string{m.Text}
		}
		turns.c.Messages(tx).addQuotes(turns.c.rowID(m.Seq), m.Quotes)
	}
}

// Piece is one row of the outbox.
type Piece struct {
	Row     int64
	Reply   string // id of the reply it is part of
	Part    int    // from 0
	Parts   int
	To      []string
	Text    string
	Failure bool
	Sending bool // it was handed to the connector before, and may have arrived
}

// Post queues the pieces of a reply that answers no turn: a notice. Replies are deduped by ID.
func (out Outbox) Post(ctx context.Context, o Outcome) error {
	return out.c.Update(ctx, "post reply "+o.Reply, func(tx *Tx) {
		if !exists(tx, "SELECT 1 FROM outbox WHERE conversation = ? AND reply = ?", out.c.id, o.Reply) {
			out.post(tx, o)
		}
	})
}

// post queues the pieces of a reply, if it has an ID.
func (out Outbox) post(tx *Tx, o Outcome) {
	if o.Reply == "" {
		return
	}
	for part, text := range o.Pieces {
		tx.do(`INSERT INTO outbox (conversation, reply, part, parts, answers, text, failure, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, out.c.id, o.Reply, part, len(o.Pieces), toJSON(o.To), text, o.Failure, nowMillis())
	}
	if o.ShownAs != "" {
		tx.do("UPDATE outbox SET state = 'sent', text = '', platform_id = ?, sent_at = ? WHERE conversation = ? AND reply = ?",
			o.ShownAs, nowMillis(), out.c.id, o.Reply)
	}
}

// Unsent returns the pieces that still have to be sent, in sending order.
func (out Outbox) Unsent(ctx context.Context) ([]Piece, error) {
	pieces, err := selectAlone(ctx, out.c.store, scanPiece,
		"SELECT "+pieceColumns+" FROM outbox WHERE conversation = ? AND "+unsent+" ORDER BY id", out.c.id)
	return pieces, out.c.Fail("read outbox", err)
}

// unsent is true for a piece that was neither sent nor dropped.
const unsent = "state IN ('waiting', 'sending')"

const pieceColumns = "id, reply, part, parts, answers, text, failure, state = 'sending'"

func scanPiece(rows *sql.Rows, p *Piece) error {
	return rows.Scan(&p.Row, &p.Reply, &p.Part, &p.Parts, jsonInto(&p.To), &p.Text, &p.Failure, &p.Sending)
}

// Sending records that a piece is being handed to the connector.
func (out Outbox) Sending(ctx context.Context, row int64) error {
	return out.mark(ctx, row, "state = 'sending'")
}

// Sent records that a piece has arrived, and its platform ID. Its text is not kept: the transcript has it, and no deletion would
// find a notice that repeats a message.
func (out Outbox) Sent(ctx context.Context, row int64, platformID string) error {
	return out.mark(ctx, row, "state = 'sent', text = '', platform_id = ?, sent_at = ?", platformID, nowMillis())
}

// Newest returns the row behind which the pieces are that a conversation sends from now on.
func (out Outbox) Newest(ctx context.Context) (row int64, err error) {
	err = out.c.row(ctx, "find the newest piece", []any{&row}, `SELECT coalesce((SELECT min(id) - 1 FROM outbox WHERE conversation = ?1 AND `+unsent+`),
		(SELECT max(id) FROM outbox), 0)`, out.c.id)
	return row, err
}

// SentAfter returns the pieces that were sent after a row, in order and without their texts: the transcript has those of answers.
func (out Outbox) SentAfter(ctx context.Context, row int64, limit int) ([]Piece, error) {
	pieces, err := selectAlone(ctx, out.c.store, scanPiece,
		"SELECT "+pieceColumns+" FROM outbox WHERE id > ? AND conversation = ? AND state = 'sent' ORDER BY id LIMIT ?", row, out.c.id, limit)
	return pieces, out.c.Fail("read sent pieces", err)
}

// SentAs returns the piece that was sent as a message of the platform, or ErrNotFound.
func (out Outbox) SentAs(ctx context.Context, platformID string) (Piece, error) {
	return View(ctx, out.c, "look for a sent piece", func(tx *Tx) Piece {
		return firstOf(tx, listRows(tx, scanPiece, "SELECT "+pieceColumns+` FROM outbox
			WHERE conversation = ? AND platform_id = ? AND platform_id <> ''`, out.c.id, platformID))
	})
}

// Refused counts a refusal of a piece and returns how many there have been, across restarts.
func (out Outbox) Refused(ctx context.Context, row int64) (int, error) {
	return Update(ctx, out.c, fmt.Sprintf("count a refusal of piece %d", row), func(tx *Tx) (n int) {
		tx.row("UPDATE outbox SET refusals = refusals + 1 WHERE id = ? AND conversation = ? AND "+unsent+" RETURNING refusals", row, out.c.id).Scan(&n)
		return n
	})
}

// Drop removes a piece that can never be sent from the outbox, and keeps the reason, but not its text.
func (out Outbox) Drop(ctx context.Context, row int64, why string) error {
	return out.mark(ctx, row, "state = 'dropped', text = '', error = ?, sent_at = ?", why, nowMillis())
}

func (out Outbox) mark(ctx context.Context, row int64, to string, args ...any) error {
	return out.c.change(ctx, fmt.Sprintf("mark piece %d", row), "UPDATE outbox SET "+to+" WHERE id = ? AND conversation = ? AND "+unsent,
		append(args, row, out.c.id)...)
}
