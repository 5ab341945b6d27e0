package channel

import (
	"fmt"
	"sync"
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
	recent           // by conversation
	reached sync.Map // the conversations for which it is logged that the limit is reached
}

// callsLimit returns how many calls an hour may have, and how many of them may be for summaries; ok
// is false if there is no limit.
func (c *conversation) callsLimit() (turns, summaries int, ok bool) {
	turns = c.hub.rules.Load().CallsPerHour
	return turns, turns - turns/turnsShare, turns > 0
}

// calls returns how many calls there were in the last hour.
func (c *conversation) calls() int { return c.hub.calls.count(time.Hour, c.account(), time.Now()) }

// spendOn counts a call for a turn or for a summary.
func (c *conversation) spendOn(turn bool) error {
	if !turn {
		if err := c.hub.afford(time.Now()); err != nil {
			return err
		}
	}
	most, summaries, limited := c.callsLimit()
	if !limited {
		return nil
	}
	if !turn {
		most = summaries
	}
	wait, ok := c.hub.calls.take(most, time.Hour, c.account(), time.Now())
	if !ok {
		c.reached()
		return &spentError{"calls_per_hour", fmt.Sprintf("This conversation has reached its hourly limit of model calls, so I cannot answer now. Your message is saved; ask again in %s.", llm.InMinutes(wait))}
	}
	if c.calls() < max(summaries/2, 2) { // some slack, so that one expired call is not enough
		if _, logged := c.hub.calls.reached.LoadAndDelete(c.account()); logged {
			c.log.Info("calls_available")
		}
	}
	return nil
}

// reached logs once per incident that the limit is reached.
func (c *conversation) reached() {
	if _, logged := c.hub.calls.reached.LoadOrStore(c.account(), true); !logged {
		c.log.Warn("calls_per_hour_reached", "effect", "summaries are made without the model; at the limit answers stop",
			"limit", c.hub.rules.Load().CallsPerHour, "calls", c.calls())
	}
}

// affordsSummary reports whether a summary may be made with a model.
func (c *conversation) affordsSummary() bool {
	if c.paused(c.hub.ctx) || c.hub.afford(time.Now()) != nil {
		return false
	}
	_, summaries, limited := c.callsLimit()
	if !limited || c.calls() < summaries-min(3, summaries/4) { // room for more than the first call of a summary
		return true
	}
	c.reached()
	return false
}

// callsWords describes how many calls there were; "" if there is no limit.
func (c *conversation) callsWords() string {
	most, _, limited := c.callsLimit()
	if !limited {
		return ""
	}
	return fmt.Sprintf("%d of %d in the last hour", c.calls(), most)
}

// lastCall reports whether the next call of a turn is the last one allowed.
func (c *conversation) lastCall() bool {
	if c.hub.afford(time.Now()) != nil {
		return true
	}
	most, _, limited := c.callsLimit()
	return limited && c.calls() >= most-1
}

// spending returns the function called before each model call of a turn; its error stops the call.
func (c *conversation) spending(made *int) func() error {
	return func() error {
		if *made >= maxRequests {
			return llm.ErrTooManyCalls
		}
		if *made == 0 { // a turn that has started may finish, but without more tools: see lastCall
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
