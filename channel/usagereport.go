package channel

import (
	"cmp"
	"encoding/json"
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

// UsageRow is the usage of a day, a conversation or a model.
type UsageRow struct {
	Key string `json:"-"` // a day, a conversation or a model
	by  string
	Expenses
}

// MarshalJSON names the key: {"day": "2026-11-22", "requests": …}.
func (r UsageRow) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(r.Expenses)
	if err != nil {
		return nil, err
	}
	key, err := json.Marshal(r.Key)
	return slices.Concat([]byte(`{"`+r.by+`":`), key, []byte(","), text[1:]), err
}

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
	at := map[string]int{}
	for _, u := range used {
		key := map[string]string{"day": u.Day, "conversation": u.Conversation, "model": u.Model}[by]
		if _, known := at[key]; !known {
			at[key] = len(r.Rows)
			r.Rows = append(r.Rows, UsageRow{Key: key, by: by})
		}
		r.Rows[at[key]].add(u, list)
		if !r.Total.add(u, list) && !slices.Contains(r.NoPrice, u.Model) {
			r.NoPrice = append(r.NoPrice, u.Model)
		}
	}
	if by != "day" { // days are in order; otherwise the most expensive come first
		slices.SortStableFunc(r.Rows, func(a, b UsageRow) int {
			return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Input, a.Input), cmp.Compare(a.Key, b.Key))
		})
	}
	return r
}
