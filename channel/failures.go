package channel

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
)

// Conversations that cannot be read or written, as on a full disk, are one incident: however many they are, the log
// gets one warning, and people are notified once in each.

// Undelivered notifies the author of a message, once per incident, each time that Deliver failed.
func (h *Hub) Undelivered(ctx context.Context, conversation string, m Inbound, err error) {
	if m.Addressed && ctx.Err() == nil && !errors.Is(err, ErrRefused) && !errors.Is(err, ErrClosed) {
		h.tellOnce(ctx, conversation, err, "I cannot store your message right now. I will keep trying, and answer once I have it.", m.ID)
	}
}

// tellOnce notifies people, once per incident, of a failure of the database.
func (h *Hub) tellOnce(ctx context.Context, conversation string, err error, otherwise string, to ...string) {
	told := false
	h.locked(func() { told, h.told[conversation] = h.told[conversation], true })
	if !told {
		h.say(ctx, conversation, "unwell", databaseWords(err, otherwise), to...)
	}
}

// failure returns what to tell the person whose command failed there.
func (h *Hub) failure(conversation string, err error) string {
	return Translated(h.languageOf(conversation), databaseWords(err, "That did not work; the reason is in my log. Try again later."))
}

// Refusal returns what to tell the author of a message that is not stored and not delivered again.
func (o Operator) Refusal(conversation string, err error) string {
	return Translated(o.hub.languageOf(conversation), databaseWords(err, "Your message could not be saved, so it was not accepted. Send it again later."))
}

// databaseWords returns what people read about a failure that an operator must fix; otherwise for others.
func databaseWords(err error, otherwise string) string {
	switch {
	case errors.Is(err, store.ErrReplaced):
		return "My database was deleted or moved, so I cannot save anything. Ask the bot's operator to put it back."
	case errors.Is(err, store.ErrFull):
		return "My disk is full, so I cannot save anything. Ask the bot's operator to make room."
	case errors.Is(err, store.ErrDamaged):
		return "My database is damaged, so I cannot answer. Ask the bot's operator to run `cairn doctor`."
	}
	return otherwise
}

// stalled logs that the conversation cannot be read or written. The person who waits for an answer is
// notified, once per incident: immediately if an operator must act, else if a retry has failed too.
func (c *conversation) stalled(ctx context.Context, awaited string, again bool, err error) {
	level := slog.LevelDebug
	c.hub.locked(func() {
		if len(c.hub.stuck) == 0 {
			level = slog.LevelWarn
		}
		c.hub.stuck[c.name] = true
	})
	c.log.Log(ctx, level, "conversation_stalled", "error", err)
	if awaited != "" && (again || databaseWords(err, "") != "") {
		c.hub.tellOnce(ctx, c.name, err, "I cannot read or write my database right now. I will keep trying, and answer when I can.", awaited)
	}
}

// continues logs that the last one of the conversations that could not continue does.
func (c *conversation) continues() {
	last := false
	c.hub.locked(func() {
		last = c.hub.stuck[c.name] && len(c.hub.stuck) == 1
		delete(c.hub.stuck, c.name)
		delete(c.hub.told, c.name)
	})
	if last {
		c.log.Info("conversations_recovered")
	}
}

// say sends a notice without the outbox, which may not be writable.
func (h *Hub) say(ctx context.Context, conversation, id, text string, to ...string) {
	connector, ok := h.connectors[connectorOf(conversation)]
	if !ok {
		return
	}
	text = Translated(h.languageOf(conversation), text)
	if _, err := connector.Reply(conversation, to).Send(ctx, Piece{Reply: id, Parts: 1, To: to, Text: text, Failure: true}); err != nil {
		h.o.Log.Warn("send_notice_failed", "conversation", conversation, "error", err)
	}
}

// failures tracks which failed turns were logged and reported to people.
type failures struct {
	here      llm.Incident // turns fail here, for reasons specific to this conversation
	covered   bool         // turns failed here while the model's server was down
	announced bool         // people were notified that the last turn failed
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
	f.covered, f.announced = false, false
	here, there := f.here.End(), server.Down.End()
	return here || there
}

// How a conversation handles a bug in its own code.

// guard runs a step of the loop.
func (c *conversation) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			c.panicked(p, debug.Stack())
		}
	}()
	f()
}

// panicked has the conversation be loaded again from storage. Only the loop calls it.
func (c *conversation) panicked(p any, stack []byte) {
	c.log.Error("conversation_panicked", "panic", p, "stack", string(stack))
	c.runs.broken = true
	c.runs.panics++
	if c.engine != nil {
		c.engine.Close()
	}
}

var errPanicked = errors.New("a bug: the conversation panicked, and is loaded again")

// delay returns how long to wait before a retry: longer with each panic.
func (r *runs) delay() time.Duration { return retryDelay << min(max(r.panics-1, 0), 6) }

// workGuarded is work; a panic becomes an error.
func (c *conversation) workGuarded(ctx context.Context, resume bool) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case any(ErrClosed), any(errPanicked): // the loop has logged it
			err = p.(error)
		default:
			err = errPanicked
			stack := debug.Stack()
			c.inbox.post(func() { c.panicked(p, stack) })
		}
	}()
	return c.work(ctx, resume)
}
