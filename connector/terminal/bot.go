// What the modes ask of the bot, which runs in this process or in another one.

package terminal

import (
	"context"
	"errors"
	"log/slog"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/channel/sentences"
	"cairn/internal/observe"
)

// Bot is the bot that answers at a terminal. Errors are for people, sentences without internals, unless the context's.
type Bot interface {
	// Model returns the name of the model that answers in a conversation, and its window in tokens. It may ask the model's server.
	Model(ctx context.Context, conversation string) (name string, window int)
	// Language returns the language of a conversation, without waiting.
	Language(conversation string) string
	// Recover continues what an earlier process left in the conversations that match, and then returns once the conversation idle is
	// idle; "": it does not wait.
	Recover(ctx context.Context, match func(conversation string) bool, idle string) error
	// Unanswered returns the texts of the messages that wait for an answer, oldest first.
	Unanswered(ctx context.Context, conversation string) ([]string, error)

	// Deliver passes on a message: without an error it is on disk.
	Deliver(ctx context.Context, conversation string, m channel.Inbound) error
	// Command runs a command.
	Command(ctx context.Context, conversation string, who access.Person, line string) (command.Answer, error)
	// Answered returns once a message, by its id, is answered or will not be, and what people read of that was shown.
	Answered(ctx context.Context, conversation, id string) error
	// Idle returns once everything delivered to a conversation so far is answered, and the replies were shown.
	Idle(ctx context.Context, conversation string) error
	// WhySilent tells people why the bot does not answer; "" if it does.
	WhySilent(ctx context.Context, conversation string) string
	// Approval returns the code of the call that waits for permission; "": none does.
	Approval(ctx context.Context, conversation string) string
	// Status returns what the bot does in a conversation, and with what. After an error, Doing may still be known.
	Status(ctx context.Context, conversation string) (Status, error)

	// Drain returns once everything that was requested in the conversations that match is done, tasks included. waits is called with
	// the number of open tasks, if there are any.
	Drain(ctx context.Context, match func(conversation string) bool, waits func(open int)) error
	// Settle returns once the terminal may end: the answer that is being written is complete, or is written without it.
	Settle(ctx context.Context) error
}

// Status is what the bot does in a conversation.
type Status struct {
	Doing   string  // in English; "": nobody can know
	Model   string  // that answers
	UsedPct float64 // of its window
}

// ErrNoFiles says that another process runs the bot, to which a terminal cannot send files.
var ErrNoFiles error = sentences.Problem{Text: "Files can be attached only where cairn chat runs the bot itself. Send this one on the dashboard."}

// What terminals say of a bot that ended, in English; sentences.In translates it.
const (
	TextLostCommand = "The bot ended while it worked on that. Look whether it was done." // of a command whose outcome is not known
	TextLostReason  = "There is no answer, and the bot ended before it could say why. Ask again."
)

// Here returns the bot that runs in this process.
func Here(hub *channel.Hub, log *slog.Logger) Bot {
	return &here{hub, log, new(observe.Incident)}
}

type here struct {
	hub    *channel.Hub
	log    *slog.Logger
	saving *observe.Incident // messages cannot be saved; every sender gets an error
}

func (h *here) Model(ctx context.Context, conversation string) (name string, window int) {
	name, is := channel.ModelIn(ctx, h.hub, conversation)
	return name, is.Tokens
}

func (h *here) Language(conversation string) string { return channel.SpokenIn(h.hub, conversation) }

func (h *here) Recover(ctx context.Context, match func(conversation string) bool, idle string) error {
	err := h.hub.Recover(ctx, match)
	if err != nil || idle == "" {
		return err
	}
	return h.hub.Idle(ctx, idle)
}

func (h *here) Unanswered(ctx context.Context, conversation string) ([]string, error) {
	return channel.Unanswered(ctx, h.hub, conversation)
}

func (h *here) Deliver(ctx context.Context, conversation string, m channel.Inbound) error {
	_, err := h.hub.Deliver(ctx, conversation, m)
	switch {
	case err == nil:
		if h.saving.End() {
			h.log.Info("writes_recovered")
		}
		return nil
	case ctx.Err() != nil, errors.Is(err, channel.ErrClosed):
		return err
	}
	h.log.Log(ctx, h.saving.Begin(), "save_message_failed", "error", err)
	return errors.New(h.hub.Operator().Refusal(conversation, err))
}

func (h *here) Command(ctx context.Context, conversation string, who access.Person, line string) (command.Answer, error) {
	answer, _, err := h.hub.Run(ctx, conversation, who, line)
	if err == nil || ctx.Err() != nil {
		return answer, err
	}
	h.log.Error("command_failed", "error", err)
	return answer, errors.New(answer.Text)
}

func (h *here) Answered(ctx context.Context, conversation, id string) error {
	return channel.AwaitAnswer(ctx, h.hub, conversation, id)
}

func (h *here) Idle(ctx context.Context, conversation string) error {
	return h.hub.Idle(ctx, conversation)
}

func (h *here) WhySilent(ctx context.Context, conversation string) string {
	return h.hub.Operator().WhySilent(ctx, conversation)
}

func (h *here) Approval(_ context.Context, conversation string) string {
	if all := h.hub.Operator().Approvals(conversation); len(all) > 0 {
		return all[0].Code
	}
	return ""
}

func (h *here) Status(ctx context.Context, conversation string) (Status, error) {
	now, err := h.hub.Operator().Context(ctx, conversation)
	status := Status{Doing: channel.DoingIn(h.hub, conversation), Model: now.Model, UsedPct: now.UsedPct}
	if now.Fallback != nil {
		status.Model = now.Fallback.Model
	}
	return status, err
}

func (h *here) Drain(ctx context.Context, match func(conversation string) bool, waits func(open int)) error {
	if err := h.hub.Drain(ctx); err != nil {
		return err
	}
	return h.hub.Operator().DrainTasks(ctx, match, waits)
}

func (h *here) Settle(ctx context.Context) error { return channel.Settle(ctx, h.hub) }
