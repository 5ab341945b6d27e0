// Package command has the slash commands of people: what each does, who may run it, and what it answers. It knows neither
// connectors nor the loop of a conversation: a conversation is an interface.
package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"cairn/channel/sentences"
	"cairn/compactor"
	"cairn/store"
)

// Command is a command for the bot itself, not for the model. Every connector shows it in its own way.
type Command struct {
	Name       string // without the slash: lower case letters
	Help       string // at most 100 characters
	Args       []Arg  // in order; all but the last are single words
	Public     bool   // others may see the answer; otherwise only the person who asked does
	Restricted bool   // only managers may run it, unless the settings say otherwise
	Guarded    bool   // only managers may run it, whatever the settings say
	Urgent     bool   // it runs immediately, even where commands wait for earlier messages to be answered
	Replies    bool   // it replies to a question of the bot, beside whose answer it is written

	opens  bool                   // it needs the engine, so it waits until the conversation is open
	anyone func(args string) bool // the uses that are open to everyone, whatever the settings say; nil: none
	run    func(ctx context.Context, call *Call) (Answer, error)

	suggest func(ctx context.Context, typing Typing) ([]Choice, error) // for the argument that Suggests
}

// Arg is one argument of a command.
type Arg struct {
	Name     string // lower case letters
	Help     string // at most 100 characters
	Required bool
	Number   bool // a whole number, at least 1
	Named    bool // written as name:value, see Named and options, anywhere between the others
	Suggests bool // Command.Suggest can complete it

	Choices []string // its values; nil: any

	is func(ctx context.Context, c *Call, value string) bool // whether a value of a named argument without Choices is valid
}

// Usage returns the command as /help shows it: "compact [focus]".
func (c Command) Usage() string {
	text := c.Name
	for _, a := range c.Args {
		switch {
		case a.Required:
			text += " " + a.Name
		case a.Named:
			text += " [" + a.Name + ":]"
		default:
			text += " [" + a.Name + "]"
		}
	}
	return text
}

// Suggest returns at most 25 completions of what a person has typed of the argument that Suggests.
// It returns none if the command has no such argument.
func (c Command) Suggest(ctx context.Context, typing Typing) ([]Choice, error) {
	if c.suggest == nil {
		return nil, nil
	}
	return c.suggest(ctx, typing)
}

// Typing is what a person has typed of the argument that Suggests, and what there is to suggest.
type Typing struct {
	Text    string
	Records *store.Conversation
	Models  func(ctx context.Context) (Models, error)
}

// maxChoices is the most choices that Discord shows.
const maxChoices = 25

// Parse splits a line into a command and its arguments; ok is false if the line is a message. "/unknown" is one, too: people
// write paths.
func Parse(line string) (c Command, args string, ok bool) {
	name, slash := strings.CutPrefix(strings.TrimSpace(line), "/")
	if end := strings.IndexFunc(name, unicode.IsSpace); end >= 0 {
		name, args = name[:end], strings.TrimSpace(name[end:])
	}
	i := slices.IndexFunc(All, func(c Command) bool { return strings.EqualFold(c.Name, name) })
	if !slash || i < 0 {
		return c, "", false
	}
	return All[i], args, true
}

// Is reports whether a line is a command rather than a message.
func Is(line string) bool {
	_, _, ok := Parse(line)
	_, spoken := Spoken(line)
	return ok && !spoken
}

// Steer is the name of the command whose text is a message for the running answer.
const Steer = "steer"

// Spoken returns the text of a line that is a message for the running answer: where people write it, it is delivered as a message.
func Spoken(line string) (text string, ok bool) {
	c, text, ok := Parse(line)
	return text, ok && c.Name == Steer && text != ""
}

// Find returns the command with a name. Otherwise its error, a sentences.Problem, suggests which one was meant.
func Find(name string) (Command, error) {
	c, _, ok := Parse("/" + name)
	if ok {
		return c, nil
	}
	var names []string
	for _, c := range All {
		names = append(names, c.Name)
	}
	meant := strings.TrimSuffix(strings.TrimPrefix(compactor.DidYouMean(strings.ToLower(name), names), ", did you mean "), "?")
	if meant != "" {
		return Command{}, sentences.NewProblem(fmt.Sprintf("There is no command /%s. Did you mean /%s? /help shows the commands; to send it as text, start with //%s.", name, meant, name))
	}
	return Command{}, sentences.NewProblem(fmt.Sprintf("There is no command /%s. /help shows the commands; to send it as text, start with //%s.", name, name))
}
