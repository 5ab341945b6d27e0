// Package terminal is the local connector: a person at a keyboard, a pipe, or a
// program that speaks JSON Lines.
package terminal

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"cairn/channel"
)

// Name is the first part of the names of the terminal's conversations.
const Name = "terminal"

const prefix = Name + ":"

// Options say who talks where, and through what.
type Options struct {
	In       io.Reader
	Out, Err io.Writer
	Channel  string // a conversation's short name: "general"
	User     string // who speaks, as people see it
	JSON     bool   // lines of JSON in and out
	History  string // file the typed lines are kept in; empty: they are forgotten
	NoColor  bool   // no dim text, even on a terminal
}

// Terminal is the connector. It has three faces: a line editor where input and output
// are terminals, plain lines where they are not, and JSON Lines.
type Terminal struct {
	face
}

// face is what the three ways of talking have in common.
type face interface {
	channel.Observer
	channel.TaskObserver
	run(ctx context.Context, hub *channel.Hub, log *slog.Logger) error
	reply(conversation string, to []string) channel.Writer
	note(text string)
}

var (
	_ channel.Connector     = (*Terminal)(nil)
	_ channel.Observer      = (*Terminal)(nil)
	_ channel.TaskObserver  = (*Terminal)(nil)
	_ channel.UsageObserver = (*Terminal)(nil)
)

// New returns the connector that o describes. It starts nothing. The error says which
// name cannot be used.
func New(o Options) (*Terminal, error) {
	conversation, err := Conversation(o.Channel)
	if err != nil {
		return nil, err
	}
	if err := checkName("user", o.User); err != nil {
		return nil, err
	}
	if o.JSON {
		return &Terminal{newProtocol(o)}, nil
	}
	who := channel.Person{ID: o.User, Name: o.User, Manager: true}
	if in, out, ok := terminals(o); ok {
		return &Terminal{newEditor(o, in, out, conversation, who)}, nil
	}
	p := &plain{in: o.In, out: output{w: o.Out}, err: o.Err, conversation: conversation, who: who}
	p.spectator = spectator{p.note}
	return &Terminal{p}, nil
}

// terminals reports whether a person sits at both ends, at a terminal that can
// move its cursor.
func terminals(o Options) (in, out *os.File, ok bool) {
	in, inOK := o.In.(*os.File)
	out, outOK := o.Out.(*os.File)
	ok = inOK && outOK && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd())) && os.Getenv("TERM") != "dumb"
	return in, out, ok
}

// Attended reports whether a person can answer a question before the reply: in a pipe the next
// line is read after it, and behind the end of the input there is none.
func (t *Terminal) Attended(string) bool {
	switch f := t.face.(type) {
	case *plain:
		return false
	case *protocol:
		return !f.ended.Load()
	}
	return true
}

// Used reports the usage of a request to programs; people run /usage.
func (t *Terminal) Used(conversation, kind, model string, e channel.Expense) {
	if p, ok := t.face.(*protocol); ok {
		p.Used(conversation, kind, model, e)
	}
}

// Run talks until the input ends, then waits for what still runs, and returns
// nil; or until ctx is done, and returns its error: what was accepted is on disk by
// then, and is answered at the next start. Output that cannot be written ends it like
// ctx, except where a person sits at a terminal. What people are spared goes to log.
func (t *Terminal) Run(ctx context.Context, hub *channel.Hub, log *slog.Logger) error {
	return t.run(ctx, hub, log)
}

// Name is "terminal".
func (t *Terminal) Name() string { return Name }

// Split leaves a reply whole: a terminal takes any length.
func (t *Terminal) Split(text string) []string { return []string{text} }

// Reply opens the writer of one reply.
func (t *Terminal) Reply(conversation string, to []string) channel.Writer {
	return t.reply(conversation, to)
}

// Notes returns where lines for the operator, as the log's, go: to Err, past the
// line that is being typed.
func (t *Terminal) Notes() io.Writer { return notes{t.face} }

type notes struct{ face }

func (n notes) Write(p []byte) (int, error) {
	n.note(string(p))
	return len(p), nil
}

// Conversation returns the full name of the conversation people here call name.
// The full name itself is taken too.
func Conversation(name string) (string, error) {
	short := strings.TrimPrefix(name, prefix)
	if err := checkName("channel", short); err != nil {
		return "", err
	}
	return prefix + short, nil
}

// maxName bounds the names of channels and users, in bytes.
const maxName = 100

func checkName(what, name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return fmt.Errorf("the name of the %s is empty", what)
	case len(name) > maxName:
		return fmt.Errorf("the name of the %s has more than %d bytes", what, maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("the name of the %s %q has characters that cannot be shown", what, name)
	}
	return nil
}
