package channel

import (
	"cmp"
	"slices"

	"cairn/llm/prices"
	"cairn/store"
)

// UsageKeys are the keys by which a report can group its rows.
var UsageKeys = []string{"day", "conversation", "model"}

// UsageReport is what `cairn usage` shows.
type UsageReport struct {
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

// NewUsageReport adds up usage by one of UsageKeys; since is the first day it covers.
func NewUsageReport(used []store.Usage, since, by string, list prices.List) UsageReport {
	r := UsageReport{Since: since, By: by, Rows: []UsageRow{}, NoPrice: []string{}}
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
