package channel

import (
	"context"
	"math"

	"cairn/compactor"
)

func runUndo(ctx context.Context, c *conversation, _ Person, _ string) (Answer, error) {
	if _, _, err := c.current(ctx); err != nil {
		return Answer{}, err
	}
	var event compactor.Event
	var failed error
	done := c.byOwner(func(ctx context.Context) { event, failed = c.engine.Undo(ctx) })
	soon, err := c.await(ctx, done, ownerPatience)
	switch {
	case err != nil:
		return Answer{}, err
	case soon && failed != nil:
		return Answer{}, failed
	case soon:
		return Answer{Text: c.undoneWords(event)}, nil
	}
	return Answer{
		Text: "I am answering right now. The latest summary will be undone as soon as the model has answered.",
		Then: func(ctx context.Context) string {
			if soon, err := c.await(ctx, done, math.MaxInt64); !soon || err != nil || failed != nil {
				return c.sayf("The latest summary could not be taken back yet; /summaries shows how things stand. Nothing is lost.")
			}
			return c.undoneWords(event)
		},
	}, nil
}

func (c *conversation) undoneWords(e compactor.Event) string {
	if e.State == compactor.EventNoop {
		return "Nothing was undone: " + c.spell(e.Error) + "."
	}
	what := "the " + kindWords(e.Kind)
	if n, _ := count(e.Set); n > 1 {
		what = summaries(n)
	}
	return c.sayf("Taken back: %s of messages #%d to #%d. I see what stood there before: %d → %d tokens of %d. Memories stay. It is left alone until the window is fuller, or /compact.",
		what, e.From, e.To, e.BeforeTokens, e.AfterTokens, e.Window)
}

func kindWords(k compactor.Kind) string {
	switch k {
	case compactor.Rollup:
		return "summary of summaries"
	case compactor.Marker:
		return "truncation"
	}
	return "summary"
}
