package command

import (
	"context"
	"fmt"
	"log/slog"

	"cairn/channel/access"
	"cairn/channel/sentences"
	"cairn/store"
)

// Call is a command that a person runs in a conversation.
type Call struct {
	Command Command
	Args    string // "" if there are none
	Who     access.Person

	Records      *store.Conversation
	Rules        *access.Rules
	Speaker      sentences.Speaker // of the conversation
	Conversation Conversation      // what else the command reads and changes
	Log          *slog.Logger
}

// Run runs the command. A refusal is an answer, too. An error says that the command failed, for the log.
func (c *Call) Run(ctx context.Context) (Answer, error) {
	answer, err := c.run(ctx)
	if p, ok := sentences.ProblemOf(err); ok {
		answer = Answer{Text: p.Text, Private: p.Private, Refused: true, Setting: p.Setting}
		err = nil
	}
	answer = c.translated(answer)
	if then := answer.Then; then != nil {
		answer.Then = func(ctx context.Context) Answer { return c.translated(then(ctx)) }
	}
	return answer, err
}

func (c *Call) translated(a Answer) Answer {
	a.Text = c.Speaker.Translate(a.Text)
	for i, b := range a.Buttons {
		a.Buttons[i].Label = c.Speaker.Translate(b.Label)
	}
	return a
}

func (c *Call) run(ctx context.Context) (Answer, error) {
	command := c.Command
	switch {
	case !c.mayRun(command) && (command.anyone == nil || !command.anyone(c.Args)):
		return Answer{}, denial(c.Speaker.Say(fmt.Sprintf("/%s is only for people who manage this place. Ask one of them.", command.Name)))
	case c.Args != "" && len(command.Args) == 0:
		return Answer{}, denial(c.Speaker.Say(fmt.Sprintf("/%s takes no arguments.", command.Name)))
	}
	if command.opens {
		rules, speaker, err := c.Conversation.Opened(ctx)
		if err != nil {
			return Answer{}, err
		}
		c.Rules = rules
		c.Speaker = speaker
	}
	return command.run(ctx, c)
}

// mayRun reports whether the person may run a command here.
func (c *Call) mayRun(command Command) bool {
	return MayRun(c.Rules, c.Records.Name(), c.Who, command)
}

// IsForManagers reports whether only managers may run a command, in all its uses.
func (c Command) IsForManagers(rules *access.Rules) bool {
	return (c.Guarded || rules.Restricts(c.Name, c.Restricted)) && c.anyone == nil
}

// MayRun reports whether a person may run a command in a conversation, apart from its uses that are open to everyone.
func MayRun(rules *access.Rules, conversation string, who access.Person, command Command) bool {
	restricted := command.Guarded || rules.Restricts(command.Name, command.Restricted)
	return !restricted || rules.Manages(conversation, who)
}

// denial returns a problem that only that person needs to see.
func denial(text string) error { return sentences.Problem{Text: text, Private: true} }
