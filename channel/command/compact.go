package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"cairn/channel/report"
	"cairn/channel/sentences"
	"cairn/chat"
	"cairn/compactor"
)

// Commands that change what the window shows: /compact, /undo, /new. /recap changes nothing.

func runCompact(ctx context.Context, c *Call) (Answer, error) {
	started, outcome, err := c.Conversation.Compact(ctx, compactor.Requested{Trigger: compactor.OnManual, Focus: c.Args})
	if err != nil {
		return Answer{}, err
	}
	answer := Answer{Then: func(ctx context.Context) Answer {
		e, err := outcome(ctx)
		if err != nil {
			return Answer{Text: c.Speaker.Sayf("The summary is still being written; /context shows when it is applied. Nothing is lost.")}
		}
		return Answer{Text: outcomeWords(c.Speaker, started, e, c.Args), Buttons: undoButton(e)}
	}}
	switch started.State {
	case compactor.EventNoop:
		return Answer{Text: notStarted(c.Speaker, started.Error)}, nil
	case compactor.EventApplied:
		return Answer{Text: appliedWords(c.Speaker, started, c.Args), Buttons: undoButton(started)}, nil
	case compactor.EventScheduled:
		answer.Text = "Scheduled: I will start when the current summary is finished. Keep talking; nothing is lost. (If I am restarted before then, ask again.)"
	default:
		answer.Text = c.Speaker.Sayf("Summarizing %s (#%d to #%d) in the background. Keep talking; nothing is lost.", messages(c.Speaker, started.Messages), started.From, started.To)
	}
	return answer, nil
}

func outcomeWords(speaker sentences.Speaker, started, e compactor.Event, focus string) string {
	switch e.State {
	case compactor.EventApplied:
		return appliedWords(speaker, e, focus)
	case compactor.EventFailed:
		return speaker.Sayf("The summary of messages #%d to #%d failed: %s. /compact tries again.", e.From, e.To, speaker.Translate(e.Error))
	case compactor.EventPrepared:
		return speaker.Sayf("The summary of messages #%d to #%d is ready and will replace them as soon as there is room.", e.From, e.To)
	}
	if started.State == compactor.EventScheduled {
		return notStarted(speaker, e.Error)
	}
	return speaker.Sayf("Messages #%d to #%d were not summarized: %s.", started.From, started.To, speaker.Translate(e.Error))
}

func notStarted(speaker sentences.Speaker, reason string) string {
	return speaker.Sayf("No compaction was started: %s.", speaker.Say(reason))
}

// appliedWords describes what was applied in one step: the summary written now, and those that were ready
// before the request and so could not have this focus.
func appliedWords(speaker sentences.Speaker, e compactor.Event, focus string) string {
	_, from, to := report.SpansIn(e)
	unfocused := slices.ContainsFunc(e.Set, func(row compactor.Summary) bool { return row.Kind == compactor.Leaf && row.Focus != focus })
	text := speaker.Sayf("Summarized %s (#%d to #%d): %d → %d tokens of %d.", messages(speaker, report.MessagesIn(e.Set)), from, to, e.BeforeTokens, e.AfterTokens, e.Window)
	if focus != "" && unfocused {
		text += speaker.Sayf(" Summaries that were ready before your request do not have this focus.")
	}
	return text
}

func messages(speaker sentences.Speaker, n int) string {
	return speaker.Count(n, "message", "messages")
}

// runNew requests a new session. It starts after the messages that are waiting or being answered, since they came
// first, and the command does not wait for it.
func runNew(ctx context.Context, c *Call) (Answer, error) {
	wanted, later, err := c.Conversation.StartSession(ctx)
	switch {
	case !wanted:
		return Answer{Text: "This session is already new: it has no messages yet."}, err
	case later:
		return Answer{Text: "A new session starts once the earlier messages are answered. They are summarized in the background; nothing is lost, and I can still look them up."}, err
	}
	return Answer{Text: "A new session. The earlier messages are summarized in the background; nothing is lost, and I can still look them up."}, err
}

// undoButton is for what a compaction has applied.
func undoButton(e compactor.Event) []Button {
	if e.State != compactor.EventApplied || e.ID == 0 {
		return nil
	}
	return []Button{{Label: "Undo", Line: fmt.Sprintf("/undo %d", e.ID)}}
}

func runUndo(_ context.Context, c *Call) (Answer, error) {
	only, ok := numberOf(c.Args)
	if c.Args != "" && !ok {
		return Answer{}, sentences.NewProblem(c.Speaker.Sayf("Which summary? /undo undoes the latest compaction; /undo 12 only if that has written summary 12."))
	}
	e, err := c.Conversation.Undo(only)
	if e.State == compactor.EventNoop {
		return Answer{}, cmp.Or(err, sentences.NewProblem(c.Speaker.Sayf("Nothing was undone: %s.", c.Speaker.Say(e.Error))))
	}
	if e.Stopped && e.To == 0 {
		return Answer{Text: "Canceled: the scheduled compaction."}, err
	}
	if e.Stopped {
		return Answer{Text: c.Speaker.Sayf("Canceled: the compaction of messages #%d to #%d, which was still running. They stay verbatim until the aggressive level is reached or someone uses /compact.", e.From, e.To)}, err
	}
	if len(e.Set) == 1 && e.Set[0].Trigger == compactor.OnRewrite {
		return Answer{Text: c.Speaker.Sayf("Undone: the summary of messages #%d to #%d is back to the version before its line was rewritten.", e.From, e.To)}, err
	}
	what := "the summary"
	n, _, _ := report.SpansIn(e)
	if n > 1 {
		what = fmt.Sprintf("%d summaries", n)
	}
	return Answer{Text: c.Speaker.Sayf("Undone: %s of messages #%d to #%d. The earlier content is back: %d → %d tokens of %d. Memories stay. I will not compact these messages again until the aggressive level is reached or someone uses /compact.",
		c.Speaker.Translate(what), e.From, e.To, e.BeforeTokens, e.AfterTokens, e.Window)}, err
}

// runRecap writes a summary for one person. It costs as much as a turn, so it counts as one.
func runRecap(ctx context.Context, c *Call) (Answer, error) {
	id, focus := cutMessage(c.Args)
	var from chat.Message
	var err error
	if id != "" {
		from, _, err = c.message(ctx, messagePrefix+id)
	}
	if id != "" && err == nil && from.Seq == 0 {
		err = errWaits
	}
	if err != nil {
		return Answer{}, err
	}
	write, allowed, err := c.Conversation.Recap(ctx, c.Who, focus, from.Seq)
	if err != nil {
		return Answer{}, err
	}
	if !allowed {
		return Answer{}, sentences.NewProblem("One moment, please: you have sent me many requests in the last minute. Ask again in a minute.")
	}
	return Answer{
		Text: "Summarizing what I can see; one moment.",
		Then: func(ctx context.Context) Answer {
			recap, err := write(ctx)
			if err != nil {
				return Answer{Text: c.Speaker.Sayf("The recap could not be finished. Nothing has changed; ask again.")}
			}
			return Answer{Text: recapWords(c.Speaker, recap)}
		},
		Awaited: true,
	}, nil
}

func recapWords(speaker sentences.Speaker, r compactor.Recap) string {
	if r.Text == "" {
		return speaker.Sayf("There is nothing to summarize yet.")
	}
	text := r.Text
	if r.By == compactor.ByExtractive {
		text += "\n\n" + speaker.Sayf("(Made without a model, because %s: this is an extract of the messages.)", speaker.Translate(cmp.Or(r.Why, "none is configured here")))
	}
	if r.Hidden > 0 {
		text += "\n\n" + speaker.Sayf("(It does not include %d older messages: they are hidden until they are summarized.)", r.Hidden)
	}
	return text
}
