package channel

import (
	"context"
	"fmt"
	"time"

	"cairn/compactor"
)

// runRecap summarizes for one person. It costs what a turn costs, so it counts as one.
func runRecap(ctx context.Context, c *conversation, who Person, focus string) (Answer, error) {
	if _, err := c.current(ctx); err != nil {
		return Answer{}, err
	}
	if ok, _ := c.hub.turns.take(c.hub.rules.Load().TurnsPerMinute, []string{who.ID}, true, time.Now()); !ok {
		return Answer{}, errPeople("One moment, please: you have asked me for a lot in this minute. Ask again in a minute.")
	}
	return Answer{
		Text: "Summing up what I have in view; one moment.",
		Then: func(ctx context.Context) string {
			defer c.hub.hold(c)()
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(c.hub.ctx, cancel)()
			var recap compactor.Recap
			var write func(context.Context) (compactor.Recap, error)
			err := c.tryDo(func(e *compactor.Compactor) { write = e.Recap(focus) })
			if err == nil {
				recap, err = write(ctx)
			}
			c.wake() // to write what it cost
			if err != nil {
				return "The recap was not finished. Nothing is changed by it; ask again."
			}
			return recapWords(recap)
		},
		Awaited: true,
	}, nil
}

func recapWords(r compactor.Recap) string {
	if r.To == 0 {
		return "There is nothing to summarize yet."
	}
	text := r.Text
	if text == "" {
		text = "Nothing was said in words."
	}
	if r.By == compactor.ByExtractive {
		why := "there is none here"
		if r.Why != "" {
			why = r.Why
		}
		text += fmt.Sprintf("\n\n(Made without a model, for %s: these are sentences as they were said.)", why)
	}
	if r.Hidden > 0 {
		text += fmt.Sprintf("\n\n(%d older messages are not in it: they are hidden until they are summarized.)", r.Hidden)
	}
	return text
}
