// What the bot writes: messages, direct messages and reactions; and where it may not.

package discord

import (
	"context"
	"fmt"
	"net/http"

	"cairn/channel"
	"cairn/connector/platform"
)

// poster writes to Discord.
type poster struct {
	base            *platform.Base
	rest            *rest
	state           *stateCache
	pauses          *pauses
	history         *history
	threads         *threads
	reactionRefused platform.Cache // channels in which Discord refuses reactions
}

// create posts a message and returns it. If one with the same nonce was posted before, it returns that.
func (p *poster) create(ctx context.Context, channel string, message post, once bool) (created message, err error) {
	c := call{method: http.MethodPost, path: "/channels/" + channel + "/messages", body: message, into: &created, once: once}
	err = p.rest.do(ctx, c)
	if code := refusalIn(err).code; code == codeCannotReply || code == codeInvalidForm && message.Reference != nil { // e.g. to the end of a poll
		message.Reference = nil
		c.body = message
		err = p.rest.do(ctx, c)
	}
	if err == nil && created.ID == "" {
		err = fmt.Errorf("%s: the answer has no id", c.describe())
	}
	return created, err
}

// change replaces a message. Its buttons stay unless message has some, or an empty list.
func (p *poster) change(ctx context.Context, channel, id string, message post, once bool) error {
	return p.rest.do(ctx, call{method: http.MethodPatch, path: "/channels/" + channel + "/messages/" + id, body: message, once: once})
}

// Whisper writes a direct message, which names the place it is about: only a slash command of Discord can be answered in a place to
// one person alone.
func (p *poster) Whisper(ctx context.Context, conversation, person, text string) error {
	var direct place
	err := p.rest.do(ctx, call{method: http.MethodPost, path: "/users/@me/channels", body: map[string]string{"recipient_id": person}, into: &direct})
	if err == nil {
		about := channelID(conversation)
		text = messages.Fit("<#" + about + "> " + text)
		_, err = p.create(ctx, direct.ID, newPost(direct.ID, text, "", nonce("whisper", person, text)), false)
	}
	return err
}

// CannotWrite returns why the bot may not answer in a conversation; see channel.WriteChecker.
func (p *poster) CannotWrite(conversation string) (why string) {
	why = p.state.cannotAnswer(channelID(conversation), p.base.Clock.Now(), p.threads.on)
	if why == "" && !p.mayPost(channelID(conversation)) && p.base.WritingRefused(conversation, threadPause) == channel.NoSendMessages {
		return channel.NoSendMessages // see threads.open
	}
	p.base.NoteWritable(conversation, why)
	return why
}

// mayPost reports whether the bot may write in a channel or thread itself, as far as is known.
func (p *poster) mayPost(id string) bool { return p.state.cannotWrite(id, p.base.Clock.Now()) == "" }

// besideThreads is a poster for what opens no thread, such as the answer to a command.
type besideThreads struct{ *poster }

func (p besideThreads) CannotWrite(conversation string) (why string) {
	return p.state.cannotWrite(channelID(conversation), p.base.Clock.Now())
}

// emoji are the reactions as Discord shows them.
var emoji = map[channel.Reaction]string{channel.ReactionSummarized: "📚", channel.ReactionUnanswered: "🔇", channel.ReactionRemembered: "💾"}

// React implements channel.Reactor.
func (p *poster) React(ctx context.Context, conversation, id string, reaction channel.Reaction) error {
	return p.mark(ctx, channelID(conversation), id, emoji[reaction])
}
