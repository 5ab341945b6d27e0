// What the three modes ask of the hub, and notes about its work. Errors are for people: sentences without internals.

package terminal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/channel/command"
	"cairn/channel/report"
	"cairn/channel/sentences"
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

// headline names a conversation and its model, with the model's window.
func (c client) headline(ctx context.Context, conversation, language string) string {
	model, window := channel.ModelIn(ctx, c.hub, conversation)
	return fmt.Sprintf("Cairn · #%s · %s · %s", shortName(conversation), report.NameOf(Printable(model), window.Tokens),
		sentences.In(language).Translate("/help for commands, Ctrl-D to quit"))
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
func (c client) command(ctx context.Context, conversation string, who access.Person, line string) (command.Answer, error) {
	answer, _, err := c.hub.Run(ctx, conversation, who, line)
	if err == nil || ctx.Err() != nil {
		return answer, err
	}
	c.log.Error("command_failed", "error", err)
	return answer, errors.New(answer.Text)
}

// drain waits until all requests are done, including tasks.
func (c client) drain(ctx context.Context, match func(conversation string) bool, language string, note func(text string)) error {
	if err := c.hub.Drain(ctx); err != nil {
		return err
	}
	return c.hub.Operator().DrainTasks(ctx, match, func(open int) {
		text := "waiting for a task; Ctrl-C quits, and the next start resumes it"
		if open > 1 {
			text = fmt.Sprintf("waiting for %d tasks; Ctrl-C quits, and the next start resumes them", open)
		}
		note("cairn: " + sentences.In(language).Translate(text) + "\n")
	})
}

// spectator prints notes about background work that matter to people.
type spectator struct {
	print func(text string)

	mu        sync.Mutex        // guards languages and failed
	languages *channel.Hub      // knows the language of a conversation; nil before Run: an import does not run the connector
	failed    map[string]string // why the last compaction of a conversation failed, unless a model has completed one since
}

// readLanguages sets the hub that knows the language of each conversation.
func (s *spectator) readLanguages(hub *channel.Hub) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.languages = hub
}

// language returns the language of a conversation.
func (s *spectator) language(conversation string) string {
	s.mu.Lock()
	hub := s.languages
	s.mu.Unlock()
	if hub == nil {
		return channel.DefaultLanguage
	}
	return channel.SpokenIn(hub, conversation)
}

func (s *spectator) Accepted(string, string, int64)              {}
func (s *spectator) Remembered(string, int64, string, string)    {}
func (s *spectator) Used(string, string, string, report.Expense) {} // people use /usage

func (s *spectator) Compaction(name string, event channel.Event) {
	if !s.repeats(name, event) {
		s.note(status(s.language(name), event))
	}
}

func (s *spectator) Task(name string, t channel.Task) { s.note(taskStatus(s.language(name), t)) }

func (s *spectator) note(text string) {
	if text != "" {
		s.print(text)
	}
}

// repeats reports whether an event says nothing new: that a compaction failed for the same reason as the one before.
func (s *spectator) repeats(name string, event channel.Event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, known := s.failed[name]
	switch event.State {
	case "failed":
		if event.Stopped {
			return false
		}
		if s.failed == nil {
			s.failed = make(map[string]string)
		}
		s.failed[name] = event.Error
		return known && was == event.Error && event.Trigger != "manual"
	case "applied", "prepared":
		if event.By == "worker" {
			delete(s.failed, name)
		}
	}
	return false
}

// status returns a line about event in a language, or "" if it should not be shown: of a compaction that no
// person requested only the end is, in one line for all that was applied together. Commands say themselves what they undid or
// rewrote.
func status(language string, event channel.Event) string {
	say := func(format string, args ...any) string { return "· " + sentences.In(language).Sayf(format, args...) }
	switch event.State {
	case "applied":
		if len(event.Set) > 0 && event.Set[0].ID != event.ID {
			return ""
		}
		spans, from, to := report.SpansIn(event)
		if event.AfterTokens >= event.BeforeTokens { // it says more than the placeholder that it replaces
			return say("summarized messages %d to %d", from, to)
		}
		percent := 100 * event.AfterTokens / max(event.Window, 1)
		if spans > 1 {
			return say("compacted %d spans, #%d to #%d: %d → %d tokens (%d %%)", spans, from, to, event.BeforeTokens, event.AfterTokens, percent)
		}
		return say("compacted messages %d to %d: %d → %d tokens (%d %%)", from, to, event.BeforeTokens, event.AfterTokens, percent)
	case "failed": // the error text says that nothing was lost
		if event.Stopped {
			return ""
		}
		return say("could not compact messages %d to %d: %s", event.From, event.To, sentences.In(language).Translate(event.Error))
	}
	return ""
}

// taskStatus returns a line about the start or the end of a task in a language; "" for steps in between.
func taskStatus(language string, t channel.Task) string {
	say := func(format string, args ...any) string { return "· " + sentences.In(language).Sayf(format, args...) }
	switch {
	case !t.Ended.IsZero():
		return say("task %d of %s: %s after %d messages", t.Number, t.Agent, sentences.In(language).Word("task", string(t.State)), t.Messages)
	case t.Messages == 0:
		return say("task %d of %s has started; /tasks lists tasks", t.Number, t.Agent)
	}
	return ""
}
