package channel

import (
	"context"
	"time"

	"cairn/channel/sentences"
	"cairn/chat"
)

// Places in which the bot may not write: no model is asked there, and people who want an answer learn why there is none.

// WriteChecker is implemented by connectors that know where the bot may not write.
type WriteChecker interface {
	// CannotWrite returns why the bot may not write in a conversation, one of the sentences below; "" if it may, or if nobody
	// knows. It must not wait for the network.
	CannotWrite(conversation string) (why string)
}

// Why the bot may not write, and who can change that, in English; sentences.In(SpokenIn(…)).Translate translates it.
const (
	NoViewChannel     = "I cannot answer here: I lack the permission View Channel. People who manage this channel can give it to me."
	NoSendMessages    = "I cannot answer here: I lack the permission Send Messages. People who manage this channel can give it to me."
	NoSendInThreads   = "I cannot answer here: I lack the permission Send Messages in Threads. People who manage this channel can give it to me."
	ThreadLocked      = "I cannot answer here: this thread is locked. A moderator can unlock it."
	TimedOut          = "I cannot answer here: I am timed out on this server. A moderator can end that."
	NotInChannel      = "I cannot answer here: I am not in this channel. Its members can add me with /invite."
	ChannelArchived   = "I cannot answer here: this channel is archived. People who manage channels can restore it."
	ChannelReadOnly   = "I cannot answer here: only some people may post in this channel, and I am not one of them. People who manage it can change that."
	ThreadsOnly       = "I cannot answer here: this channel allows posts only in threads. Ask me in a thread."
	PostingRestricted = "I cannot answer here: a workspace setting prevents me from posting. Workspace admins can change it."

	askAgain = "Your message is saved. Once I may write here, ask again."
)

// Unwritable is a place in which the bot may not write.
type Unwritable struct {
	Conversation string
	Label        string // what people call it; empty if that is unknown
	Why          string // one of the sentences above
}

// cannotWrite returns why the bot may not write in a conversation; "" if it may.
func (h *Hub) cannotWrite(name string) (why string) {
	if checker, ok := h.connectors[connectorOf(name)].(WriteChecker); ok {
		why = checker.CannotWrite(name)
	}
	return why
}

// CannotWrite returns why the bot may not write in a conversation, one of the sentences above; "" if it may, or if nobody knows.
func CannotWrite(h *Hub, conversation string) (why string) { return h.cannotWrite(conversation) }

// cannotWrite returns why the bot may not write here; "" if it may.
func (c *conversation) cannotWrite() (why string) { return c.hub.cannotWrite(c.name) }

// explain tells people why they get no answer here, see Hub.explain.
func (c *conversation) explain(why string, asked []chat.Message) { c.hub.explain(c.name, why, asked) }

// explain tells people why they get no answer in a conversation, each once a day: them alone, or if that is not possible, by a
// reaction to their message.
func (h *Hub) explain(name, why string, asked []chat.Message) {
	connector := h.connectors[connectorOf(name)]
	whisperer, ok := connector.(Whisperer)
	if !ok {
		return
	}
	speaker := sentences.In(h.languageOf(name))
	text := speaker.Translate(why) + " " + speaker.Translate(askAgain)
	for _, m := range asked {
		h.onceADay("unanswered "+name+" "+m.AuthorID, func(ctx context.Context) {
			err := whisperer.Whisper(ctx, name, m.AuthorID, text)
			if reactor, ok := connector.(Reactor); ok && err != nil {
				err = reactor.React(ctx, name, m.ID, ReactionUnanswered)
			}
			if err != nil {
				h.o.Log.Debug("whisper_failed", "conversation", name, "error", err)
			}
		})
	}
}

// onceADay runs do in the background, unless it did so for key in the last 24 hours since the start: a restart forgets that.
func (h *Hub) onceADay(key string, do func(ctx context.Context)) {
	if !h.access.First(key, 24*time.Hour) {
		return
	}
	h.background(func() {
		ctx, cancel := context.WithTimeout(h.life, time.Minute)
		defer cancel()
		do(ctx)
	})
}
