// Errors for people: sentences without internals.
package terminal

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"cairn/channel"
)

// sentence is an error that is shown to the person.
type sentence string

func (s sentence) Error() string { return string(s) }

const (
	diskFull = sentence("The disk is full. Your message was not accepted; make room and send it again.")
	replaced = sentence("My database was deleted or moved, so your message was not accepted. Ask the bot's operator to put it back, and send it again.")
	notSaved = sentence("Your message could not be saved, so it was not accepted. Send it again later.")
)

// disk tracks whether messages can be saved. The log gets one entry when saving starts to fail, and
// one when it works again; every sender gets an error.
type disk struct{ failing atomic.Bool }

// deliver passes a message to the hub. The error is a sentence for the sender, or the context's
// error if the run is ending.
func (d *disk) deliver(ctx context.Context, hub *channel.Hub, log *slog.Logger, conversation string, m channel.Inbound) error {
	if _, err := hub.Deliver(ctx, conversation, m); err != nil {
		return d.deliveryError(ctx, log, err)
	}
	if d.failing.CompareAndSwap(true, false) {
		log.Info("writes_recovered")
	}
	return nil
}

// deliveryError logs why a message could not be saved, and returns a sentence for the sender; if
// the run is ending, it returns err itself.
func (d *disk) deliveryError(ctx context.Context, log *slog.Logger, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if d.failing.CompareAndSwap(false, true) {
		log.Error("save_message_failed", "error", err)
	}
	switch {
	case errors.Is(err, channel.ErrReplaced):
		return replaced
	case errors.Is(err, channel.ErrFull):
		return diskFull
	}
	return notSaved
}

// commandError is deliveryError for a command; answer says why it failed.
func commandError(ctx context.Context, log *slog.Logger, answer channel.Answer, err error) error {
	if ctx.Err() != nil {
		return err
	}
	log.Error("command_failed", "error", err)
	return sentence(answer.Text)
}
