// Package terminal is the local connector: a person at a keyboard, a pipe, or a program that speaks JSON Lines.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/connector/platform"
)

// Name is the connector's name, the first part of its conversations' names.
const Name = "terminal"

const prefix = Name + ":"

// Options configures a Terminal.
type Options struct {
	In       io.Reader
	Out, Err io.Writer
	Channel  string // a conversation's short name: "general"
	User     string // name of the person who talks
	JSON     bool   // JSON Lines for input and output
	Deltas   bool   // with JSON: answers are also written while they are made
	Plain    bool   // no line editor, colour or movement of the cursor, even at a terminal
	Question string // the only message; nothing is read from In
	History  string // file of the typed lines; empty: they are not stored

	Files func() (platform.Files, error) // reads files that are named with @ at the line editor; nil: none are
}

// Terminal is the connector. It has four modes: a line editor if input and output are terminals,
// plain lines if they are not, JSON Lines, and one question.
type Terminal struct{ mode }

type mode interface {
	channel.Observer
	channel.Attended
	// Run handles the input until its end, waits for everything that is still running, and returns nil.
	// If ctx ends first, it returns ctx's error: accepted messages are on disk and are answered at the
	// next start. A failed write of the output ends it in the same way, except at a person's terminal.
	// Details that people should not see go to log.
	Run(ctx context.Context, bot Bot, log *slog.Logger) error
	Reply(conversation string, to []string) channel.Writer
	// Talks reports whether a conversation is one of this terminal's.
	Talks(conversation string) bool
	// Follows reports whether it shows also what other terminals cause in a conversation.
	Follows(conversation string) bool
	// Interrupt reports whether a SIGINT meant an answer, which it stops, and not the program.
	Interrupt() bool
	attends() string
	tell(text string) // a person, in the language of the conversation; nobody else
	note(text string)
}

var (
	_ channel.Connector = (*Terminal)(nil)
	_ channel.Observer  = (*Terminal)(nil)
	_ channel.Attended  = (*Terminal)(nil)
)

// New returns the connector and starts nothing. It returns an error if the name of the channel or
// the user is invalid.
func New(o Options) (*Terminal, error) {
	conversation, err := Conversation(o.Channel)
	if err != nil {
		return nil, err
	}
	if err := checkUser(o.User); err != nil {
		return nil, err
	}
	if o.JSON {
		return &Terminal{newProtocol(o)}, nil
	}
	who := access.Person{ID: o.User, Name: o.User, Manager: true}
	if o.Question != "" {
		return &Terminal{newAsker(o, conversation, who)}, nil
	}
	in, inOK := o.In.(*os.File)
	out, outOK := o.Out.(*os.File)
	attended := inOK && outOK && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
	if attended && !o.Plain {
		return &Terminal{newEditor(o, in, out, conversation, who)}, nil
	}
	p := &plain{in: o.In, out: newOutput(o.Out), err: newOutput(o.Err), conversation: conversation, who: who}
	if attended {
		p.prompt = "> "
	}
	p.print = p.note
	return &Terminal{p}, nil
}

func (t *Terminal) Name() string { return Name }

// Split returns the reply in one piece: a terminal has no length limit.
func (t *Terminal) Split(text string) []string { return []string{text} }

// Moved tells a person that another process runs the bot now: this one, or not.
func (t *Terminal) Moved(here bool) {
	text := "the bot has ended where it ran; it goes on in another process"
	if here {
		text = "the bot has ended where it ran; it goes on here"
	}
	t.tell(text)
}

// Attends returns the conversations in which somebody answers questions: one, or "terminal:" for all; "": none.
func (t *Terminal) Attends() string { return t.attends() }

// Notes returns a writer for lines to the operator, such as the log's: it writes to Err without
// breaking the line that is being typed.
func (t *Terminal) Notes() io.Writer { return notes{t.mode} }

type notes struct{ mode }

func (n notes) Write(p []byte) (int, error) {
	n.note(string(p))
	return len(p), nil
}

// Conversation returns the full name of the conversation with this short or full name.
func Conversation(name string) (string, error) {
	short := strings.TrimPrefix(name, prefix)
	if err := checkName("the name of the channel", short); err != nil {
		return "", err
	}
	return prefix + short, nil
}

// maxName limits the names of channels and users, and ids, in bytes.
const maxName = 100

func checkName(what, name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return fmt.Errorf("%s is empty", what)
	case len(name) > maxName:
		return fmt.Errorf("%s has more than %d bytes", what, maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("%s %q has characters that cannot be shown", what, name)
	}
	return nil
}

func checkUser(name string) error {
	if strings.HasPrefix(name, "task:") { // as the authors of tasks' results do
		return errors.New(`the name of the user must not begin with "task:"`)
	}
	return checkName("the name of the user", name)
}
