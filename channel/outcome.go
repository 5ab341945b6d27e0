package channel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"cairn/channel/access"
	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/observe"
	"cairn/llm"
	"cairn/llm/clean"
	"cairn/store"
)

// The outcome of a turn is the answer, or its part when someone stopped it, or a sentence on why there is none.

// empty reports whether people who wait would get nothing.
func (r *reply) empty(resp llm.Response) bool {
	silent := r.turn.Optional && strings.TrimSpace(resp.Message.Text) != ""
	return len(r.texts) == 0 && !silent && clean.WithoutNoReply(resp.Message.Text, false) == ""
}

// answered returns the outcome of a turn whose answer ends with m; next is its seq. The row of the last text has the reply's id.
func (r *reply) answered(next int64, m llm.Message) store.Outcome {
	id := fmt.Sprintf("reply-%d", next)
	r.current.Reset()
	m.Text = clean.WithoutNoReply(m.Text, false)
	if m.Text != "" {
		r.texts = append(r.texts, m.Text)
		row := rowOf(m, next, r.turn.Seq)
		row.ID = id
		r.messages = append(r.messages, row)
	} else if len(r.texts) > 0 {
		r.messages[r.said].ID = id
	}
	if len(r.texts) == 0 { // nothing to add, and no one asked; or it was stopped at once
		return store.Outcome{Turn: r.turn.Seq, Messages: r.messages}
	}
	return r.outcome(id, r.text())
}

// putOff closes a turn of people who have no turns left in this minute, and notifies them, once.
func (c *conversation) putOff(ctx context.Context, turn store.Turn, tell bool) error {
	if !tell || turn.Optional || c.paused(ctx) || c.hub.cannotWrite(c.name) != "" {
		return c.pass(ctx, turn)
	}
	return c.fail(ctx, c.newReply(&turn), c.sayf("One moment, please: I answer each person at most %d times a minute. Your message is saved; ask again in a minute.", c.hub.access.Rules().TurnsPerMinute))
}

// failedPrefix starts the ids of the sentences that close failed turns.
const failedPrefix = "notice-"

// fail closes a turn without answer. The sentence is never stored as the assistant's words.
func (c *conversation) fail(ctx context.Context, r *reply, sentence string) error {
	o := r.outcome(fmt.Sprint(failedPrefix, r.turn.Seq), sentence)
	o.Failure = true
	return c.finish(ctx, r, o)
}

func (r *reply) outcome(id, text string) store.Outcome {
	return store.Outcome{Turn: r.turn.Seq, Messages: r.messages, Reply: id, To: r.turn.To, Pieces: []string{text}}
}

// finish writes the outcome and hands the reply to the sender. If the disk refuses, the turn stays open and is retried later.
// If its question was deleted, which closed the turn, there is nothing to write.
func (c *conversation) finish(ctx context.Context, r *reply, o store.Outcome) error {
	text := strings.Join(o.Pieces, "")
	if o.Reply != "" {
		o.Pieces = c.connector.Split(text)
	}
	if o.Reply == "" || o.Failure {
		r.withdraw()
	} else {
		c.sender.keep(o.Reply, r.writer) // before a sender can find the row
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	// Until then it waits: a rewrite of the database takes time.
	defer context.AfterFunc(c.hub.ctx, func() { time.AfterFunc(finishTimeout, cancel) })()
	c.do(func(e *compactor.Compactor) {
		o.Count, o.Sent = e.Count(), e.Sent()
		o.Messages = c.storable(o.Messages)
		o.Context, o.Version = e.History().Context()
		if o.Failure {
			o.Context = compactor.Context{}
		}
	})
	o.Usage = c.usage.take()
	contextStored, err := c.records.Turns().Finish(ctx, o)
	if err != nil {
		c.usage.add(o.Usage...)
	}
	c.do(func(e *compactor.Compactor) { c.written(e, r, o, contextStored, err) })
	if err != nil {
		c.sender.drop(o.Reply)
		r.withdraw()
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if o.Reply != "" {
			c.hub.tellOnce(c.hub.ctx, c.name, err, "I cannot save my answer to disk, so I am holding it back and trying again. Your message is saved.", r.turn.To...)
		}
		return err
	}
	r.stored = true
	if o.Reply != "" {
		c.sender.start(c.hub.ctx)
		c.warnOwner(ctx, *r.turn)
		if replied := c.hub.o.Replied; replied != nil {
			replied(c.name, r.turn.To, text, o.Failure)
		}
	}
	c.check()
	c.keepLearnt(r.learnt)
	return nil
}

func rowOf(m llm.Message, seq, turn int64, pictures ...chat.Attachment) chat.Message {
	row := chat.Message{
		Seq: seq, Turn: turn, Role: m.Role, Text: m.Text, Calls: m.Calls, Attachments: pictures,
		CallID: m.CallID, Tool: m.Tool, Native: m.Native, Time: time.Now(),
	}
	row.Tokens = chat.TokensOf(row)
	return row
}

// storable returns the turn's messages as they are stored: with reasoning only if the provider demands it later and
// it cannot repeat what was edited or deleted during the turn, and with a mark on calls that have lost it.
func (c *conversation) storable(messages []chat.Message) []chat.Message {
	turn := c.turn.Load()
	wanted := c.window.learnt().Facts().WantsReasoning && (turn == nil || !turn.sawChange)
	for i := range messages {
		if !wanted || len(messages[i].Calls) == 0 {
			messages[i].Native = nil
		}
		if now := c.engine.History().Message(messages[i].Seq); now != nil { // without what was deleted during the turn
			messages[i].Text = now.Text
			messages[i].Calls = now.Calls
			messages[i].Tokens = now.Tokens
			messages[i].Deprived = now.Deprived
		}
	}
	return messages
}

// written updates the history with the outcome as it is on disk. Only the loop calls it.
func (c *conversation) written(e *compactor.Compactor, r *reply, o store.Outcome, contextStored bool, err error) {
	history := e.History()
	if !contextStored {
		history.ContextNotStored()
	}
	if err != nil {
		history.Truncate(r.first)
		if errors.Is(err, store.ErrNotFound) { // the question was deleted, which closed the turn
			history.Answered()
		}
		return
	}
	if n := len(o.Messages); n > 0 && o.Messages[n-1].Seq >= history.Next() {
		history.Append(o.Messages[n-1])
	}
	history.Answered()
	if turn := c.turn.Load(); turn != nil && turn.sawChange { // see storable
		history.DropReasoning(r.first)
	}
}

var (
	errEmpty       = errors.New("the model gave an empty answer")
	errInterrupted = errors.New("the turn was interrupted repeatedly")
)

// failureOf returns the class of a failure, for metrics, and what people read: what happened and what to do.
func failureOf(err error) (class, sentence string) {
	var spent *access.SpentError
	switch {
	case errors.As(err, &spent):
		return spent.Class, spent.Sentence
	case errors.Is(err, compactor.ErrTooLarge):
		return "too_large", "I cannot fit this into the model's context window. Your message is saved; try /compact or /new, or ask the bot's operator for a larger context_window."
	case errors.Is(err, errInterrupted):
		return "interrupted", "I was interrupted repeatedly while answering this. Your message is saved; ask again if it still matters."
	case errors.Is(err, llm.ErrTooManyCalls), errors.Is(err, llm.ErrTooLong), errors.Is(err, errEmpty):
		return "no_answer", "The model gave no answer. Your message is saved; ask again, perhaps in other words."
	}
	class = "other"
	sentence = "Something went wrong while I was answering. Your message is saved; ask again."
	if kind := llm.KindOf(err); kind != "" {
		class = classOf(kind)
	}
	if remedy, ok := llm.RemedyOf(err); ok {
		sentence = remedy.Person
	}
	return class, sentence
}

// FailureClass sorts failed turns and requests into the classes of FailureClasses.
func FailureClass(err error) string {
	class, _ := failureOf(err)
	return class
}

func classOf(kind llm.Kind) string { return strings.ReplaceAll(string(kind), " ", "_") }

// FailureClasses returns every class that FailureClass may return.
func FailureClasses() []string {
	all := []string{"budget", "calls_per_hour", "too_large", "interrupted", "no_answer"}
	for _, kind := range llm.Kinds {
		all = append(all, classOf(kind))
	}
	return append(all, "other")
}

// mayBeSilent is the line of the turn context that lets the model skip a turn; the system prompt explains it.
const mayBeSilent = "nobody addressed you: with nothing to add, answer only " + clean.NoReply

// failures tracks which failed turns were logged and reported to people.
type failures struct {
	here      observe.Incident // turns fail here, for reasons specific to this conversation
	covered   bool             // turns failed here while the model's server was down
	announced bool             // people were notified that the last turn failed

	turn     int64 // the turn that was last asked in this process
	attempts int   // at it, in this process: one that a kill ended is not among them
}

// begin counts an attempt at a turn.
func (f *failures) begin(turn int64) {
	f.attempts = f.of(turn) + 1
	f.turn = turn
}

// of returns how often this process has attempted a turn. While none runs, all of these have failed.
func (f *failures) of(turn int64) int {
	if f.turn != turn {
		return 0
	}
	return f.attempts
}

// level returns the log level for a failed turn: a warning once per incident. If the model's server fails for everyone, all
// conversations share one incident; a conversation that keeps failing once the server works for others is a separate incident.
func (f *failures) level(err error, server *llm.Learnt) slog.Level {
	switch {
	case errors.Is(err, compactor.ErrSpent): // the budget has its own line
		return slog.LevelDebug
	case f.here.On() || !llm.OfServer(err) || f.covered && !server.Down.On():
		return f.here.Begin()
	}
	f.covered = true
	return server.Down.Begin()
}

// end records that a turn was answered, and reports whether that ends an incident.
func (f *failures) end(server *llm.Learnt) bool {
	f.covered = false
	f.announced = false
	here := f.here.End()
	there := server.Down.End()
	return here || there
}

// show displays the reply so far, in larger steps the longer it is: each costs time in proportion.
func (c *conversation) show(r *reply) {
	n := r.current.Len()
	if n > r.shown && n-r.shown < n/256 {
		return
	}
	r.shown = n
	if text := clean.WithoutNoReply(r.text(), true); text != "" {
		c.sender.show(r.writer, text)
	}
}
