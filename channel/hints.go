package channel

import (
	"context"
	"time"

	"cairn/channel/access"
	"cairn/chat"
)

// Hints tell people why they get no answer, each of them once a day.

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
		_, err := callConnector(v.life, time.Minute, func(ctx context.Context) (any, error) { return nil, tell(ctx) })
		if err != nil {
			v.log.Debug("whisper_failed", "error", err)
		}
	})
}
