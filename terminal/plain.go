// Plain lines, for pipes: a line is a message, and is answered before the next is read.
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
)

// plain writes replies to out and everything else to err. A reply is written
// whole, for what went into a pipe cannot be taken back.
type plain struct {
	spectator
	in           io.Reader
	out          output
	conversation string
	who          channel.Person
	log          *slog.Logger
	disk         disk

	mu  sync.Mutex // guards err, so that lines stay whole
	err io.Writer
}

func (p *plain) run(ctx context.Context, hub *channel.Hub, log *slog.Logger) error {
	p.log = log
	return p.out.run(ctx, func(ctx context.Context) error { return p.talk(ctx, hub) })
}

func (p *plain) talk(ctx context.Context, hub *channel.Hub) error {
	if err := hub.Recover(ctx, func(name string) bool { return name == p.conversation }); err != nil {
		return err
	}
	if err := hub.Idle(ctx, p.conversation); err != nil {
		return err
	}
	for line := range lines(ctx, p.in) {
		if line.err == errTooLong {
			p.note("cairn: " + line.err.Error() + "\n")
			continue
		}
		if line.err != nil {
			return line.err
		}
		typed, err := parseTyped(line.text)
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

// drain returns when all that was asked for is done, tasks included.
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
		answer, _, err := hub.Run(ctx, p.conversation, p.who, line.text)
		if err != nil {
			return undone(ctx, p.log, err)
		}
		return p.out.write(whole(complete(ctx, answer)))
	}
	if err := p.disk.deliver(ctx, hub, p.log, p.conversation, inbound(p.who, line.text)); err != nil {
		return err
	}
	return hub.Idle(ctx, p.conversation)
}

// complete is a command's whole answer, waited for where the answer is what takes long.
func complete(ctx context.Context, answer channel.Answer) string {
	if answer.Then == nil || !answer.Awaited {
		return answer.String()
	}
	return answer.Then(ctx)
}

// inbound makes a message of a line typed now.
func inbound(who channel.Person, text string) channel.Inbound {
	return channel.Inbound{ID: rand.Text(), AuthorID: who.ID, Author: who.Name, Text: text, Time: time.Now(), Addressed: true}
}

// whole is what is Printable of text, with one end of line: what goes into a pipe comes
// to a terminal in the end.
func whole(text string) string { return strings.TrimRight(Printable(text), "\n") + "\n" }

func (p *plain) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = io.WriteString(p.err, whole(text))
}

func (p *plain) reply(string, []string) channel.Writer { return plainReply{p} }

// plainReply writes a reply when it is complete. That a turn failed is no reply: it
// goes where notes go.
type plainReply struct{ p *plain }

func (r plainReply) Show(string) {}

func (r plainReply) Send(ctx context.Context, piece channel.Piece) (string, error) {
	if piece.Failure {
		r.p.note(piece.Text)
		return piece.Reply, nil
	}
	return piece.Reply, r.p.out.send(ctx, whole(piece.Text))
}

func (r plainReply) Cancel() {}
