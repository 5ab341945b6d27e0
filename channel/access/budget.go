package access

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/llm"
	"cairn/llm/prices"
	"cairn/store"
)

// The bot's spending limits per day and per month, in US dollars. Only tokens are stored, so a corrected price also
// applies to what is already spent.

// Money says what tokens cost, and how much may be spent.
type Money struct {
	Prices   prices.List // these extend or correct the built-in prices
	PerDay   float64     // budget_per_day; 0: no limit
	PerMonth float64     // budget_per_month; 0: no limit

	PerPerson float64 // budget_per_person, a day; 0: no limit
}

// Limited reports whether a budget is set.
func (m Money) Limited() bool { return m.PerDay > 0 || m.PerMonth > 0 || m.PerPerson > 0 }

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

	budgetPerPerson = "budget_per_person"
	nearlySpent     = 0.8 // the share of a budget at which owners are warned
)

// String returns the budget in short: "$0.81 of $1.00 today".
func (b Budget) String() string {
	format := "%s of %s today"
	if b.Setting == budgetPerMonth {
		format = "%s of %s this month"
	}
	return fmt.Sprintf(format, prices.Money(b.Spent), prices.Money(b.Limit))
}

// Key identifies the budget and its period: "budget_per_day-2026-11-22".
func (b Budget) Key() string { return b.Setting + "-" + b.Period }

// Ends returns the end of the period, in local time.
func (b Budget) Ends() time.Time { return b.ends }

// NearlySpent reports whether so much is spent that owners, or the person, are warned.
func (b Budget) NearlySpent() bool { return b.Spent >= nearlySpent*b.Limit }

// IsSpent reports whether nothing is left.
func (b Budget) IsSpent() bool { return b.Spent >= b.Limit }

// Sentence tells people that the budget is spent, and what they can do.
func (b Budget) Sentence() string {
	what := "for today"
	when := fmt.Sprintf("in %s, when the next day begins", llm.InMinutes(time.Until(b.ends)))
	if b.Setting == budgetPerPerson {
		return fmt.Sprintf("Your budget for today is used up, so I cannot answer you now. Your message is saved; ask again in %s, when the next day begins, or ask the bot's operator to raise budget_per_person.", llm.InMinutes(time.Until(b.ends)))
	}
	if b.Setting == budgetPerMonth {
		what = "for this month"
		when = fmt.Sprintf("from %s on", b.ends.Format(time.DateOnly))
	}
	return fmt.Sprintf("The budget %s is used up, so I cannot answer now. Your message is saved; ask again %s, or ask the bot's operator to raise %s.", what, when, b.Setting)
}

// MonthStart returns the first day of now's month, in the form of the database rows.
func MonthStart(now time.Time) string { return now.Local().Format("2006-01") + "-01" }

func monthOf(day string) string { return day[:len("2026-11")] }

// addUsed adds usage to that of its month, which has an entry per day, model and length of prompts; it drops other months.
func addUsed(used []store.Usage, u store.Usage) []store.Usage {
	i := indexOf(used, u)
	if i < 0 {
		return append(slices.DeleteFunc(used, func(old store.Usage) bool { return monthOf(old.Day) != monthOf(u.Day) }), u)
	}
	used[i].Requests += u.Requests
	used[i].Tokens.Add(u.Tokens)
	return used
}

// lessUsed takes away usage that addUsed has added.
func lessUsed(used, gone []store.Usage) []store.Usage {
	for _, u := range gone {
		i := indexOf(used, u)
		if i < 0 { // its month was dropped
			continue
		}
		used[i].Requests -= u.Requests
		used[i].Tokens.Add(prices.Tokens{Input: -u.Input, Cached: -u.Cached, Written: -u.Written, Output: -u.Output})
		if used[i].Requests == 0 {
			used = slices.Delete(used, i, i+1)
		}
	}
	return used
}

// indexOf returns the entry that counts what u counts; -1: there is none.
func indexOf(used []store.Usage, u store.Usage) int {
	return slices.IndexFunc(used, func(known store.Usage) bool {
		return known.Day == u.Day && known.Model == u.Model && known.Long == u.Long
	})
}

// Budgets returns the budgets that are set, with what is spent; used is the usage since MonthStart.
func (m Money) Budgets(used []store.Usage, now time.Time) (all []Budget) {
	today := store.Day(now)
	year, month, _ := now.Local().Date()
	for _, one := range []Budget{
		{Setting: budgetPerDay, Period: today, Limit: m.PerDay, ends: dayEnd(now)},
		{Setting: budgetPerMonth, Period: monthOf(today), Limit: m.PerMonth, ends: time.Date(year, month+1, 1, 0, 0, 0, 0, time.Local)},
	} {
		if one.Limit > 0 {
			all = append(all, m.counted(one, used))
		}
	}
	return all
}

// OfPerson returns the budget of a person; used is what the person has used today.
func (m Money) OfPerson(used []store.Usage, now time.Time) Budget {
	return m.counted(Budget{Setting: budgetPerPerson, Period: store.Day(now), Limit: m.PerPerson, ends: dayEnd(now)}, used)
}

// counted returns a budget with what is spent in its period.
func (m Money) counted(b Budget, used []store.Usage) Budget {
	for _, u := range used {
		if strings.HasPrefix(u.Day, b.Period) {
			price, _ := m.Prices.Of(u.Model)
			b.Spent += price.Cost(u.Tokens, u.Long)
		}
	}
	return b
}

// dayEnd returns when the day of a time ends.
func dayEnd(now time.Time) time.Time {
	year, month, day := now.Local().Date()
	return time.Date(year, month, day+1, 0, 0, 0, 0, time.Local)
}
