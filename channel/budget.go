package channel

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/prices"
	"cairn/store"
)

// The bot's spending limits per day and per month, in the currency of the prices. Only tokens are
// stored, so a corrected price also applies to what is already spent.

// Money says what tokens cost, and how much may be spent.
type Money struct {
	Prices   prices.List // these extend or correct the built-in prices
	PerDay   float64     // budget_per_day; 0: no limit
	PerMonth float64     // budget_per_month; 0: no limit
}

// Budget is a limit and how much of it is spent.
type Budget struct {
	Setting string  `json:"setting"`
	Period  string  `json:"period"` // 2026-11-22 or 2026-11
	Limit   float64 `json:"limit"`
	Spent   float64 `json:"spent"`

	ends time.Time // end of the period
}

const (
	budgetPerDay   = "budget_per_day"
	budgetPerMonth = "budget_per_month"
	nearlySpent    = 0.8 // the share of a budget at which owners are warned
)

func (b Budget) isSpent() bool { return b.Spent >= b.Limit }

// String returns the budget in short: "0.81 of 1.00 today".
func (b Budget) String() string {
	when := "today"
	if b.Setting == budgetPerMonth {
		when = "this month"
	}
	return fmt.Sprintf("%s of %s %s", prices.Money(b.Spent), prices.Money(b.Limit), when)
}

// MonthStart returns the first day of now's month, in the form of the database rows.
func MonthStart(now time.Time) string { return now.Local().Format("2006-01") + "-01" }

// Budgets returns the budgets that are set; used holds the usage rows since MonthStart.
func (m Money) Budgets(used []store.Usage, now time.Time) []Budget {
	return newBudgets(used).state(m, now)
}

// budgets tracks what was used this month, across all conversations.
type budgets struct {
	logged sync.Map // the budgets logged as spent, by setting and period

	mu   sync.Mutex    // guards used
	used []store.Usage // of this month, one entry per day and model
}

// newBudgets starts with earlier usage, oldest first.
func newBudgets(used []store.Usage) *budgets {
	b := new(budgets)
	b.add(used...)
	return b
}

func tokensOf(u store.Usage) prices.Tokens {
	return prices.Tokens{Input: u.Input, Cached: u.Cached, Written: u.Written, Output: u.Output}
}

func monthOf(day string) string { return day[:len("2026-11")] }

// add counts what requests used.
func (b *budgets) add(used ...store.Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, u := range used {
		i := slices.IndexFunc(b.used, func(known store.Usage) bool { return known.Day == u.Day && known.Model == u.Model })
		if i >= 0 {
			b.used[i].AddAll(u)
			continue
		}
		b.used = slices.DeleteFunc(b.used, func(old store.Usage) bool { return monthOf(old.Day) != monthOf(u.Day) })
		b.used = append(b.used, u)
	}
}

// state returns the budgets that are set, with what is spent.
func (b *budgets) state(m Money, now time.Time) (all []Budget) {
	b.mu.Lock()
	defer b.mu.Unlock()
	today := store.Day(now)
	year, month, day := now.Local().Date()
	for _, one := range []Budget{
		{Setting: budgetPerDay, Period: today, Limit: m.PerDay, ends: time.Date(year, month, day+1, 0, 0, 0, 0, time.Local)},
		{Setting: budgetPerMonth, Period: monthOf(today), Limit: m.PerMonth, ends: time.Date(year, month+1, 1, 0, 0, 0, 0, time.Local)},
	} {
		if one.Limit <= 0 {
			continue
		}
		for _, u := range b.used {
			if strings.HasPrefix(u.Day, one.Period) {
				price, _ := m.Prices.Of(u.Model)
				one.Spent += price.Cost(tokensOf(u))
			}
		}
		all = append(all, one)
	}
	return all
}

func (b Budget) key() string { return b.Setting + "-" + b.Period }

// afford returns why no money may be spent now, nil if some may: a budget is spent. It logs when a budget is spent.
func (h *Hub) afford(now time.Time) error {
	var spent Budget // the month comes after the day, and ends later
	for _, b := range h.budget.state(h.rules.Load().Money, now) {
		if !b.isSpent() {
			continue
		}
		spent = b
		if _, logged := h.budget.logged.LoadOrStore(b.key(), true); !logged {
			h.o.Log.Warn("budget_spent", "setting", b.Setting, "spent", b.Spent, "limit", b.Limit, "ends", b.ends, "effect", "answers stop, and summaries are made without a model")
		}
	}
	if spent.Setting == "" {
		return nil
	}
	what, when := "for today", fmt.Sprintf("in %s, when the next day begins", llm.InMinutes(spent.ends.Sub(now)))
	if spent.Setting == budgetPerMonth {
		what, when = "for this month", fmt.Sprintf("from %s on", spent.ends.Format(time.DateOnly))
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
