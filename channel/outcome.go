package channel

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/observe"
	"cairn/llm"
	"cairn/store"
)

// The outcome of a turn is the answer, or its part when someone stopped it, or a sentence on why there is none.

// close closes a turn whose answer ends with a message.
func (t *turn) close(ctx context.Context, last llm.Message) error {
	reply := t.attempt.end(last, t.nextSeq(), t.Seq, t.language())
	if reply == "" {
		return t.finish(ctx, store.Outcome{Turn: t.Seq, Messages: t.attempt.messages})
	}
	return t.finish(ctx, t.reply(reply, t.attempt.text()))
}

// pass closes a turn without an answer: its messages are only context.
func (t *turn) pass(ctx context.Context) error {
	t.attempt = &attempt{first: t.nextSeq()}
	return t.finish(ctx, store.Outcome{Turn: t.Seq, Failure: true})
}

// fail closes a turn without answer. The sentence is never stored as the assistant's words.
func (t *turn) fail(ctx context.Context, sentence string) error {
	t.leaveUnread()
	o := t.reply(replyID{kind: replyFailed, of: number(t.Seq)}.String(), sentence)
	o.Failure = true
	return t.finish(ctx, o)
}

func (t *turn) reply(id, text string) store.Outcome {
	return store.Outcome{Turn: t.Seq, Messages: t.attempt.messages, Reply: id, To: t.To, Pieces: []string{text}}
}

// finish writes the outcome and hands the reply to the sender. If the disk refuses, the turn stays open and is retried later; one that people
// have stopped is not asked again as long as this process runs, see holdStop.
// If its question was deleted, which closed the turn, there is nothing to write.
func (t *turn) finish(ctx context.Context, o store.Outcome) error {
	t.sender.unhold()
	text := strings.Join(o.Pieces, "")
	if o.Reply != "" {
		o.Pieces = t.connector.Split(text)
	}
	if o.Reply == "" || o.Failure {
		t.attempt.withdraw()
	}
	keeper, ok := t.attempt.writer.(Keeper)
	if ok && o.Reply != "" && t.outcome == observe.Stopped {
		o.ShownAs = keeper.Kept()
	}
	switch { // before a sender can find the row
	case o.Reply == "", o.ShownAs != "":
	case o.Failure:
		t.sender.keep(o.Reply, t.newWriter())
	default:
		t.sender.keep(o.Reply, t.attempt.writer)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	// Until then it waits: a rewrite of the database takes time.
	defer context.AfterFunc(t.life, func() { time.AfterFunc(finishTimeout, cancel) })()
	if err := t.write(ctx, o); err != nil {
		t.sender.drop(o.Reply)
		t.attempt.withdraw()
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if o.Reply != "" {
			t.incident.notify(t.life, t.voice, err, "I cannot save my answer to disk, so I am holding it back and trying again. Your message is saved.", t.To...)
		}
		return err
	}
	t.attempt.stored = true
	if o.ShownAs != "" {
		keeper.Keep()
	}
	if o.Reply != "" {
		t.sender.start()
		t.sender.warnOwner(ctx, t.Seq)
		t.warnPayers(ctx)
		t.noticeSaved(ctx)
		if hook := t.o.Replied; hook != nil {
			hook(t.name, slices.Concat(t.To, steered(o.Messages)), text, o.Failure)
		}
	}
	t.check()
	t.keepLearned(t.life, t.log, t.learned())
	return nil
}

// write writes the outcome and shows in the prompt what is on disk then.
func (t *turn) write(ctx context.Context, o store.Outcome) error {
	for {
		t.do(func(e *compactor.Compactor) {
			o.Count, o.Sent = e.Count(), e.Sent()
			o.Messages = t.storable(e, o.Messages)
			o.Context, o.Version = e.TurnContext()
			if o.Failure {
				o.Context = compactor.Context{}
			}
		})
		o.Usage = t.usage.take()
		contextStored, err := t.records.Turns().Finish(ctx, o)
		if err != nil {
			t.usage.add(o.Usage...)
		} else {
			t.access.Written(o.Usage...)
		}
		if err == nil || !t.holdStop(err) {
			t.do(func(e *compactor.Compactor) { t.written(e, o.Messages, contextStored, err) })
			return err
		}
	}
}

// holdTime is how long a stopped answer waits to be written: a disk that is full may be so for a while, but what can never be written must not
// silence a conversation.
const holdTime = 10 * time.Minute

// holdStop waits until what the disk has refused may be written again, if that is what people saw of an answer when they stopped it: asked
// again, the model would write all of it. It reports whether that is worthwhile.
func (t *turn) holdStop(refused error) bool {
	isFinal := errors.Is(refused, store.ErrNotFound) || errors.Is(refused, store.ErrOwned) || errors.Is(refused, store.ErrUnknown)
	if t.held.IsZero() {
		t.held = time.Now()
	}
	if t.outcome != observe.Stopped || isFinal || t.life.Err() != nil || time.Since(t.held) > holdTime {
		return false
	}
	t.incident.stall(t.life, t.voice, "", false, refused)
	t.incident.notify(t.life, t.voice, refused, "I cannot save what I wrote before I was stopped. I keep trying. Your message is saved.", t.To...)
	select {
	case <-time.After(retryDelay):
		return true
	case <-t.life.Done():
		return false
	}
}

// storable returns the turn's messages as they are stored: with reasoning only if the provider demands it later and
// it cannot repeat what was edited or deleted during the turn, not that of a fallback model, and with a mark on calls that have lost it.
func (t *turn) storable(e *compactor.Compactor, messages []chat.Message) []chat.Message {
	wanted := t.window.learned().Facts().WantsReasoning && !t.changes.seen && !t.standsIn
	for i := range messages {
		if !wanted || len(messages[i].Calls) == 0 {
			messages[i].Native = nil
		}
		if now, ok := e.View().At(messages[i].Seq); ok { // without what was deleted during the turn
			messages[i].Text = now.Text
			messages[i].Calls = now.Calls
			messages[i].Tokens = now.Tokens
			messages[i].Deprived = now.Deprived
		}
	}
	return messages
}

// written updates the history with the outcome as it is on disk, unless err says that it is not. Only the loop calls it.
func (t *turn) written(e *compactor.Compactor, messages []chat.Message, contextStored bool, err error) {
	if !contextStored {
		e.ContextNotStored()
	}
	if err != nil {
		e.Discard(t.attempt.first)
		if errors.Is(err, store.ErrNotFound) { // the question was deleted, which closed the turn
			e.EndTurn()
		}
		return
	}
	if n := len(messages); n > 0 && messages[n-1].Seq >= e.View().Next {
		e.Add(messages[n-1])
	}
	for _, m := range messages {
		if now, ok := e.View().At(m.Seq); ok && m.Role == llm.RoleUser && now.ID == m.ID { // otherwise it was deleted
			t.arrivals.accepted(m.ID, m.Seq)
		}
	}
	e.EndTurn()
	if t.changes.seen || t.standsIn { // see storable
		e.DropReasoning(t.attempt.first)
	}
}
