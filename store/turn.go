// Turns: what still has to be answered, and what an answer writes.

package store

import (
	"context"
	"fmt"
	"strings"

	"cairn/chat"
	"cairn/llm"
	"cairn/transcript"
)

// Unanswered returns the oldest turn waiting for its answer, if any.
func (turns Turns) Unanswered(ctx context.Context) (turn Turn, ok bool, err error) {
	err = turns.c.View(ctx, "find unanswered turn", func(tx *Tx) error {
		if turn.Seq = turns.c.open(tx); turn.Seq == 0 {
			return nil
		}
		ok = true
		tx.Row("SELECT attempts, saved_at FROM messages WHERE id = ?", turns.c.Row(turn.Seq)).Scan(&turn.Attempts, utc(&turn.Since))
		of := turns.Of(turns.c.In(tx).Messages(turn.Seq, MaxSeq, "AND turn = ? ORDER BY id", turn.Seq))
		turn.To, turn.Optional = of.To, of.Optional
		return nil
	})
	return turn, ok, err
}

// Of returns the turn that answers the addressed ones of the messages; its Seq is 0 if there is
// none. To contains only ids that the platform knows: for nothing but results of tasks, the message
// that asked for the last one. A task knows all of its own.
func (turns Turns) Of(said []chat.Message) (turn Turn) {
	turn.Attempts, turn.Optional = 1, true
	asked := ""
	for _, m := range said {
		if !m.Addressed {
			continue
		}
		turn.Seq, turn.Optional = m.Turn, turn.Optional && m.Optional
		if turns.c.IsTask() || !strings.HasPrefix(m.ID, TaskID) {
			turn.To = append(turn.To, m.ID)
		} else {
			asked = m.ReplyTo
		}
	}
	if asked != "" && len(turn.To) == 0 {
		turn.To = []string{asked}
	}
	return turn
}

// Messages returns the messages of people in a turn, in order.
func (turns Turns) Messages(ctx context.Context, turn int64) ([]chat.Message, error) {
	return read(ctx, turns.c, fmt.Sprintf("read turn %d", turn), func(tx *Tx) []chat.Message {
		return turns.c.In(tx).Messages(turn, MaxSeq, "AND turn = ? AND role = 'user' ORDER BY id", turn)
	})
}

// open returns the seq of the oldest waiting turn, 0 if none is waiting.
func (c *Conversation) open(tx *Tx) (seq int64) {
	low, high := c.RowRange(1, MaxSeq)
	return Get[int64](tx, `SELECT seq FROM messages INDEXED BY messages_waiting
		WHERE id BETWEEN ? AND ? AND answered = 0 ORDER BY id LIMIT 1`, low, high)
}

// Retry records another attempt at a waiting turn and returns the number of attempts, this one
// included. ErrNotFound: no such turn is waiting.
func (turns Turns) Retry(ctx context.Context, turn int64) (int, error) {
	low, high := turns.c.RowRange(turn, turn)
	return Update(ctx, turns.c, fmt.Sprintf("retry turn %d", turn), func(tx *Tx) (int, error) {
		return Value[int](tx, `UPDATE messages SET attempts = attempts + 1
			WHERE id BETWEEN ? AND ? AND answered = 0 RETURNING attempts`, low, high)
	})
}

// Finish ends a waiting turn in one transaction: it writes the messages of bot and tools, queues
// the reply in the outbox, and marks the turn answered, or closed if it failed or the bot stays
// silent. The messages' seqs must increase, starting at the conversation's next one. ErrNotFound:
// no such turn is waiting.
func (turns Turns) Finish(ctx context.Context, o Outcome) error {
	_, err := turns.Answer(ctx, o)
	return err
}

// Answer is Finish, and reports whether the turn's context was stored.
func (turns Turns) Answer(ctx context.Context, o Outcome) (contextStored bool, err error) {
	return write(ctx, turns.c, fmt.Sprintf("finish turn %d", o.Turn), func(tx *Tx) (contextStored bool) {
		state := answered
		if o.Failure || o.Reply == "" {
			state = TurnClosed
		}
		low, high := turns.c.RowRange(o.Turn, o.Turn)
		tx.change("UPDATE messages SET answered = ? WHERE id BETWEEN ? AND ? AND answered = 0", state, low, high)
		turns.c.append(tx, o.Turn, o.Messages, o.Count)
		contextStored = turns.c.keepContext(tx, o.Context, o.Version)
		turns.c.keepSent(tx, o)
		turns.c.addUsage(tx, o.Usage)
		turns.c.post(tx, o)
		return contextStored
	})
}

// append writes the messages of a turn, and the provider's last count.
func (c *Conversation) append(tx *Tx, turn int64, messages []chat.Message, count transcript.Count) {
	c.keepCount(tx, count)
	if len(messages) == 0 {
		return
	}
	messages = c.withoutDeletedCopies(tx, turn, messages)
	p := &appender{c: c, tx: tx, first: messages[0].Seq, next: messages[0].Seq}
	for _, m := range messages {
		if m.Turn != turn || m.Role == llm.RoleUser {
			tx.Fail(fmt.Errorf("message %d (%s, turn %d) is no part of the answer", m.Seq, m.Role, m.Turn))
		}
		p.write(m, nil)
		c.keepQuotes(tx, m)
	}
	p.finish()
}
