package channel

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cairn/llm/prices"
	"cairn/memory"
)

// warnOwner warns an owner who has just been answered that a budget is nearly spent: once
// in its period, in one conversation, also if the bot was restarted meanwhile.
func (c *conversation) warnOwner(ctx context.Context, turn memory.Turn) {
	for _, b := range c.hub.budget.state(c.hub.rules.Load().Money, time.Now()) {
		if b.level() == levelFree || c.hub.budget.knows(b) {
			continue
		}
		byOwner, err := c.askedByOwner(ctx, turn)
		if err == nil && !byOwner {
			return
		}
		if !c.hub.budget.claim(b) {
			continue
		}
		if err == nil {
			err = c.postWarning(ctx, b)
		}
		if err != nil {
			c.hub.budget.unclaim(b)
			c.log.Warn("notify_owner_failed", "setting", b.Setting, "error", err)
		}
	}
}

func (c *conversation) postWarning(ctx context.Context, b Budget) error {
	id := "budget-" + b.key() // of the reply: by it a later process knows
	if posted, err := c.hub.o.Store.Posted(ctx, id); err != nil || posted {
		return err
	}
	text := fmt.Sprintf("(%d %% of %s is spent: %s. When all of it is, I stop answering until %s.)",
		int(100*b.Spent/b.Limit), b.Setting, b, b.ends.Format("2 January, 15:04 MST"))
	if b.level() == levelSpent {
		text = fmt.Sprintf("(%s is spent: %s of %s. I answer again from %s on, or when it is raised.)",
			b.Setting, prices.Money(b.Spent), prices.Money(b.Limit), b.ends.Format("2 January, 15:04 MST"))
	}
	if err := c.records.Post(ctx, memory.Outcome{Reply: id, Pieces: []string{text}, Failure: true}); err != nil {
		return err
	}
	c.sender.start(c.hub.ctx)
	return nil
}

// askedByOwner reports whether an owner asked for a turn. A connector without rules, as the
// terminal, is used by owners alone.
func (c *conversation) askedByOwner(ctx context.Context, turn memory.Turn) (bool, error) {
	access, ruled := c.hub.rules.Load().Access[ParsePlace(c.name).Connector]
	if !ruled {
		return true, nil
	}
	said, err := c.records.Said(ctx, turn.Seq)
	if err != nil {
		return false, err
	}
	for _, m := range said {
		if m.Addressed && slices.Contains(access.Owners, m.AuthorID) {
			return true, nil
		}
	}
	return false, nil
}
