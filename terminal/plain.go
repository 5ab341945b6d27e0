// Plain lines, for pipes: each line is a message, and is answered before the next one is read.
package terminal

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"cairn/channel"
	"cairn/internal/platform"
)

// plain writes replies to out and everything else to err. A reply is written when it is complete,
// because output to a pipe cannot be revised.
type plain struct {
	spectator
	in           io.Reader
	out          output
	conversation string
	who          channel.Person
	log          *slog.Logger
	saving       *platform.Incident

	mu  sync.Mutex // guards err, so that lines are not interleaved
	err io.Writer
}

// Run implements mode.
func (p *plain) Run(ctx context.Context, hub *channel.Hub, log *slog.Logger) error {
	p.log, p.saving = log, saving(log)
	return p.out.run(ctx, func(ctx context.Context) error { return p.loop(ctx, hub) })
}

func (p *plain) loop(ctx context.Context, hub *channel.Hub) error {
	if err := hub.Recover(ctx, func(name string) bool { return name == p.conversation }); err != nil {
		return err
	}
	if err := hub.Idle(ctx, p.conversation); err != nil {
		return err
	}
	for line := range Lines(ctx, p.in) {
		if line.Err == ErrTooLong {
			p.note("cairn: " + line.Err.Error() + "\n")
			continue
		}
		if line.Err != nil {
			return line.Err
		}
		typed, err := parseTyped(line.Text)
		if err != nil {
			p.note("cairn: " + err.Error())
			continue
		}
		if typed.quit {
			break
		}
		if err := p.say(ctx, hub, typed); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return drain(ctx, hub, func(name string) bool { return name == p.conversation }, p.note)
}

// drain waits until all requests are done, including tasks.
func drain(ctx context.Context, hub *channel.Hub, match func(conversation string) bool, note func(text string)) error {
	if err := hub.Drain(ctx); err != nil {
		return err
	}
	return hub.Operator().DrainTasks(ctx, match, func(open int) {
		what := "a task"
		if open > 1 {
			what = fmt.Sprintf("%d tasks", open)
		}
		note(fmt.Sprintf("cairn: waiting for %s; Ctrl-C leaves, and the next start goes on\n", what))
	})
}

func (p *plain) say(ctx context.Context, hub *channel.Hub, line typed) error {
	if strings.TrimSpace(line.text) == "" {
		return nil
	}
	if line.command != "" {
		answer, err := command(ctx, hub, p.log, p.conversation, p.who, line.text)
		if err != nil {
			return err
		}
		return p.out.write(completeLines(complete(ctx, answer)))
	}
	if err := deliver(ctx, hub, p.saving, p.conversation, inbound(p.who, line.text)); err != nil {
		return err
	}
	if why := hub.Operator().WhySilent(ctx, p.conversation); why != "" {
		p.note(why)
	}
	return hub.Idle(ctx, p.conversation)
}

// complete returns the whole output of a command, and waits for a slow one if the output is
// awaited.
func complete(ctx context.Context, answer channel.Answer) string {
	if answer.Then == nil || !answer.Awaited {
		return answer.String()
	}
	return answer.Then(ctx)
}

// inbound returns a message for a line that was just typed.
func inbound(who channel.Person, text string) channel.Inbound {
	return channel.Inbound{ID: rand.Text(), AuthorID: who.ID, Author: who.Name, Text: text, Time: time.Now(), Addressed: true}
}

// completeLines returns the Printable part of text with exactly one final newline: the output of a
// pipe may end at a terminal.
func completeLines(text string) string { return strings.TrimRight(Printable(text), "\n") + "\n" }

func (p *plain) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = io.WriteString(p.err, completeLines(text))
}

// Attended returns false: the next line is read only after the reply.
func (p *plain) Attended(string) bool { return false }

// Reply implements mode.
func (p *plain) Reply(string, []string) channel.Writer { return plainReply{p} }

// plainReply writes a reply when it is complete. The report of a failed turn is not a reply: it is
// printed as a note.
type plainReply struct{ p *plain }

func (r plainReply) Show(string) {}

func (r plainReply) Send(ctx context.Context, piece channel.Piece) (string, error) {
	if piece.Failure {
		r.p.note(piece.Text)
		return piece.Reply, nil
	}
	return piece.Reply, r.p.out.send(ctx, completeLines(piece.Text))
}

func (r plainReply) Cancel() {}
