package channel

import (
	"context"
	"errors"
	"slices"
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

var errPaused = errors.New("the bot is paused")

// spendOnSummary counts a call for a summary, unless the conversation is paused.
func (c *conversation) spendOnSummary() error {
	if c.paused(c.hub.ctx) {
		return errPaused
	}
	return c.spendOn(false)
}

// interruptHere stops the running turn, or that of the channel if it answers the message below which
// this thread hangs: a connector may show the answer in the thread.
func (c *conversation) interruptHere() (stopped bool) {
	place := ParsePlace(c.name)
	question := place.Thread
	if stopped = c.interrupt(); stopped || question == "" {
		return stopped
	}
	place.Thread = ""
	above, _ := c.hub.find(place.String(), nil)
	if above == nil {
		return false
	}
	defer c.hub.release(above)
	turn := above.turn.Load()
	return turn != nil && slices.Contains(turn.to, question) && above.interrupt()
}

// interrupt stops the running turn, if there is one.
func (c *conversation) interrupt() (stopped bool) {
	turn := c.turn.Load()
	if turn != nil {
		turn.stop(errStopped)
	}
	return turn != nil
}
