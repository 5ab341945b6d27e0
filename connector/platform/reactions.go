// Reactions as input: people run commands by putting certain emoji on messages.

package platform

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/chat"
)

// Reaction is an emoji by which people run a command.
type Reaction struct {
	Command string // its name, and that of the reaction in the settings
	Emoji   string // in Unicode
	Name    string // as Slack names it
}

// Reactions are the emoji that may count.
var Reactions = []Reaction{
	{"stop", "🛑", "octagonal_sign"},
	{"pin", "📌", "pushpin"},
	{"remember", "🧠", "brain"},
}

// FindReaction returns the reaction that is, if it is among those that count.
func FindReaction(counts []string, is func(Reaction) bool) (found Reaction, ok bool) {
	i := slices.IndexFunc(Reactions, func(r Reaction) bool { return slices.Contains(counts, r.Command) && is(r) })
	if i < 0 {
		return found, false
	}
	return Reactions[i], true
}

// Reacted is a reaction that a person has put on a message.
type Reacted struct {
	Reaction
	Conversation string // where people see the message
	Message      string // its platform id
	Author       string // its author's
	Person       access.Person
}

// key identifies a reaction: a person who takes it back and repeats it gets nothing new. It does not name the person, because it stays.
func (r Reacted) key() string {
	return fmt.Sprintf("react:%s:%.8x", r.Message, sha256.Sum256([]byte(r.Person.ID+":"+r.Name)))
}

// concerns reports whether the reaction can be meant for the bot: a 🛑 on what somebody else says is none of its business.
func (r Reacted) concerns(bot string) bool {
	return r.Command != "stop" || r.Author == bot || r.Author == r.Person.ID
}

// RunReaction runs the command of a reaction, once, with the rights of the person, like the entry in the message's menu, and calls done then:
// after a crash before that, it may be called again. If something was kept, mark shows that on the message. tell tells the person why
// nothing was done; nil: nobody does.
func (b *Base) RunReaction(ctx context.Context, r Reacted, bot string, done func(), mark func(ctx context.Context) error, tell func(ctx context.Context, text string) error) error {
	answer, ignored, err := b.runReaction(ctx, r, bot)
	if ctx.Err() == nil { // otherwise the platform should repeat it
		done()
	}
	switch {
	case ignored != "":
		b.Log.Debug("reaction_ignored", "conversation", r.Conversation, "command", r.Command, "why", ignored)
		return err
	case err == nil && !answer.Refused && r.Command != "stop":
		return mark(ctx)
	case err == nil && !answer.Refused:
		return nil
	case tell == nil:
		b.Log.Debug("reaction_ignored", "conversation", r.Conversation, "command", r.Command, "why", "it was refused")
		return err
	}
	return errors.Join(err, tell(ctx, answer.Fenced().String()))
}

// runReaction runs the command of a reaction, unless it is ignored for a reason.
func (b *Base) runReaction(ctx context.Context, r Reacted, bot string) (answer command.Answer, ignored string, err error) {
	if !r.concerns(bot) {
		return answer, "it is on what somebody else says", nil
	}
	holder, err := channel.Holder(ctx, b.Hub, r.Conversation, r.Message)
	if err != nil {
		return answer, "", err
	}
	conversation := r.Conversation
	line := "/" + r.Command
	if i := slices.IndexFunc(command.Menu, func(a command.Action) bool { return a.Command == r.Command }); i >= 0 {
		conversation = holder
		line = command.Menu[i].Line(r.Message, "")
	} else if answered, err := channel.IsAnswered(ctx, b.Hub, holder, r.Message); err != nil || answered { // what runs is another answer
		return answer, "there is nothing to stop any more", err
	}
	if chat.ParsePlace(r.Conversation).Direct() {
		r.Person.Manager = true
	}
	first, err := channel.Once(ctx, b.Hub, conversation, r.key(), func() (err error) {
		answer, _, err = b.Hub.Run(ctx, conversation, r.Person, line)
		if errors.Is(err, channel.ErrRefused) {
			ignored = "the person is not heard there"
			return nil
		}
		return err
	})
	if !first && err == nil {
		ignored = "it counts once, where the bot has messages"
	}
	return answer, ignored, err
}
