// What the three modes ask of the hub, and notes about its work. Errors are for people: sentences without internals.

package terminal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"cairn/channel"
	"cairn/internal/observe"
)

// client is a mode's access to the hub while it runs.
type client struct {
	hub    *channel.Hub
	log    *slog.Logger
	saving *observe.Incident // messages cannot be saved; every sender gets an error
}

func newClient(hub *channel.Hub, log *slog.Logger) client {
	return client{hub, log, new(observe.Incident)}
}

// deliver passes a message to the hub. The error is a sentence for the sender, or the context's
// error if the run is ending.
func (c client) deliver(ctx context.Context, conversation string, m channel.Inbound) error {
	_, err := c.hub.Deliver(ctx, conversation, m)
	switch {
	case err == nil:
		if c.saving.End() {
			c.log.Info("writes_recovered")
		}
		return nil
	case ctx.Err() != nil:
		return err
	}
	c.log.Log(ctx, c.saving.Begin(), "save_message_failed", "error", err)
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

// spectator prints notes about background work that matter to people.
type spectator struct{ print func(text string) }

func (s spectator) Accepted(string, string, int64)               {}
func (s spectator) Compaction(_ string, event channel.Event)     { s.note(status(event)) }
func (s spectator) Remembered(string, int64, string, string)     {}
func (s spectator) Used(string, string, string, channel.Expense) {} // people use /usage
func (s spectator) Task(_ string, t channel.Task)                { s.note(taskStatus(t)) }

func (s spectator) note(text string) {
	if text != "" {
		s.print(text)
	}
}

// status returns a line about event, or "" if it should not be shown: of a compaction that no
// person requested only the start and the end are.
func status(event channel.Event) string {
	span := fmt.Sprintf("messages %d to %d", event.From, event.To)
	switch event.State {
	case "started":
		return "· compacting " + span
	case "applied":
		if event.AfterTokens >= event.BeforeTokens { // it says more than the placeholder that it replaces
			return "· summarized " + span
		}
		return fmt.Sprintf("· compacted %s: %d → %d tokens of %d", span, event.BeforeTokens, event.AfterTokens, event.Window)
	case "failed": // the error text says that nothing was lost
		return "· could not compact " + span + ": " + event.Error
	case "rewritten":
		return "· rewrote a line of the summary of " + span
	case "undone":
		if event.Trigger == "rewrite" {
			return "· undid the rewriting of a line of the summary of " + span
		}
		return "· undid the compaction of " + span
	}
	return ""
}

// taskStatus returns a line about the start or the end of a task; "" for steps in between.
func taskStatus(t channel.Task) string {
	switch {
	case !t.Ended.IsZero():
		return fmt.Sprintf("· task %d of %s: %s after %d messages", t.Number, t.Agent, t.State, t.Messages)
	case t.Messages == 0:
		return fmt.Sprintf("· task %d of %s has started; /tasks lists tasks", t.Number, t.Agent)
	}
	return ""
}
