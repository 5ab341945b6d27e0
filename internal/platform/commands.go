// Commands to the bot, which are answered without the model.

package platform

import (
	"context"
	"errors"
	"time"

	"cairn/channel"
)

// Command is a command of a person.
type Command struct {
	Conversation string
	Who          channel.Person
	Line         string // "/compact prices"
}

// lastTimeout is how long the last answer to a command may take, for which a shutdown waits.
const lastTimeout = 5 * time.Second

// RunCommand runs a command. It calls show with the answer, and again with the text that replaces it once what the
// command started has ended, or the connector ends. refused means that the person is not heard there.
func (b *Base) RunCommand(ctx context.Context, c Command, show func(ctx context.Context, answer channel.Answer, refused bool) error) error {
	answer, refused, err := b.answer(ctx, c)
	if err := errors.Join(err, show(ctx, answer, refused)); err != nil || answer.Then == nil {
		return err
	}
	return showEnd(ctx, answer.Then, show)
}

// showEnd shows what a command has come to, or, when ctx ends before that, what becomes of it.
func showEnd(ctx context.Context, then func(ctx context.Context) string, show func(ctx context.Context, answer channel.Answer, refused bool) error) error {
	text := then(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTimeout)
	defer cancel()
	return show(ctx, channel.Answer{Text: text}, false)
}

// answer returns the answer to a command; there always is one. It is private if the person is refused or
// the command fails.
func (b *Base) answer(ctx context.Context, c Command) (answer channel.Answer, refused bool, err error) {
	answer, known, err := b.Hub.Run(ctx, c.Conversation, c.Who, c.Line)
	if err == nil && !known {
		answer, _, err = b.Hub.Run(ctx, c.Conversation, c.Who, "/help")
		answer = answer.Fenced()
		answer.Text = channel.Translated(answer.Language, channel.TextUnknown) + "\n" + answer.Text
	}
	switch refused = errors.Is(err, channel.ErrRefused); {
	case refused:
		return channel.Answer{Text: channel.Translated(answer.Language, channel.TextRefused), Private: true}, true, nil
	case err != nil:
		answer.Private = true
	case answer.String() == "":
		answer.Text = channel.Translated(answer.Language, channel.TextDone)
	}
	return answer, false, err
}

// IsCommand reports whether a message is a command to the bot.
func IsCommand(in channel.Inbound) bool {
	return in.Addressed && !in.Bot && channel.IsCommand(in.Text)
}
