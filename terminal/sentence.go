// Errors for people: sentences without internals.
package terminal

import (
	"context"
	"errors"
	"log/slog"

	"cairn/channel"
	"cairn/internal/platform"
)

// saving returns the incident of messages that cannot be saved; every sender gets an error.
func saving(log *slog.Logger) *platform.Incident {
	return &platform.Incident{Log: log, Failed: "save_message_failed", Recovered: "writes_recovered"}
}

// deliver passes a message to the hub. The error is a sentence for the sender, or the context's
// error if the run is ending.
func deliver(ctx context.Context, hub *channel.Hub, saving *platform.Incident, conversation string, m channel.Inbound) error {
	_, err := hub.Deliver(ctx, conversation, m)
	switch {
	case err == nil:
		saving.End()
		return nil
	case ctx.Err() != nil:
		return err
	}
	saving.Begin(err)
	return errors.New(hub.Operator().Refusal(conversation, err))
}

// command runs a command. The error is a sentence for the person, or the context's error if the run is
// ending; the log has the reason.
func command(ctx context.Context, hub *channel.Hub, log *slog.Logger, conversation string, who channel.Person, line string) (channel.Answer, error) {
	answer, _, err := hub.Run(ctx, conversation, who, line)
	if err == nil || ctx.Err() != nil {
		return answer, err
	}
	log.Error("command_failed", "error", err)
	return answer, errors.New(answer.Text)
}
