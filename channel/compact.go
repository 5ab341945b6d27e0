package channel

import (
	"context"
	"fmt"

	"cairn/compactor"
)

func runCompact(ctx context.Context, c *conversation, _ Person, focus string) (Answer, error) {
	_, engine, err := c.current(ctx)
	if err != nil {
		return Answer{}, err
	}
	outcome := make(chan compactor.Event, 1)
	began := engine.CompactThen(compactor.OnManual, focus, func(e compactor.Event) { outcome <- e })
	answer := Answer{Then: func(ctx context.Context) string {
		select {
		case e := <-outcome:
			return c.outcomeWords(began, e)
		case <-ctx.Done():
			return c.sayf("The summary is still being written; /context shows when it has landed. Nothing is lost.")
		}
	}}
	switch began.State {
	case compactor.EventNoop:
		return Answer{Text: "Nothing was begun: " + c.spell(began.Error) + "."}, nil
	case compactor.EventLanded:
		return Answer{Text: c.outcomeWords(began, began)}, nil
	case compactor.EventScheduled:
		answer.Text = "Scheduled: I begin when the summary that is being written now has ended. Go on talking; nothing is lost. (Should I be stopped before, ask again.)"
	default:
		answer.Text = fmt.Sprintf("Summing up %d messages (#%d to #%d) in the background. Go on talking; nothing is lost.", began.Messages, began.From, began.To)
	}
	return answer, nil
}

// outcomeWords says how a compaction that somebody asked for has ended.
func (c *conversation) outcomeWords(began, e compactor.Event) string {
	switch e.State {
	case compactor.EventLanded:
		return fmt.Sprintf("Summed up %d messages (#%d to #%d): %d → %d tokens of %d.", e.Messages, e.From, e.To, e.BeforeTokens, e.AfterTokens, e.Window)
	case compactor.EventFailed:
		return c.sayf("The summary of messages #%d to #%d failed: %s. /compact tries it once more.", e.From, e.To, e.Error)
	case compactor.EventStaged:
		return fmt.Sprintf("The summary of messages #%d to #%d is ready, and takes their place as soon as there is room.", e.From, e.To)
	}
	if began.State == compactor.EventScheduled {
		return "Nothing was begun: " + c.spell(e.Error) + "."
	}
	return fmt.Sprintf("Messages #%d to #%d stay as they are: %s.", began.From, began.To, e.Error)
}
