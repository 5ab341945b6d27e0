// What all modes share: the headline, the end of the input, and notes about background work.

package terminal

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"cairn/channel"
	"cairn/channel/report"
	"cairn/channel/sentences"
)

// client is a mode's access to the bot while it runs.
type client struct {
	bot Bot
	log *slog.Logger
}

// headline names a conversation and its model, with the model's window.
func (c client) headline(ctx context.Context, conversation, language string) string {
	model, window := c.bot.Model(ctx, conversation)
	return fmt.Sprintf("Cairn · #%s · %s · %s", shortName(conversation), report.NameOf(Printable(model), window),
		sentences.In(language).Translate("/help for commands, Ctrl-D to quit"))
}

// drain waits until all requests are done, including tasks.
func (c client) drain(ctx context.Context, match func(conversation string) bool, language string, note func(text string)) error {
	return c.bot.Drain(ctx, match, func(open int) {
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
	languages Bot               // knows the language of a conversation; nil before Run: an import does not run the connector
	failed    map[string]string // why the last compaction of a conversation failed, unless a model has completed one since
}

// readLanguages sets the bot that knows the language of each conversation.
func (s *spectator) readLanguages(bot Bot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.languages = bot
}

// language returns the language of a conversation.
func (s *spectator) language(conversation string) string {
	s.mu.Lock()
	bot := s.languages
	s.mu.Unlock()
	if bot == nil {
		return channel.DefaultLanguage
	}
	return bot.Language(conversation)
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
