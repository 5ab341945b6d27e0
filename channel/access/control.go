package access

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/prices"
	"cairn/store"
)

// Control applies the current rules, and counts what they limit. It is safe for concurrent use. Where one process is all that there can
// be, the counters of turns and calls are in memory only: a crash loop cannot spend without end, since a turn is tried at most twice.
type Control struct {
	log      *slog.Logger
	rules    atomic.Pointer[Rules]
	recent   recent // turns of people, model calls in conversations, and what they and the log were told about limits
	spending spending
	others   Others // nil: there can be none
	unsaved  unsavedCalls
}

// New returns a control. used is the usage of models since MonthStart; budgets count it.
func New(rules Rules, used []store.Usage, log *slog.Logger) *Control {
	c := &Control{log: log, recent: recent{ends: make(map[string][]time.Time)}}
	c.rules.Store(&rules)
	for _, u := range used {
		c.spending.stored = addUsed(c.spending.stored, u)
	}
	return c
}

// Rules returns the current rules. Another pointer means that they were replaced.
func (c *Control) Rules() *Rules { return c.rules.Load() }

// Renew replaces the rules.
func (c *Control) Renew(rules Rules) { c.rules.Store(&rules) }

// First counts an event of a key, and reports whether it is the first in a span.
func (c *Control) First(key string, span time.Duration) bool {
	n, _ := c.recent.take(key, 1, span, true)
	return n == 0
}

// TakeTurn counts a turn for each person in who and reports whether at least one had a turn left. tell is
// true if the people should get a notice that none is left: only if they asked, and once a minute.
func (c *Control) TakeTurn(ctx context.Context, who []string, asked bool) (ok, tell bool, err error) {
	limit := c.Rules().TurnsPerMinute
	if limit <= 0 || len(who) == 0 {
		return true, false, nil
	}
	left := true
	if c.others != nil {
		left, err = c.others(ctx, who, limit, time.Minute)
	}
	if err != nil {
		return false, false, err
	}
	for _, id := range who {
		if left {
			_, wait := c.recent.take("turn of "+id, limit, time.Minute, true)
			ok = ok || wait == 0
		}
	}
	for _, id := range who { // none of them has any left
		if !ok && asked {
			tell = c.First("told "+id, time.Minute) || tell
		}
	}
	return ok, tell, nil
}

// Count adds the usage of a model request to what budgets count. It logs, once a day, that a budget does not count it,
// and that a budget is spent.
func (c *Control) Count(u store.Usage) {
	c.spending.add(u)
	money := c.Rules().Money
	_, priced := money.Prices.Of(u.Model)
	if !priced && money.Limited() && c.First("no price for "+u.Model, 24*time.Hour) {
		c.log.Warn("model_without_price", "model", u.Model, "effect", Unlimited, "hint", SetPrice(u.Model))
	}
	_ = c.afford()
}

// Budgets returns the state of the budgets that are set.
func (c *Control) Budgets() []Budget { return c.Rules().Money.Budgets(c.spending.all(), time.Now()) }

// afford returns why no money may be spent now, nil if some may: a budget is spent. It logs when a budget is spent.
func (c *Control) afford() error {
	var spent Budget // the month comes after the day, and ends later
	for _, b := range c.Budgets() {
		if b.Spent < b.Limit {
			continue
		}
		spent = b
		if c.First("logged "+b.Key(), time.Until(b.ends)) {
			c.log.Warn("budget_spent", "setting", b.Setting, "spent", prices.Money(b.Spent), "limit", prices.Money(b.Limit), "ends", b.ends, "effect", "answers stop, and summaries are made without a model")
		}
	}
	if spent.Setting == "" {
		return nil
	}
	return &SpentError{Class: "budget", Sentence: spent.Sentence()}
}

// Calls limits the model calls of a conversation of people, and of the tasks below it, per hour. Every attempt counts.
type Calls struct {
	control *Control
	account string // name of the conversation of people
	log     *slog.Logger
}

// turnsShare is the share of an hour's calls that is for turns only: 1/4. Summaries are then made without a model, and again later.
const turnsShare = 4

// Calls returns the limit for the calls of a conversation, which log names, and that count for the account.
func (c *Control) Calls(account string, log *slog.Logger) Calls {
	return Calls{control: c, account: account, log: log}
}

// InLastHour returns how many calls the last hour had, and their limit; 0: no limit, and they are not counted.
func (c Calls) InLastHour() (made, limit int) {
	limit = c.control.Rules().CallsPerHour
	if limit > 0 {
		made, _ = c.control.recent.take(c.key(), limit, time.Hour, false)
	}
	return made, limit
}

// ForTurn returns the function called before each model call of a turn; its error stops the call: a *SpentError, or
// llm.ErrTooManyCalls after so many calls. A turn that has started may finish, even if that spends more than a budget allows.
func (c Calls) ForTurn(most int) func() error {
	count := 0
	return func() error {
		if count == most {
			return llm.ErrTooManyCalls
		}
		if count == 0 {
			if err := c.control.afford(); err != nil {
				return err
			}
		}
		limit := c.control.Rules().CallsPerHour
		err := c.take(limit, limit, true)
		if err == nil {
			count++
		}
		return err
	}
}

// ForSummary returns why no model may be called for a summary now, a *SpentError, and counts a call if one may be and counts is set.
func (c Calls) ForSummary(counts bool) error {
	if err := c.control.afford(); err != nil {
		return err
	}
	limit := c.control.Rules().CallsPerHour
	return c.take(limit, limit-limit/turnsShare, counts)
}

// take returns why there may be no call now: of the limit, this hour had the most that there may be. Otherwise it counts
// one if counts is set. At most once an hour it logs that the limit is reached.
func (c Calls) take(limit, most int, counts bool) error {
	if limit <= 0 {
		return nil
	}
	calls, wait := c.control.recent.take(c.key(), most, time.Hour, counts)
	if wait == 0 {
		if counts && c.control.others != nil {
			c.control.unsaved.add(c.account, 1)
		}
		return nil
	}
	if c.control.First("logged "+c.key(), time.Hour) {
		c.log.Warn("calls_per_hour_reached", "effect", "summaries are made without the model; at the limit answers stop", "limit", limit, "calls", calls)
	}
	return &SpentError{
		Class:    "calls_per_hour",
		Sentence: fmt.Sprintf("This conversation has reached its hourly limit of model calls, so I cannot answer now. Your message is saved; ask again in %s.", llm.InMinutes(wait)),
	}
}

func (c Calls) key() string { return "call in " + c.account }

// SpentError says that a budget, or a conversation's calls for this hour, are spent.
type SpentError struct {
	Class    string // "budget" or "calls_per_hour"
	Sentence string // for people
}

func (e *SpentError) Error() string { return "the limit is reached: " + e.Class }

// Unwrap returns compactor.ErrSpent.
func (e *SpentError) Unwrap() error { return compactor.ErrSpent }

// recent counts the events of the last minute, hour or day, by key. It is safe for concurrent use.
type recent struct {
	mu    sync.Mutex             // guards all below
	ends  map[string][]time.Time // when each event no longer counts, oldest first
	swept time.Time
}

// take returns how many events of a key there were in the last span. If that is fewer than most, there is no need to wait,
// and counts adds one.
func (r *recent) take(key string, most int, span time.Duration, counts bool) (n int, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	over := func(end time.Time) bool { return !end.After(now) }
	if now.Sub(r.swept) >= time.Minute {
		r.swept = now
		maps.DeleteFunc(r.ends, func(_ string, ends []time.Time) bool { return len(ends) == 0 || over(ends[len(ends)-1]) })
	}
	ends := slices.DeleteFunc(r.ends[key], over)
	n = len(ends)
	if n >= most {
		wait = ends[n-most].Sub(now)
	} else if counts {
		ends = append(ends, now.Add(span))
	}
	r.ends[key] = ends
	return n, wait
}
