package channel

import (
	"context"
	"fmt"
	"slices"

	"cairn/compactor"
)

// The kill switch: while a conversation or the whole bot is paused, messages are kept as context,
// and no model is called.

// everywhere is the scope of a pause of the whole bot.
const everywhere = ""

func (c *conversation) paused(ctx context.Context) bool {
	here, all, err := c.hub.Operator().Paused(ctx, c.account())
	if err != nil && ctx.Err() == nil {
		c.log.Warn("read_pause_failed", "error", err)
	}
	return here || all
}

// WhySilent tells people who expect answers in a conversation why the bot gives none there; "" if it
// does.
func (o Operator) WhySilent(ctx context.Context, conversation string) (words string) {
	switch here, all, _ := o.Paused(ctx, conversation); {
	case o.hub.respond(conversation) == RespondNever:
		words = TextRefused
	case all:
		words = "I am still paused everywhere; /resume everywhere ends that."
	case here:
		words = "I am still paused here; /resume ends that."
	}
	return o.hub.spell(conversation, Translated(o.hub.languageOf(conversation), words))
}

var errPaused = fmt.Errorf("the bot is paused: %w", compactor.ErrSpent)

// interruptHere stops the turn whose answer people see here.
func (c *conversation) interruptHere() (stopped bool) {
	for _, name := range c.answeredHere() {
		if turn := c.hub.Operator().turnIn(name); turn != nil {
			turn.stop(errStopped)
			return true
		}
	}
	return false
}

// answeredHere returns the conversations whose answers people see here: this one, and, if it is a
// thread, the one above while it answers the message that the thread hangs on. Slack shows that answer
// in the thread.
func (c *conversation) answeredHere() []string {
	place := ParsePlace(c.name)
	question := place.Thread
	if question == "" {
		return []string{c.name}
	}
	place.Thread = ""
	if turn := c.hub.Operator().turnIn(place.String()); turn == nil || !slices.Contains(turn.to, question) {
		return []string{c.name}
	}
	return []string{c.name, place.String()}
}

// interrupt stops the running turn, if there is one.
func (c *conversation) interrupt() {
	if turn := c.turn.Load(); turn != nil {
		turn.stop(errStopped)
	}
}
