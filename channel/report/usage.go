// What models were used for, and what that costs.

package report

import (
	"cmp"
	"context"
	"slices"
	"time"

	"cairn/channel/access"
	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/prices"
	"cairn/store"
)

// Expense is what model requests used, and what that costs.
type Expense struct {
	Requests int64 `json:"requests"`
	prices.Tokens
	Cost float64 `json:"cost" jsonschema:"in US dollars"`
}

// Add adds usage. priced is false if the model's price is unknown: then it counts as 0.
func (e *Expense) Add(u store.Usage, list prices.List) (priced bool) {
	e.Requests += u.Requests
	e.Tokens.Add(u.Tokens)
	price, priced := list.Of(u.Model)
	e.Cost += price.Cost(u.Tokens, u.Long)
	return priced
}

// Spending is a conversation's model usage and its cost.
type Spending struct {
	Today       Expense         `json:"today"`
	Total       Expense         `json:"total"`
	Summaries   Expense         `json:"summaries"`                        // part of Total
	SavedTokens int64           `json:"saved_tokens"`                     // tokens that summaries kept out of the requests of turns, approximately
	Saved       float64         `json:"saved" jsonschema:"in US dollars"` // what these would cost as cached input of the current model
	Budgets     []access.Budget `json:"budgets"`                          // of the whole bot; those that are set
	NoPrice     []string        `json:"no_price"`                         // models that count as 0 because their price is unknown
}

// ReadSpending reads what a conversation's models were used for. The model answers in it, by the policy; all are the budgets of
// the bot. It may ask the model's server.
func ReadSpending(
	ctx context.Context, records *store.Conversation, model llm.Model, policy compactor.Policy, list prices.List, all ...access.Budget,
) (*Spending, error) {
	used, err := records.Turns().Usage(ctx)
	if err != nil {
		return nil, err
	}
	usage := NewUsage(used, "", "day", list)
	s := &Spending{Total: usage.Total.Expense, Summaries: usage.Total.Summaries, NoPrice: usage.NoPrice}
	s.Budgets = append([]access.Budget{}, all...)
	for _, row := range usage.Rows {
		if row.Day == store.Day(time.Now()) {
			s.Today = row.Expense
		}
	}
	window := policy.Window(model.Window(ctx).Tokens)
	s.SavedTokens, err = records.Turns().Saved(ctx, compactor.BurstBudget(window))
	price, _ := list.Of(model.Name())
	s.Saved = price.Cost(prices.Tokens{Input: s.SavedTokens, Cached: s.SavedTokens}, false)
	return s, err
}

// UsageKeys are the keys by which Usage can group its rows.
var UsageKeys = []string{"day", "conversation", "model"}

// Usage is what `cairn usage` shows: what models were used for, by day, conversation or model.
type Usage struct {
	Since   string     `json:"since"` // a day; empty: all time
	By      string     `json:"by"`
	Rows    []UsageRow `json:"rows"`
	Total   Expenses   `json:"total"`
	NoPrice []string   `json:"no_price"` // models that count as 0
}

// UsageRow is the usage of a day, a conversation or a model: only that one is set.
type UsageRow struct {
	Day          string `json:"day,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	Model        string `json:"model,omitempty"`
	Expenses
}

// Key returns the value that the row is grouped by.
func (r UsageRow) Key() string { return cmp.Or(r.Day, r.Conversation, r.Model) }

// Expenses are the expense of all requests, and the part of it for summaries.
type Expenses struct {
	Expense
	Summaries Expense `json:"summaries"`
}

func (e *Expenses) add(u store.Usage, list prices.List) (priced bool) {
	if u.Kind == store.ForSummary {
		e.Summaries.Add(u, list)
	}
	return e.Add(u, list)
}

// NewUsage adds up usage by one of UsageKeys; since is the first day it covers.
func NewUsage(used []store.Usage, since, by string, list prices.List) Usage {
	r := Usage{Since: since, By: by, Rows: []UsageRow{}, NoPrice: []string{}}
	at := map[UsageRow]int{}
	for _, u := range used {
		row := map[string]UsageRow{"day": {Day: u.Day}, "conversation": {Conversation: u.Conversation}, "model": {Model: u.Model}}[by]
		if _, known := at[row]; !known {
			at[row] = len(r.Rows)
			r.Rows = append(r.Rows, row)
		}
		r.Rows[at[row]].add(u, list)
		if !r.Total.add(u, list) && !slices.Contains(r.NoPrice, u.Model) {
			r.NoPrice = append(r.NoPrice, u.Model)
		}
	}
	if by != "day" { // days are in order; otherwise the most expensive come first
		slices.SortStableFunc(r.Rows, func(a, b UsageRow) int {
			return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Input, a.Input), cmp.Compare(a.Key(), b.Key()))
		})
	}
	return r
}
