// cairn usage: what the models were used for, and its cost.

package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/channel/access"
	"cairn/channel/report"
	"cairn/llm/prices"
	"cairn/memory"
	"cairn/store"
)

func newUsage(a *app) *cobra.Command {
	since := ""
	by := "day"
	cmd := a.withJSON("one JSON object", &cobra.Command{
		Use:   "usage [--since TIME] [--by day|conversation|model] [--json]",
		Short: "Show model usage and its cost",
		Long: `Show the tokens that models used, and their cost. INPUT includes tokens read from the
provider's cache (CACHED) and written to it (WRITTEN); COST includes summaries (SUMMARIES). Days
are those of time_zone.

Token counts are the provider's. Prices are built in; [prices] in the settings adds or overrides
them. A model without a price counts as 0, and is listed. While the bot runs, its prices count.`,
		Example: `  cairn usage --since 7d
  cairn usage --since 2026-11-01 --by model
  cairn usage --by conversation --json | jq '.rows[0].cost'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := timeOf(cmd, "since", since, memory.Ago); err != nil {
				return err
			}
			used, err := reading(cmd.Context(), a,
				func(bot *otherBot) (report.Usage, error) { return bot.usage(cmd.Context(), since, by) },
				func() (report.Usage, error) { return a.readUsage(cmd, since, by) })
			if err != nil {
				return err
			}
			return a.show(a.out, usageTable{used})
		},
	})
	cmd.Flags().StringVar(&since, "since", "", "only from the day of `TIME` on: 2026-05-08, 36h, 7d, 2w (default: all time)")
	cmd.Flags().Func("by", "one row for each `KEY`: day, conversation or model (default: day)", oneOf(&by, report.UsageKeys))
	return cmd
}

// readUsage reads the usage from the database, with the prices of this shell's settings.
func (a *app) readUsage(cmd *cobra.Command, since, by string) (u report.Usage, err error) {
	err = a.withPast(cmd, since, "", func(db *store.Store, from time.Time, _ string) error {
		day := ""
		if !from.IsZero() {
			day = store.Day(from)
		}
		used, err := db.Usage(cmd.Context(), day)
		if err == nil {
			u = report.NewUsage(used, day, by, a.settings.Money().Prices)
		}
		return err
	})
	return u, err
}

// usageTable is the usage as a table.
type usageTable struct{ report.Usage }

func (r usageTable) String() string {
	if len(r.Rows) == 0 {
		if r.Since == "" {
			return "No model has been used yet."
		}
		return "No model has been used since " + r.Since + "."
	}
	t := table{{strings.ToUpper(r.By), "REQUESTS", "INPUT", "CACHED", "WRITTEN", "OUTPUT", "COST", "SUMMARIES"}}
	for _, row := range r.Rows {
		t = append(t, columns(row.Key(), row.Expenses))
	}
	text := strings.TrimSuffix(append(t, columns("total", r.Total)).aligned("lr"), "\n")
	for _, model := range r.NoPrice {
		text += fmt.Sprintf("\nno price for %s: it counts as 0; %s", model, access.SetPrice(model))
	}
	return text
}

func columns(name string, e report.Expenses) []string {
	cells := []string{name}
	for _, n := range []int64{e.Requests, e.Input, e.Cached, e.Written, e.Output} {
		cells = append(cells, fmt.Sprint(n))
	}
	return append(cells, prices.Exact(e.Cost), prices.Exact(e.Summaries.Cost))
}
