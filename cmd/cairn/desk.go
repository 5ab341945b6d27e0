// The bot at a terminal: the one that another process runs or, if there is none, this process becomes the bot. If it ends, the terminal
// goes on with the next one.

package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/connector/terminal"
	"cairn/store"
	"cairn/web"
)

// desk is the bot for a terminal. It implements terminal.Bot. It is safe for concurrent use.
type desk struct {
	app        *app
	connector  *terminal.Terminal
	log        *slog.Logger
	opened     func(ctx context.Context, b *bot) // called with a bot that this process runs
	attachment *web.Attachment

	ctx  context.Context // of the run
	end  context.CancelCauseFunc
	turn chan struct{} // holds one value; who takes it may use what follows, and puts it back

	now    terminal.Bot                   // nil: none yet, or it was lost
	guest  *web.Attached                  // now, if another process runs the bot
	host   *bot                           // nil: this process does not run the bot
	left   func(conversation string) bool // in which messages of earlier processes are answered; nil: in none yet
	before bool                           // a bot was lost
	ended  chan struct{}                  // closed when nothing watches the bot any more; nil: nothing has
}

var _ terminal.Bot = (*desk)(nil)

// How long a terminal looks for a bot: at its start another process may just start one, and after one was lost another terminal may.
const (
	startPatience = 5 * time.Second
	lostPatience  = 30 * time.Second
)

// talk runs a terminal with the bot that runs already, or becomes the bot.
func (a *app) talk(ctx context.Context, connector *terminal.Terminal, log *slog.Logger, opened func(ctx context.Context, b *bot)) (err error) {
	d := &desk{
		app: a, connector: connector, log: log, opened: opened, turn: make(chan struct{}, 1),
		attachment: web.NewAttachment(connector, connector.Attends()),
	}
	d.ctx, d.end = context.WithCancelCause(ctx)
	d.turn <- struct{}{}
	defer func() { err = errors.Join(err, d.close()) }()
	if _, err := d.bot(d.ctx); err != nil {
		return err
	}
	err = connector.Run(d.ctx, d, log)
	if d.ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return context.Cause(d.ctx)
	}
	return err
}

// bot returns the bot, and finds one first if it was lost.
func (d *desk) bot(ctx context.Context) (terminal.Bot, error) {
	select {
	case <-d.turn:
		defer func() { d.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if d.now != nil {
		return d.now, nil
	}
	late := time.Now().Add(startPatience)
	if d.before {
		late = time.Now().Add(lostPatience)
	}
	for {
		err := d.find(ctx)
		starting := errors.Is(err, store.ErrInUse) || errors.Is(err, web.ErrLost)
		if err == nil || !starting || time.Now().After(late) || ctx.Err() != nil {
			return d.now, err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// find connects to a running bot, or starts one.
func (d *desk) find(ctx context.Context) error {
	remote, err := d.app.findRunning(ctx)
	if err != nil {
		return err
	}
	if remote == nil {
		return d.become()
	}
	d.guest, err = d.attachment.Connect(d.ctx, web.Client{Transport: remote.transport, Base: remote.base, Token: remote.token})
	if err != nil {
		return err
	}
	d.now = d.guest
	if d.before {
		d.connector.Moved(false)
	}
	d.watch(d.guest)
	return nil
}

// become makes this process the bot.
func (d *desk) become() error {
	if err := d.app.openWeb(d.connector, d.attachment); err != nil {
		return err
	}
	terminals := d.app.webSide.terminals
	ctx, b, err := d.app.start(d.ctx, d.log, withoutTurnLimit, terminals)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { d.end(context.Cause(ctx)) })
	d.host = b
	here := &hosted{Bot: terminal.Here(b.hub, d.log), terminals: terminals}
	d.opened(ctx, b)
	server := b.newWeb(b.newHealth(ctx, nil))
	if d.before {
		d.connector.Moved(true)
		d.attachment.TakeOver(ctx, server.Client(), func(conversation string, m channel.Inbound) {
			if err := here.Deliver(ctx, conversation, m); err != nil {
				d.log.Warn("deliver_again_failed", "conversation", conversation, "error", err)
			}
		})
	}
	d.now = here
	b.serveBeside(server)
	if d.left != nil {
		return b.hub.Recover(ctx, d.left)
	}
	return nil
}

// watch looks for another bot when a connection is lost, though the terminal may ask nothing.
func (d *desk) watch(guest *web.Attached) {
	before := d.ended
	d.ended = make(chan struct{})
	go func(ended chan struct{}) {
		defer close(ended)
		if before != nil {
			<-before
		}
		<-guest.Done()
		d.lost(guest)
		if d.ctx.Err() != nil {
			return
		}
		if _, err := d.bot(d.ctx); err != nil && d.ctx.Err() == nil {
			d.end(err)
		}
	}(d.ended)
}

// lost notes that a bot cannot be used any more.
func (d *desk) lost(guest *web.Attached) {
	guest.Close()
	<-d.turn
	defer func() { d.turn <- struct{}{} }()
	if d.guest == guest {
		d.guest = nil
		d.now = nil
		d.before = true
	}
}

// do calls a function with the bot, and again with the next one if that is lost before it has an answer.
func (d *desk) do(ctx context.Context, call func(terminal.Bot) error) error {
	for {
		now, err := d.bot(ctx)
		if err != nil {
			return err
		}
		err = call(now)
		guest, remote := now.(*web.Attached)
		if !remote || !errors.Is(err, web.ErrLost) {
			return err
		}
		d.lost(guest)
	}
}

func (d *desk) close() error {
	d.end(nil)
	<-d.turn
	ended := d.ended
	d.turn <- struct{}{}
	if ended != nil {
		<-ended
	}
	<-d.turn // for good
	if d.guest != nil {
		d.guest.Close()
	}
	if d.host != nil {
		return d.host.close()
	}
	return nil
}

// hosted is the bot of this process, which other terminals may use, too.
type hosted struct {
	terminal.Bot
	terminals *web.Terminals
}

func (h *hosted) Deliver(ctx context.Context, conversation string, m channel.Inbound) error {
	h.terminals.Asks(conversation, m.ID)
	return h.Bot.Deliver(ctx, conversation, m)
}

func (h *hosted) Command(ctx context.Context, conversation string, who access.Person, line string) (command.Answer, error) {
	h.terminals.Said(conversation)
	return h.Bot.Command(ctx, conversation, who, line)
}

// What a terminal asks of the bot.

func (d *desk) Model(ctx context.Context, conversation string) (name string, window int) {
	_ = d.do(ctx, func(b terminal.Bot) error {
		name, window = b.Model(ctx, conversation)
		return nil
	})
	return name, window
}

func (d *desk) Language(conversation string) string {
	select {
	case <-d.turn:
	default: // the bot is being looked for
		return channel.DefaultLanguage
	}
	now := d.now
	d.turn <- struct{}{}
	if now == nil {
		return channel.DefaultLanguage
	}
	return now.Language(conversation)
}

func (d *desk) Recover(ctx context.Context, match func(conversation string) bool, idle string) error {
	<-d.turn
	d.left = match
	d.turn <- struct{}{}
	return d.do(ctx, func(b terminal.Bot) error { return b.Recover(ctx, match, idle) })
}

func (d *desk) Unanswered(ctx context.Context, conversation string) (texts []string, err error) {
	err = d.do(ctx, func(b terminal.Bot) (err error) {
		texts, err = b.Unanswered(ctx, conversation)
		return err
	})
	return texts, err
}

func (d *desk) Deliver(ctx context.Context, conversation string, m channel.Inbound) error {
	return d.do(ctx, func(b terminal.Bot) error { return b.Deliver(ctx, conversation, m) })
}

func (d *desk) Command(ctx context.Context, conversation string, who access.Person, line string) (answer command.Answer, err error) {
	err = d.do(ctx, func(b terminal.Bot) (err error) {
		answer, err = b.Command(ctx, conversation, who, line)
		return err
	})
	return answer, err
}

func (d *desk) Answered(ctx context.Context, conversation, id string) error {
	return d.do(ctx, func(b terminal.Bot) error { return b.Answered(ctx, conversation, id) })
}

func (d *desk) Idle(ctx context.Context, conversation string) error {
	return d.do(ctx, func(b terminal.Bot) error { return b.Idle(ctx, conversation) })
}

func (d *desk) WhySilent(ctx context.Context, conversation string) (why string) {
	_ = d.do(ctx, func(b terminal.Bot) error {
		why = b.WhySilent(ctx, conversation)
		return nil
	})
	return why
}

func (d *desk) Approval(ctx context.Context, conversation string) (code string) {
	_ = d.do(ctx, func(b terminal.Bot) error {
		code = b.Approval(ctx, conversation)
		return nil
	})
	return code
}

func (d *desk) Status(ctx context.Context, conversation string) (status terminal.Status, err error) {
	err = d.do(ctx, func(b terminal.Bot) (err error) {
		status, err = b.Status(ctx, conversation)
		return err
	})
	return status, err
}

func (d *desk) Drain(ctx context.Context, match func(conversation string) bool, waits func(open int)) error {
	return d.do(ctx, func(b terminal.Bot) error { return b.Drain(ctx, match, waits) })
}

func (d *desk) Settle(ctx context.Context) error {
	return d.do(ctx, func(b terminal.Bot) error { return b.Settle(ctx) })
}
