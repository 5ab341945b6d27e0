// What people read when something cannot be done: a sentence without internals.
package terminal

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"

	"cairn/channel"
)

// sentence is an error in words for the person who talks here.
type sentence string

func (s sentence) Error() string { return string(s) }

const (
	diskFull = sentence("The disk is full. Your message was not taken; make room and send it again.")
	replaced = sentence("My database was deleted or moved, so your message was not accepted. Ask the bot's operator to put it back, and send it again.")
	notTaken = sentence("Your message could not be saved, so it was not accepted. Send it again later.")
	notDone  = sentence("That could not be done just now. Try it again later.")
)

// disk is whether messages can be written. The log says once that they cannot, and
// once that they can again; the sender learns it each time.
type disk struct{ refuses atomic.Bool }

// deliver hands a message to the hub; an error is the sentence for its sender, or that
// of an ending run.
func (d *disk) deliver(ctx context.Context, hub *channel.Hub, log *slog.Logger, conversation string, m channel.Inbound) error {
	if _, err := hub.Deliver(ctx, conversation, m); err != nil {
		return d.untaken(ctx, log, err)
	}
	if d.refuses.CompareAndSwap(true, false) {
		log.Info("writes_recovered")
	}
	return nil
}

// untaken logs why a message could not be written, and returns the sentence for its
// sender; or the error itself if the run is ending.
func (d *disk) untaken(ctx context.Context, log *slog.Logger, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if d.refuses.CompareAndSwap(false, true) {
		log.Error("save_message_failed", "error", err)
	}
	if errors.Is(err, channel.ErrReplaced) {
		return replaced
	}
	for _, full := range []string{"SQLITE_FULL", "disk is full", "no space left"} {
		if strings.Contains(err.Error(), full) {
			return diskFull
		}
	}
	return notTaken
}

// undone is untaken for a command.
func undone(ctx context.Context, log *slog.Logger, err error) error {
	if ctx.Err() != nil {
		return err
	}
	log.Error("command_failed", "error", err)
	return notDone
}
