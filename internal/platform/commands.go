// Commands to the bot, which are answered without the model.

package platform

import (
	"context"
	"errors"

	"cairn/channel"
)

// Run runs the command of a person. There is always an answer, unless the person is refused: then
// it can only be shown to them alone. The error is for the log.
func Run(ctx context.Context, hub *channel.Hub, conversation string, who channel.Person, line string) (answer channel.Answer, refused bool, err error) {
	answer, known, err := hub.Run(ctx, conversation, who, line)
	if err == nil && !known {
		answer, _, err = hub.Run(ctx, conversation, who, "/help")
		answer = answer.Fenced()
		answer.Text = channel.Translated(answer.Language, channel.TextUnknown) + "\n" + answer.Text
	}
	switch {
	case errors.Is(err, channel.ErrRefused):
		return channel.Answer{Text: channel.Translated(answer.Language, channel.TextRefused), Private: true}, true, nil
	case err != nil:
		answer.Private = true
		return answer, false, err
	case answer.String() == "":
		answer.Text = channel.Translated(answer.Language, channel.TextDone)
	}
	return answer, false, nil
}

// IsCommand reports whether a message is a command to the bot, which is answered without the model.
func IsCommand(in channel.Inbound) bool {
	return in.Addressed && !in.Bot && channel.IsCommand(in.Text)
}
