package channel

import (
	"context"
	"time"

	"cairn/channel/access"
	"cairn/chat"
)

// hints tell people why they get no answer, each of them once a day.
type hints struct {
	life       context.Context // ends when the hub closes
	access     *access.Control
	goroutines *goroutines
}

// Whisperer is implemented by connectors that can write to one person about a place where others read, too.
type Whisperer interface {
	// Whisper shows a text to a person alone, who wrote in a conversation. It may ask the platform, and ends when ctx does.
	Whisper(ctx context.Context, conversation, person, text string) error
}

// explain tells people why the bot may not write in a conversation: them alone, or if that is not possible, by a reaction to their
// message.
func (h hints) explain(in *voice, why string, asked []chat.Message) {
	whisperer, ok := in.connector.(Whisperer)
	if !ok {
		return
	}
	text := in.translate(why) + " " + in.translate(askAgain)
	for _, m := range asked {
		h.onceADay(in, "unanswered "+in.name+" "+m.AuthorID, func(ctx context.Context) error {
			err := whisperer.Whisper(ctx, in.name, m.AuthorID, text)
			if reactor, ok := in.connector.(Reactor); ok && err != nil {
				err = reactor.React(ctx, in.name, m.ID, ReactionUnanswered)
			}
			return err
		})
	}
}

// refuse rejects a person's message, and explains why to a person who wants an answer, and to nobody else.
func (h hints) refuse(in *voice, m Inbound) {
	place := chat.ParsePlace(in.name)
	whisperer, whispers := in.connector.(Whisperer)
	whispers = whispers && m.Addressed && h.access.Rules().RespondIn(in.name) != access.RespondNever
	if m.Bot || !place.Direct() && !whispers {
		return
	}
	h.onceADay(in, "hint "+place.Connector+":"+m.AuthorID, func(ctx context.Context) error {
		const text = "I am not set up to talk with you here. Ask the bot's operator."
		if place.Direct() {
			in.say(ctx, "hint-"+m.ID, text, m.ID)
			return nil
		}
		return whisperer.Whisper(ctx, in.name, m.AuthorID, in.translate(text))
	})
}

// onceADay has the connector tell somebody something in the background, unless it did so for key in the last 24 hours since the
// start: a restart forgets that.
func (h hints) onceADay(in *voice, key string, tell func(ctx context.Context) error) {
	if !h.access.First(key, 24*time.Hour) {
		return
	}
	h.goroutines.start(func() {
		_, err := callConnector(h.life, time.Minute, func(ctx context.Context) (any, error) { return nil, tell(ctx) })
		if err != nil {
			in.log.Debug("whisper_failed", "error", err)
		}
	})
}
