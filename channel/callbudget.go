package channel

import (
	"fmt"
	"time"

	"cairn/llm"
)

// Limits on model calls: per conversation and hour, and per turn. Every attempt counts, including
// failed ones. The counts are in memory only: a crash loop cannot spend without end, because a turn
// is tried at most twice.

// maxRequests is the most model requests for one turn: maxCalls, plus twice that for retries when
// servers fail.
const maxRequests = 3 * maxCalls

// turnsShare is the share of an hour's calls reserved for turns: 1/4. Once the rest is used up,
// summaries are made without a model, and made again later.
const turnsShare = 4

// callBudget tracks each conversation's calls in the last hour.
type callBudget struct {
	recent        // by conversation
	logged recent // when it was logged that a conversation has reached its limit
}

// callsPerHour returns how many calls an hour may have, for turns or for summaries; 0: no limit.
func (c *conversation) callsPerHour(turn bool) int {
	most := c.hub.rules.Load().CallsPerHour
	if !turn {
		most -= most / turnsShare
	}
	return most
}

// calls returns how many calls there were in the last hour.
func (c *conversation) calls() int { return c.hub.calls.count(time.Hour, c.account(), time.Now()) }

// spendOn counts a call for a turn or for a summary.
func (c *conversation) spendOn(turn bool) error {
	most := c.callsPerHour(turn)
	if most <= 0 {
		return nil
	}
	wait, ok := c.hub.calls.take(most, time.Hour, c.account(), time.Now())
	if !ok {
		c.reached()
		return &spentError{"calls_per_hour", fmt.Sprintf("This conversation has reached its hourly limit of model calls, so I cannot answer now. Your message is saved; ask again in %s.", llm.InMinutes(wait))}
	}
	return nil
}

// reached logs, at most once an hour, that the limit is reached.
func (c *conversation) reached() {
	if _, first := c.hub.calls.logged.take(1, time.Hour, c.account(), time.Now()); first {
		c.log.Warn("calls_per_hour_reached", "effect", "summaries are made without the model; at the limit answers stop",
			"limit", c.callsPerHour(true), "calls", c.calls())
	}
}

// spendOnSummary counts a call for a summary, unless the conversation is paused.
func (c *conversation) spendOnSummary() error {
	if c.paused(c.hub.ctx) {
		return errPaused
	}
	if err := c.hub.afford(time.Now()); err != nil {
		return err
	}
	return c.spendOn(false)
}

// affordsSummary reports whether a summary may be made with a model.
func (c *conversation) affordsSummary() bool {
	if c.paused(c.hub.ctx) || c.hub.afford(time.Now()) != nil {
		return false
	}
	most := c.callsPerHour(false)
	if most <= 0 || c.calls() < most {
		return true
	}
	c.reached()
	return false
}

// callsWords describes how many calls there were; "" if there is no limit.
func (c *conversation) callsWords() string {
	most := c.callsPerHour(true)
	if most <= 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d in the last hour", c.calls(), most)
}

// spending returns the function called before each model call of a turn; its error stops the call.
// A turn that has started may finish, even if that spends more than a budget allows.
func (c *conversation) spending(made *int) func() error {
	return func() error {
		if *made >= maxRequests {
			return llm.ErrTooManyCalls
		}
		if *made == 0 {
			if err := c.hub.afford(time.Now()); err != nil {
				return err
			}
		}
		if err := c.spendOn(true); err != nil {
			return err
		}
		*made++
		return nil
	}
}
