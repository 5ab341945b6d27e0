package channel

import (
	"context"
	"time"

	"cairn/channel/access"
	"cairn/chat"
)

// Why people get no answer: the bot may not write in a place, and no model is asked there, or they may not talk with it. A hint tells
// them, once a day.

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
	NoOpenThreads     = "I cannot answer here: I lack the permission Send Messages, and to answer in threads, Create Public Threads and Send Messages in Threads. People who manage this channel can give them to me."
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

// cannotWrite returns why the bot may not write here; "" if it may, or if nobody knows.
func (s *site) cannotWrite() (why string) {
	if checker, ok := s.connector.(WriteChecker); ok {
		why = checker.CannotWrite(s.name)
	}
	return why
}

// CannotWrite returns why the bot may not write in a conversation, one of the sentences above; "" if it may, or if nobody knows.
func CannotWrite(h *Hub, conversation string) (why string) {
	return h.voice(conversation).cannotWrite()
}

// Whisperer is implemented by connectors that can write to one person about a place where others read, too.
type Whisperer interface {
	// Whisper shows a text to a person alone, who wrote in a conversation. It may ask the platform, and ends when ctx does.
	Whisper(ctx context.Context, conversation, person, text string) error
}

// explain tells people why the bot may not write in a conversation: them alone, or if that is not possible, by a reaction to their
// message.
func (v *voice) explain(why string, asked []chat.Message) {
	whisperer, ok := v.connector.(Whisperer)
	if !ok {
		return
	}
	text := v.translate(why) + " " + v.translate(askAgain)
	for _, m := range asked {
		v.onceADay("unanswered "+v.name+" "+m.AuthorID, func(ctx context.Context) error {
			err := whisperer.Whisper(ctx, v.name, m.AuthorID, text)
			if reactor, ok := v.connector.(Reactor); ok && err != nil {
				err = reactor.React(ctx, v.name, m.ID, ReactionUnanswered)
			}
			return err
		})
	}
}

// refuse rejects a person's message, and explains why to a person who wants an answer, and to nobody else.
func (v *voice) refuse(m Inbound) {
	place := chat.ParsePlace(v.name)
	whisperer, whispers := v.connector.(Whisperer)
	whispers = whispers && m.Addressed && v.access.Rules().RespondIn(v.name) != access.RespondNever
	if m.Bot || !place.Direct() && !whispers {
		return
	}
	v.onceADay("hint "+place.Connector+":"+m.AuthorID, func(ctx context.Context) error {
		const text = "I am not set up to talk with you here. Ask the bot's operator."
		if place.Direct() {
			v.say(ctx, "hint-"+m.ID, text, m.ID)
			return nil
		}
		return whisperer.Whisper(ctx, v.name, m.AuthorID, v.translate(text))
	})
}

// onceADay has the connector tell somebody something in the background, unless it did so for key in the last 24 hours since the
// start: a restart forgets that.
func (v *voice) onceADay(key string, tell func(ctx context.Context) error) {
	if !v.access.First(key, 24*time.Hour) {
		return
	}
	v.goroutines.start(func() {
		if err := callConnector(v.life, time.Minute, tell); err != nil {
			v.log.Debug("whisper_failed", "error", err)
		}
	})
}
