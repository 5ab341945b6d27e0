package channel

import (
	"cmp"
	"context"

	"cairn/compactor"
)

func runUndo(ctx context.Context, c *conversation, _ Person, _ string) (Answer, error) {
	if _, err := c.current(ctx); err != nil {
		return Answer{}, err
	}
	var event compactor.Event
	var failed error
	err := c.tryDo(func(e *compactor.Compactor) {
		event, failed = e.Undo(c.hub.ctx)
		e.Check(c.hub.ctx)
	})
	if err = cmp.Or(err, failed); err != nil {
		return Answer{}, err
	}
	return Answer{Text: c.undoneWords(event)}, nil
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
	case compactor.Placeholder:
		return "truncation"
	}
	return "summary"
}
