// What the three modes ask of the hub. Errors are for people: sentences without internals.

package terminal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"cairn/channel"
	"cairn/internal/platform"
)

// client is a mode's access to the hub while it runs.
type client struct {
	hub    *channel.Hub
	log    *slog.Logger
	saving *platform.Incident // messages that cannot be saved; every sender gets an error
}

func newClient(hub *channel.Hub, log *slog.Logger) client {
	return client{hub, log, &platform.Incident{Log: log, Failed: "save_message_failed", Recovered: "writes_recovered"}}
}

// deliver passes a message to the hub. The error is a sentence for the sender, or the context's
// error if the run is ending.
func (c client) deliver(ctx context.Context, conversation string, m channel.Inbound) error {
	_, err := c.hub.Deliver(ctx, conversation, m)
	switch {
	case err == nil:
		c.saving.End()
		return nil
	case ctx.Err() != nil:
		return err
	}
	c.saving.Begin(err)
	return errors.New(c.hub.Operator().Refusal(conversation, err))
}

// command runs a command. The error is a sentence for the person, or the context's error if the run is
// ending; the log has the reason.
func (c client) command(ctx context.Context, conversation string, who channel.Person, line string) (channel.Answer, error) {
	answer, _, err := c.hub.Run(ctx, conversation, who, line)
	if err == nil || ctx.Err() != nil {
		return answer, err
	}
	c.log.Error("command_failed", "error", err)
	return answer, errors.New(answer.Text)
}

// drain waits until all requests are done, including tasks.
func (c client) drain(ctx context.Context, match func(conversation string) bool, note func(text string)) error {
	if err := c.hub.Drain(ctx); err != nil {
		return err
	}
	return c.hub.Operator().DrainTasks(ctx, match, func(open int) {
		what := "a task"
		if open > 1 {
			what = fmt.Sprintf("%d tasks", open)
		}
		note(fmt.Sprintf("cairn: waiting for %s; Ctrl-C leaves, and the next start resumes\n", what))
	})
}
