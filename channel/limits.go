package channel

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/prices"
	"cairn/store"
)

// Respond says which messages the bot answers.
type Respond string

// The three ways to respond.
const (
	RespondMention Respond = "mention" // messages addressed to the bot
	RespondAll     Respond = "all"     // all messages; the bot may stay silent on those not addressed to it
	RespondNever   Respond = "never"   // no messages: the bot only listens
)

// Rules say who may do what.
type Rules struct {
	Respond        func(conversation string) Respond // nil: RespondMention everywhere
	Access         map[string]Access                 // by connector name
	TurnsPerMinute int                               // of one person, across all conversations; 0: no limit
	CallsPerHour   int                               // model calls for one conversation; a quarter is reserved for turns; 0: no limit
	Money          Money                             // what models cost, and how much may be spent
	Restricted     []string                          // names of commands that only managers may run; nil: those declared Restricted
}

// Access says who may use one connector. Ids are the platform's, for servers, channels, threads and
// people alike; no platform uses an id twice.
type Access struct {
	Allow    []string `toml:"allow"`    // if not empty, only people named here, or writing in a place named here, are heard
	Deny     []string `toml:"deny"`     // people named here, or writing in a place named here, are not heard; overrides Allow
	Bots     []string `toml:"bots"`     // ids of programs that are heard; all others are not
	Owners   []string `toml:"owners"`   // ids of people who may do everything
	Managers []string `toml:"managers"` // ids of people and roles who may run the restricted commands, besides those the platform trusts
}

// Limits on turns of a person per minute, on model calls per conversation and hour, and per turn: every attempt
// counts. They are in memory only: a crash loop cannot spend without end, since a turn is tried at most twice.

const (
	maxRequests = 3 * maxCalls // for one turn: maxCalls, plus twice that for retries when servers fail
	turnsShare  = 4            // 1/4 of an hour's calls is for turns only: summaries are then made without a model, and again later
)

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

// first counts an event of a key, and reports whether it is the first in a span.
func (r *recent) first(key string, span time.Duration) bool {
	n, _ := r.take(key, 1, span, true)
	return n == 0
}

// takeTurn counts a turn for each person in who and reports whether at least one had a turn left. tell is
// true if the people should get a notice that none is left: only if they asked, and once a minute.
func (h *Hub) takeTurn(who []string, asked bool) (ok, tell bool) {
	limit := h.rules.Load().TurnsPerMinute
	if limit <= 0 || len(who) == 0 {
		return true, false
	}
	for _, id := range who {
		_, wait := h.recent.take("turn of "+id, limit, time.Minute, true)
		ok = ok || wait == 0
	}
	for _, id := range who { // none of them has any left
		if !ok && asked {
			tell = h.recent.first("told "+id, time.Minute) || tell
		}
	}
	return ok, tell
}

// spendOn returns why there may be no call for a turn or for a summary now, and counts one if it may be and
// counts is set. At most once an hour it logs that the limit is reached.
func (c *conversation) spendOn(turn, counts bool) error {
	limit := c.hub.rules.Load().CallsPerHour
	most := limit
	if !turn {
		most -= limit / turnsShare
	}
	if limit <= 0 {
		return nil
	}
	calls, wait := c.hub.recent.take(c.callsKey(), most, time.Hour, counts)
	if wait == 0 {
		return nil
	}
	if c.hub.recent.first("logged "+c.callsKey(), time.Hour) {
		c.log.Warn("calls_per_hour_reached", "effect", "summaries are made without the model; at the limit answers stop", "limit", limit, "calls", calls)
	}
	return &spentError{"calls_per_hour", fmt.Sprintf("This conversation has reached its hourly limit of model calls, so I cannot answer now. Your message is saved; ask again in %s.", llm.InMinutes(wait))}
}

// warnOfBots logs, at most once an hour, that a bot's message is overheard because too many were answered.
func (c *conversation) warnOfBots(messages []Inbound, receipts []store.Receipt) {
	for i, receipt := range receipts {
		refused := messages[i].Bot && messages[i].Addressed && receipt.Fresh && !receipt.Addressed
		if refused && c.hub.recent.first("logged bots in "+c.name, time.Hour) {
			c.log.Warn("bot_turns_reached", "effect", "messages of other bots get no answer until a person writes", "limit", store.MaxBotTurns)
		}
	}
}

// callsKey is the key of the calls that count against an hour's limit.
func (c *conversation) callsKey() string { return "call in " + c.account() }

func (c *conversation) spendOnSummary(counts bool) error {
	if c.paused(c.hub.ctx) {
		return errPaused
	}
	if err := c.hub.afford(); err != nil {
		return err
	}
	return c.spendOn(false, counts)
}

// spending returns the function called before each model call of a turn; its error stops the call.
// A turn that has started may finish, even if that spends more than a budget allows.
func (c *conversation) spending() func() error {
	made := 0
	return func() (err error) {
		switch made {
		case 0:
			err = c.hub.afford()
		case maxRequests:
			err = llm.ErrTooManyCalls
		}
		if err == nil {
			err = c.spendOn(true, true)
		}
		if err == nil {
			made++
		}
		return err
	}
}

// The bot's spending limits per day and per month, in US dollars. Only tokens are stored, so a corrected price also
// applies to what is already spent.

// Money says what tokens cost, and how much may be spent.
type Money struct {
	Prices   prices.List // these extend or correct the built-in prices
	PerDay   float64     // budget_per_day; 0: no limit
	PerMonth float64     // budget_per_month; 0: no limit
}

// Limited reports whether a budget is set.
func (m Money) Limited() bool { return m.PerDay > 0 || m.PerMonth > 0 }

// Unlimited says what a missing price does.
const Unlimited = "it counts as 0, so no budget limits it"

// SetPrice says where the price of a model is set.
func SetPrice(model string) string {
	return fmt.Sprintf("set [prices.%q] in the settings, to 0 if it costs nothing", model)
}

// Budget is a limit and how much of it is spent.
type Budget struct {
	Setting string  `json:"setting"`
	Period  string  `json:"period"` // 2026-11-22 or 2026-11
	Limit   float64 `json:"limit" jsonschema:"in US dollars"`
	Spent   float64 `json:"spent" jsonschema:"in US dollars"`

	ends time.Time // end of the period
}

const (
	budgetPerDay   = "budget_per_day"
	budgetPerMonth = "budget_per_month"
	nearlySpent    = 0.8 // the share of a budget at which owners are warned
)

// String returns the budget in short: "$0.81 of $1.00 today".
func (b Budget) String() string {
	format := "%s of %s today"
	if b.Setting == budgetPerMonth {
		format = "%s of %s this month"
	}
	return fmt.Sprintf(format, prices.Money(b.Spent), prices.Money(b.Limit))
}

// MonthStart returns the first day of now's month, in the form of the database rows.
func MonthStart(now time.Time) string { return now.Local().Format("2006-01") + "-01" }

func monthOf(day string) string { return day[:len("2026-11")] }

// addUsed adds usage to that of its month, which has an entry per day, model and length of prompts; it drops other months.
func addUsed(used []store.Usage, u store.Usage) []store.Usage {
	i := slices.IndexFunc(used, func(known store.Usage) bool {
		return known.Day == u.Day && known.Model == u.Model && known.Long == u.Long
	})
	if i < 0 {
		return append(slices.DeleteFunc(used, func(old store.Usage) bool { return monthOf(old.Day) != monthOf(u.Day) }), u)
	}
	used[i].Requests += u.Requests
	used[i].Tokens.Add(u.Tokens)
	return used
}

// Budgets returns the budgets that are set, with what is spent; used is the usage since MonthStart.
func (m Money) Budgets(used []store.Usage, now time.Time) (all []Budget) {
	today := store.Day(now)
	year, month, day := now.Local().Date()
	for _, one := range []Budget{
		{Setting: budgetPerDay, Period: today, Limit: m.PerDay, ends: time.Date(year, month, day+1, 0, 0, 0, 0, time.Local)},
		{Setting: budgetPerMonth, Period: monthOf(today), Limit: m.PerMonth, ends: time.Date(year, month+1, 1, 0, 0, 0, 0, time.Local)},
	} {
		if one.Limit <= 0 {
			continue
		}
		for _, u := range used {
			if strings.HasPrefix(u.Day, one.Period) {
				price, _ := m.Prices.Of(u.Model)
				one.Spent += price.Cost(u.Tokens, u.Long)
			}
		}
		all = append(all, one)
	}
	return all
}

func (b Budget) key() string { return b.Setting + "-" + b.Period }

// Budgets returns the state of the budgets that are set.
func (o Operator) Budgets() (all []Budget) {
	o.hub.locked(func() { all = o.hub.rules.Load().Money.Budgets(o.hub.used, time.Now()) })
	return all
}

// afford returns why no money may be spent now, nil if some may: a budget is spent. It logs when a budget is spent.
func (h *Hub) afford() error {
	var spent Budget // the month comes after the day, and ends later
	for _, b := range h.Operator().Budgets() {
		if b.Spent < b.Limit {
			continue
		}
		spent = b
		if h.recent.first("logged "+b.key(), time.Until(b.ends)) {
			h.o.Log.Warn("budget_spent", "setting", b.Setting, "spent", prices.Money(b.Spent), "limit", prices.Money(b.Limit), "ends", b.ends, "effect", "answers stop, and summaries are made without a model")
		}
	}
	if spent.Setting == "" {
		return nil
	}
	what := "for today"
	when := fmt.Sprintf("in %s, when the next day begins", llm.InMinutes(time.Until(spent.ends)))
	if spent.Setting == budgetPerMonth {
		what = "for this month"
		when = fmt.Sprintf("from %s on", spent.ends.Format(time.DateOnly))
	}
	return &spentError{"budget", fmt.Sprintf("The budget %s is used up, so I cannot answer now. Your message is saved; ask again %s, or ask the bot's operator to raise %s.", what, when, spent.Setting)}
}

// spentError says that a budget, or a conversation's calls for this hour, are spent.
type spentError struct {
	class    string // one of FailureClasses
	sentence string // for people
}

func (e *spentError) Error() string { return "the limit is reached: " + e.class }
func (e *spentError) Unwrap() error { return compactor.ErrSpent }
