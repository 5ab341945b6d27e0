package channel

import (
	"context"
	"fmt"
	"time"

	"cairn/compactor"
	"cairn/memory"
)

// What people see of a compaction where nobody shows them every step.

// Reactor is what a connector implements that can put a mark on a message.
type Reactor interface {
	// React marks a message, by its platform id, so that people see that older ones
	// were summarized. It may ask the platform, and ends when ctx does.
	React(ctx context.Context, conversation, id string) error
}

// reactTimeout bounds the wait for a mark: it may be left out.
const reactTimeout = time.Minute

// happened tells everybody of a step of a compaction. notify is what people want to
// know of it. It must not block.
func (c *conversation) happened(e compactor.Event, notify string) {
	if e.State == compactor.EventPrepared || e.State == compactor.EventFailed {
		c.wake() // to write what it cost
	}
	if o, ok := c.connector.(Observer); ok {
		o.Compaction(c.name, e)
	} else if notify != compactor.NotifyOff && e.State == compactor.EventApplied && e.ID != 0 && e.Kind != compactor.Rollup && e.Trigger != compactor.OnRepair {
		c.news = &e
		c.wake()
	}
	if c.hub.o.After != nil {
		c.hub.o.After(c.name, e)
	}
}

// announce tells people, once, of the compactions that made room since the last time.
func (c *conversation) announce(ctx context.Context) {
	var e *compactor.Event
	var newest string
	c.do(func(*compactor.Compactor) { e, newest, c.news = c.news, c.arrivals.newest, nil })
	if e == nil || c.hub.respond(c.name) == RespondNever || c.paused(ctx) {
		return
	}
	switch c.policy.get().Notify {
	case compactor.NotifyMessage:
		// Marked as no words of the assistant; the id keeps it from being said twice.
		notice := memory.Outcome{Reply: fmt.Sprintf("landing-%d", e.ID), Pieces: []string{appliedLine(*e)}, Failure: true}
		if err := c.records.Post(ctx, notice); err != nil {
			c.log.Warn("notify_compaction_failed", "error", err)
			return
		}
		c.sender.start(c.hub.ctx)
	case compactor.NotifyReaction:
		if reactor, ok := c.connector.(Reactor); ok && newest != "" {
			c.hub.owners.Go(func() { c.react(reactor, newest) })
		}
	}
}

func (c *conversation) react(reactor Reactor, id string) {
	ctx, cancel := context.WithTimeout(c.hub.ctx, reactTimeout)
	defer cancel()
	err := func() (err error) {
		defer survive(&err)
		return reactor.React(ctx, c.name, id)
	}()
	if err != nil && c.hub.ctx.Err() == nil {
		c.log.Debug("mark_compaction_failed", "error", err)
	}
}

// appliedLine is an applied compaction in one short line.
func appliedLine(e compactor.Event) string {
	if e.Kind == compactor.Placeholder {
		return fmt.Sprintf("(I set %d older messages aside to make room; a summary of them follows. Nothing is lost.)", e.Messages)
	}
	messages := e.Messages
	if n, all := count(e.Set); n > 1 {
		messages = all
	}
	return fmt.Sprintf("(I summarized %d older messages. Nothing is lost.)", messages)
}
