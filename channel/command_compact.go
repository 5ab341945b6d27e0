package channel

import (
	"cmp"
	"context"
	"fmt"

	"cairn/chat"
	"cairn/compactor"
)

func runCompact(ctx context.Context, c *conversation, _ Person, focus string) (Answer, error) {
	outcome := make(chan compactor.Event, 1)
	began, err := c.compact(ctx, compactor.Requested{Trigger: compactor.OnManual, Focus: focus, Ended: func(e compactor.Event) { outcome <- e }})
	if err != nil {
		return Answer{}, err
	}
	answer := Answer{Then: func(ctx context.Context) string {
		select {
		case e := <-outcome:
			return c.outcomeWords(began, e, focus)
		case <-ctx.Done():
			return c.sayf("The summary is still being written; /context shows when it is applied. Nothing is lost.")
		}
	}}
	switch began.State {
	case compactor.EventNoop:
		return Answer{Text: c.notStarted(began.Error)}, nil
	case compactor.EventApplied:
		return Answer{Text: c.appliedWords(began, focus)}, nil
	case compactor.EventScheduled:
		answer.Text = "Scheduled: I will start when the current summary is finished. Keep talking; nothing is lost. (If I am restarted before then, ask again.)"
	default:
		answer.Text = c.sayf("Summarizing %s (#%d to #%d) in the background. Keep talking; nothing is lost.", c.messages(began.Messages), began.From, began.To)
	}
	return answer, nil
}

// compact asks the engine for a compaction, and returns how it started.
func (c *conversation) compact(ctx context.Context, w compactor.Requested) (began compactor.Event, err error) {
	answer := make(chan compactor.Event, 1)
	w.Began = func(began compactor.Event) { answer <- began }
	err = c.tryDo(func(e *compactor.Compactor) { e.Compact(w) })
	if err != nil {
		return began, err
	}
	select {
	case began = <-answer:
		return began, nil
	case <-ctx.Done():
		return began, ctx.Err()
	}
}

func (c *conversation) outcomeWords(began, e compactor.Event, focus string) string {
	switch e.State {
	case compactor.EventApplied:
		return c.appliedWords(e, focus)
	case compactor.EventFailed:
		return c.sayf("The summary of messages #%d to #%d failed: %s. /compact tries again.", e.From, e.To, c.translated(e.Error))
	case compactor.EventPrepared:
		return c.sayf("The summary of messages #%d to #%d is ready and will replace them as soon as there is room.", e.From, e.To)
	}
	if began.State == compactor.EventScheduled {
		return c.notStarted(e.Error)
	}
	return c.sayf("Messages #%d to #%d were not summarized: %s.", began.From, began.To, c.translated(e.Error))
}

func (c *conversation) notStarted(reason string) string {
	return c.sayf("No compaction was started: %s.", c.spell(reason))
}

// appliedWords describes what was applied in one step: the summary written now, and those that were ready
// before the request and so could not have this focus.
func (c *conversation) appliedWords(e compactor.Event, focus string) string {
	unfocused := false
	for _, row := range e.Set {
		if row.Kind == compactor.Leaf {
			e.From = min(e.From, row.From)
			e.To = max(e.To, row.To)
			unfocused = unfocused || row.Focus != focus
		}
	}
	text := c.sayf("Summarized %s (#%d to #%d): %d → %d tokens of %d.", c.messages(messagesIn(e.Set)), e.From, e.To, e.BeforeTokens, e.AfterTokens, e.Window)
	if focus != "" && unfocused {
		text += c.sayf(" Summaries that were ready before your request do not have this focus.")
	}
	return text
}

func (c *conversation) messages(n int) string {
	return c.translated(chat.Counted(n, "message", "messages"))
}

// messagesIn returns how many messages were summarized in one step: a fold is of some that are summarized already.
func messagesIn(rows []compactor.Summary) (n int) {
	for _, row := range rows {
		if row.Kind == compactor.Leaf {
			n += row.Messages
		}
	}
	return n
}

// runNew requests a new session. It starts after the messages that are waiting or being answered, since they came
// first, and the command does not wait for it.
func runNew(ctx context.Context, c *conversation, _ Person, _ string) (Answer, error) {
	wanted, later, err := c.wantSession(ctx)
	switch {
	case !wanted:
		return Answer{Text: "This session is already new: it has no messages yet."}, err
	case later:
		return Answer{Text: "A new session starts once the earlier messages are answered. They are summarized in the background; nothing is lost, and I can still look them up."}, err
	}
	return Answer{Text: "A new session. The earlier messages are summarized in the background; nothing is lost, and I can still look them up."}, err
}

func (c *conversation) wantSession(ctx context.Context) (wanted, later bool, err error) {
	wanted, later, err = c.records.Compactions().WantSession(ctx, platformNow(c.connector))
	if err == nil && wanted {
		c.wake()
	}
	return wanted, later, err
}

func runUndo(ctx context.Context, c *conversation, _ Person, _ string) (Answer, error) {
	e, err := c.undo()
	if e.State == compactor.EventNoop {
		return Answer{Text: c.sayf("Nothing was undone: %s.", c.spell(e.Error))}, err
	}
	if len(e.Set) == 1 && e.Set[0].Trigger == compactor.OnRewrite {
		return Answer{Text: c.sayf("Undone: the summary of messages #%d to #%d is back to the version before its line was rewritten.", e.From, e.To)}, err
	}
	what := "the summary"
	if n := len(e.Set); n > 1 {
		what = fmt.Sprintf("%d summaries", n)
	}
	return Answer{Text: c.sayf("Undone: %s of messages #%d to #%d. The earlier content is back: %d → %d tokens of %d. Memories stay. I will not compact these messages again until the aggressive level is reached or someone uses /compact.",
		c.translated(what), e.From, e.To, e.BeforeTokens, e.AfterTokens, e.Window)}, err
}

// undo reverts the last compaction, then checks whether a level is reached.
func (c *conversation) undo() (event compactor.Event, err error) {
	var failed error
	err = c.tryDo(func(e *compactor.Compactor) {
		event, failed = e.Undo(c.hub.ctx)
		e.Check(c.hub.ctx)
	})
	return event, cmp.Or(err, failed)
}

// runRecap writes a summary for one person. It costs as much as a turn, so it counts as one.
func runRecap(_ context.Context, c *conversation, who Person, focus string) (Answer, error) {
	if ok, _ := c.hub.access.TakeTurn([]string{who.ID}, true); !ok {
		return Answer{}, errPeople("One moment, please: you have sent me many requests in the last minute. Ask again in a minute.")
	}
	return Answer{
		Text: "Summarizing what I can see; one moment.",
		Then: func(ctx context.Context) string { // c may have left memory since the request
			recap, err := onEngine(ctx, c.hub.Operator(), c.name, func(c *conversation) (compactor.Recap, error) {
				return c.recap(ctx, focus)
			})
			if err != nil {
				return c.sayf("The recap could not be finished. Nothing has changed; ask again.")
			}
			return c.recapWords(recap)
		},
		Awaited: true,
	}, nil
}

func (c *conversation) recap(ctx context.Context, focus string) (recap compactor.Recap, err error) {
	defer c.wake() // to save the usage
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.hub.ctx, cancel)()
	var write func(context.Context) (compactor.Recap, error)
	var failed error
	err = c.tryDo(func(e *compactor.Compactor) { write, failed = e.Recap(c.hub.ctx, focus) })
	err = cmp.Or(err, failed)
	if err != nil {
		return recap, err
	}
	return write(ctx)
}

func (c *conversation) recapWords(r compactor.Recap) string {
	if r.Text == "" {
		return c.sayf("There is nothing to summarize yet.")
	}
	text := r.Text
	if r.By == compactor.ByExtractive {
		text += "\n\n" + c.sayf("(Made without a model, because %s: this is an extract of the messages.)", c.translated(cmp.Or(r.Why, "none is configured here")))
	}
	if r.Hidden > 0 {
		text += "\n\n" + c.sayf("(It does not include %d older messages: they are hidden until they are summarized.)", r.Hidden)
	}
	return text
}
