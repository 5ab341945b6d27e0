// One question, for scripts: its answer is all that is written to the output.

package terminal

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"

	"cairn/channel"
	"cairn/channel/access"
)

// asker asks one question. Answers to earlier messages, which an interrupted run left, and notices go to err.
type asker struct {
	plain
	question string
	id       string // of the question
	answered bool
	failure  string // the sentence that people read instead of the answer
}

func newAsker(o Options, conversation string, who access.Person) *asker {
	a := &asker{question: o.Question, id: rand.Text(), plain: plain{out: newOutput(o.Out), err: newOutput(o.Err), conversation: conversation, who: who}}
	a.print = func(string) {} // nobody waits for a compaction
	return a
}

func (a *asker) Run(ctx context.Context, bot Bot, log *slog.Logger) error {
	a.client = client{bot, log}
	a.readLanguages(bot)
	return a.out.run(ctx, a.ask)
}

func (a *asker) ask(ctx context.Context) error {
	if err := a.bot.Recover(ctx, func(name string) bool { return name == a.conversation }, a.conversation); err != nil {
		return err
	}
	line, err := parseTyped(a.question)
	if err != nil {
		return err
	}
	if line.quit {
		return nil
	}
	if line.command != "" {
		return a.runCommand(ctx, line.text)
	}
	question := inbound(a.who, line.text)
	question.ID = a.id
	a.waiting.Store(true)
	defer a.waiting.Store(false)
	if err := a.bot.Deliver(ctx, a.conversation, question); err != nil {
		return err
	}
	if err := a.bot.Answered(ctx, a.conversation, a.id); err != nil {
		return err
	}
	if err := a.bot.Settle(ctx); err != nil { // others may have asked the bot that runs here
		return err
	}
	switch {
	case a.failure != "":
		return errors.New(a.failure)
	case !a.answered:
		return errors.New(cmp.Or(a.bot.WhySilent(ctx, a.conversation), "the question was not answered"))
	}
	return nil
}

// runCommand prints what a command says; a refusal is an error, for scripts.
func (a *asker) runCommand(ctx context.Context, text string) error {
	answer, err := a.bot.Command(ctx, a.conversation, a.who, text)
	if err != nil {
		return err
	}
	said := complete(ctx, answer)
	if answer.Refused {
		return errors.New(said)
	}
	return a.out.write(completeLines(said))
}

// Interrupt stops the answer; a second one ends the program.
func (a *asker) Interrupt() bool {
	waited := a.waiting.CompareAndSwap(true, false)
	if waited {
		a.stop()
	}
	return waited
}

func (a *asker) Reply(_ string, to []string) channel.Writer {
	return askerReply{a, slices.Contains(to, a.id)}
}

// askerReply writes an answer when it is complete.
type askerReply struct {
	a       *asker
	answers bool // it answers the question
}

func (r askerReply) Send(ctx context.Context, piece channel.Piece) (string, error) {
	switch {
	case !r.answers || channel.IsNotice(piece):
		r.a.note(piece.Text)
		return piece.Reply, nil
	case piece.Failure:
		r.a.failure = piece.Text
		return piece.Reply, nil
	}
	r.a.answered = true
	return piece.Reply, r.a.out.send(ctx, completeLines(piece.Text))
}

func (askerReply) Show(string) {}
func (askerReply) Cancel()     {}
