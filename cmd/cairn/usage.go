// cairn usage: what models were used for, and what that cost.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/llm/prices"
	"cairn/memory"
)

func newUsage(a *app) *cobra.Command {
	var since, by string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "usage [--since TIME] [--by day|conversation|model] [--json]",
		Short: "Show what models were used for, and what it cost",
		Long: `Show the tokens that models used, and what they cost. INPUT includes what was read from
the provider's cache (CACHED) and written to it (WRITTEN); COST includes summaries
(SUMMARIES). Days end in time_zone.

Tokens are as the provider counts them. Prices are the built-in ones and those of [prices]
in the settings; a model without a price counts as 0 and is named. It works while the bot
runs.`,
		Example: `  cairn usage --since 7d
  cairn usage --since 2026-11-01 --by model
  cairn usage --by conversation --json | jq '.rows[0].cost'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(usageKeys, by) {
				return wrongUse(cmd, fmt.Errorf("--by %q: there are %s", by, strings.Join(usageKeys, ", ")))
			}
			from, err := a.since(cmd, since)
			if err != nil {
				return err
			}
			return a.look(cmd.Context(), func(store *memory.Store) error {
				day := ""
				if !from.IsZero() {
					day = memory.Day(from)
				}
				used, err := store.Usage(cmd.Context(), day)
				if err != nil {
					return err
				}
				return a.show(a.out, usageReport(used, day, by, a.settings.Money().Prices), asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "only from the day of `TIME` on: 2026-05-08, 36h, 7d, 2w (default: all time)")
	cmd.Flags().StringVar(&by, "by", "day", "one row for each `KEY`: day, conversation or model")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// usageKeys are what rows can be made by.
var usageKeys = []string{"day", "conversation", "model"}

// report is what cairn usage shows.
type report struct {
	Since   string      `json:"since"` // a day; empty: all time
	By      string      `json:"by"`
	Rows    []reportRow `json:"rows"`
	Total   expenses    `json:"total"`
	NoPrice []string    `json:"no_price"` // models that count as 0
}

type reportRow struct {
	key string // a day, a conversation or a model
	by  string
	expenses
}

// MarshalJSON names the key: {"day": "2026-11-22", "requests": …}.
func (r reportRow) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(r.expenses)
	if err != nil {
		return nil, err
	}
	key, err := json.Marshal(r.key)
	return slices.Concat([]byte(`{"`+r.by+`":`), key, []byte(","), text[1:]), err
}

// expenses are what requests took, and of them those of summaries.
type expenses struct {
	channel.Expense
	Summaries channel.Expense `json:"summaries"`
}

func (e *expenses) add(u memory.Usage, list prices.List) (priced bool) {
	if u.Kind == memory.ForSummary {
		e.Summaries.Add(u, list)
	}
	return e.Add(u, list)
}

func usageReport(used []memory.Usage, since, by string, list prices.List) report {
	r := report{Since: since, By: by, Rows: []reportRow{}, NoPrice: []string{}}
	at := map[string]int{}
	for _, u := range used {
		key := map[string]string{"day": u.Day, "conversation": u.Conversation, "model": u.Model}[by]
		if _, known := at[key]; !known {
			at[key] = len(r.Rows)
			r.Rows = append(r.Rows, reportRow{key: key, by: by})
		}
		r.Rows[at[key]].add(u, list)
		if !r.Total.add(u, list) && !slices.Contains(r.NoPrice, u.Model) {
			r.NoPrice = append(r.NoPrice, u.Model)
		}
	}
	if by != "day" { // days are in order, of others the most expensive stand first
		slices.SortStableFunc(r.Rows, func(a, b reportRow) int {
			return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Input, a.Input), cmp.Compare(a.key, b.key))
		})
	}
	return r
}

// String is the report as a table.
func (r report) String() string {
	if len(r.Rows) == 0 {
		if r.Since == "" {
			return "No model was used yet."
		}
		return "No model was used since " + r.Since + "."
	}
	lines := [][]string{{strings.ToUpper(r.By), "REQUESTS", "INPUT", "CACHED", "WRITTEN", "OUTPUT", "COST", "SUMMARIES"}}
	for _, row := range r.Rows {
		lines = append(lines, row.expenses.columns(row.key))
	}
	lines = append(lines, r.Total.columns("total"))
	right := slices.Repeat([]bool{true}, len(lines[0]))
	right[0] = false
	text := strings.TrimSuffix(table(lines).aligned(right), "\n")
	for _, model := range r.NoPrice {
		text += fmt.Sprintf("\nno price for %s: it counts as 0; set [prices.%q] in the settings", model, model)
	}
	return text
}

func (e expenses) columns(name string) []string {
	columns := []string{name}
	for _, n := range []int64{e.Requests, e.Input, e.Cached, e.Written, e.Output} {
		columns = append(columns, fmt.Sprint(n))
	}
	return append(columns, fmt.Sprintf("%.4f", e.Cost), fmt.Sprintf("%.4f", e.Summaries.Cost))
}
