// Plain lines, for pipes: each line is a message, and is answered before the next one is read.

package terminal

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/channel/sentences"
)

// plain writes replies to out and everything else to err. A reply is written when it is complete,
// because output to a pipe cannot be revised.
type plain struct {
	spectator
	client       // set by Run
	in           io.Reader
	out, err     *output
	conversation string
	who          access.Person
	prompt       string      // before each line, at a terminal that cannot move its cursor; else empty
	waiting      atomic.Bool // for an answer, which Ctrl-C stops
}

func (p *plain) Run(ctx context.Context, bot Bot, log *slog.Logger) error {
	p.client = client{bot, log}
	p.readLanguages(bot)
	return p.out.run(ctx, p.loop)
}

func (p *plain) loop(ctx context.Context) error {
	isCurrent := func(name string) bool { return name == p.conversation }
	if p.prompt != "" {
		p.note(p.headline(ctx, p.conversation, p.language(p.conversation)))
	}
	if err := p.bot.Recover(ctx, isCurrent, p.conversation); err != nil {
		return err
	}
	_ = p.out.write(p.prompt) // a failed write ends the run, see output
	for line := range Lines(ctx, p.in) {
		if line.Err != nil && line.Err != ErrTooLong {
			return line.Err
		}
		typed, err := parseTyped(line.Text)
		err = cmp.Or(line.Err, err)
		if err != nil {
			p.note("cairn: " + p.says(err.Error()))
		} else if typed.quit {
			break
		} else if err := p.say(ctx, typed); err != nil {
			return err
		}
		_ = p.out.write(p.prompt)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return p.drain(ctx, isCurrent, p.language(p.conversation), p.note)
}

func (p *plain) say(ctx context.Context, line typed) error {
	if strings.TrimSpace(line.text) == "" {
		return nil
	}
	if line.command != "" {
		answer, err := p.bot.Command(ctx, p.conversation, p.who, line.text)
		if err != nil {
			return err
		}
		return p.out.write(completeLines(complete(ctx, answer)))
	}
	p.waiting.Store(true)
	defer p.waiting.Store(false)
	message := inbound(p.who, line.text)
	if err := p.bot.Deliver(ctx, p.conversation, message); err != nil {
		return err
	}
	if why := p.bot.WhySilent(ctx, p.conversation); why != "" {
		p.note(why)
	}
	return p.bot.Answered(ctx, p.conversation, message.ID)
}

// Interrupt stops the answer that a person waits for.
func (p *plain) Interrupt() bool {
	if p.prompt == "" || !p.waiting.CompareAndSwap(true, false) {
		return false
	}
	p.stop()
	return true
}

func (p *plain) Talks(conversation string) bool { return conversation == p.conversation }

// Follows returns false for a pipe: what others say is no output of its lines.
func (p *plain) Follows(conversation string) bool {
	return p.prompt != "" && conversation == p.conversation
}

// stop stops the running turn, beside the loop, which waits for it.
func (p *plain) stop() {
	go func() {
		if _, err := p.bot.Command(context.Background(), p.conversation, p.who, "/stop"); err != nil {
			p.note("cairn: " + p.says(err.Error()))
		}
	}()
}

// complete returns the full output of a command, and waits for a slow one if the output is awaited.
func complete(ctx context.Context, answer command.Answer) string {
	if answer.Then == nil || !answer.Awaited {
		return answer.String()
	}
	return answer.Then(ctx).String()
}

// inbound returns a message for a line that was just typed.
func inbound(who access.Person, text string) channel.Inbound {
	return channel.Inbound{ID: rand.Text(), AuthorID: who.ID, Author: who.Name, Text: text, Time: time.Now(), Addressed: true}
}

// completeLines returns the Printable part of text with exactly one final newline: the output of a
// pipe may end at a terminal.
func completeLines(text string) string { return strings.TrimRight(Printable(text), "\n") + "\n" }

func (p *plain) note(text string) { _ = p.err.write(completeLines(text)) }

func (p *plain) attends() string { return "" }

func (p *plain) tell(text string) {
	if p.prompt != "" {
		p.note("cairn: " + p.says(text))
	}
}

// Attended returns false: the next line is read only after the reply.
func (p *plain) Attended(string) bool { return false }

func (p *plain) Reply(string, []string) channel.Writer { return plainReply{p} }

// plainReply writes a reply when it is complete. The report of a failed turn is not a reply: it is printed as a note.
type plainReply struct{ p *plain }

func (r plainReply) Send(ctx context.Context, piece channel.Piece) (string, error) {
	if piece.Failure {
		r.p.note(piece.Text)
		return piece.Reply, nil
	}
	return piece.Reply, r.p.out.send(ctx, completeLines(piece.Text))
}

func (plainReply) Show(string) {}
func (plainReply) Cancel()     {}

// says translates a sentence into the conversation's language.
func (p *plain) says(text string) string {
	return sentences.In(p.language(p.conversation)).Translate(text)
}
