// cairn models, usage: what the configured servers offer, and what was used.

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/channel"
	"cairn/compactor"
	"cairn/config"
	"cairn/llm"
	"cairn/store"
)

func newModels(a *app) *cobra.Command {
	return a.withJSON("one JSON object per line", &cobra.Command{
		Use:   "models [--json]",
		Short: "List the models that the configured servers offer",
		Long: `List the models of all servers in the settings and the environment: the protocol (wire), the
context window in tokens, whether the model supports tools and pictures, and which agents use it;
"default" is chosen if the settings name none. If a cell is empty, the server does not say. Exit
code 1: no server answered.`,
		Example: `  cairn models
  cairn models --json | jq -r 'select(.tools == "yes") | .model'`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.models(cmd.Context()) },
	})
}

type offeredModel struct {
	Model   string   `json:"model"`  // as written in the settings
	Server  string   `json:"server"` // its address
	Wire    string   `json:"wire"`
	Window  int      `json:"window,omitempty"` // tokens; 0: the server does not say
	Tools   string   `json:"tools,omitempty"`  // "yes", "no"; empty: the server does not say
	Images  string   `json:"vision,omitempty"` // as Tools
	Used    []string `json:"used,omitempty"`   // "agent cairn", "summaries of cairn"
	Default bool     `json:"default"`          // used if the settings name no model
}

func (m offeredModel) cells() []string {
	used := m.Used
	if m.Default {
		used = append([]string{"default"}, used...)
	}
	return []string{m.Model, m.Wire, unlessZero(m.Window), m.Tools, m.Images, m.Server, strings.Join(used, ", ")}
}

func (a *app) models(ctx context.Context) error {
	servers, err := a.settings.Servers()
	if err != nil {
		return usage(err)
	}
	if len(servers) == 0 {
		return usage(errors.New("no server is named: set OPENAI_API_KEY, ANTHROPIC_API_KEY, or base_url under [llm]"))
	}
	var all []offeredModel
	answered := 0
	for _, at := range servers {
		found, err := a.offered(ctx, at)
		if err != nil {
			fmt.Fprintln(a.err, a.secrets.mask(explained(cmp.Or(at.Provider, config.ShownAddress(at.BaseURL)), err).Error()))
			continue
		}
		answered++
		all = append(all, found...)
	}
	if answered == 0 {
		return errors.New("no server listed its models, see above")
	}
	return showTable(a, "MODEL WIRE WINDOW TOOLS VISION SERVER USED", all, offeredModel.cells)
}

const listTimeout = 30 * time.Second

// offered returns the models that a server lists, followed by models that are used but not listed:
// a server may serve models that it does not list.
func (a *app) offered(ctx context.Context, at config.UsedServer) (all []offeredModel, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	model, err := newModelSet(slog.New(slog.DiscardHandler)).model(config.Target{Server: at.Server}, 0, compactor.AutoTTL)
	if err != nil {
		return nil, err
	}
	listed, err := model.Models(ctx)
	if err != nil {
		return nil, err
	}
	model.Window(ctx) // chooses a model if none is named
	chosen := model.Name()
	for name := range at.Used {
		if name != "" && !slices.ContainsFunc(listed, func(o llm.Offered) bool { return o.ID == name }) {
			listed = append(listed, llm.Offered{ID: name})
		}
	}
	for _, o := range listed {
		m := offeredModel{
			Model: model.prefix + o.ID, Server: config.ShownAddress(at.BaseURL), Wire: model.Wire(),
			Window: o.Window, Tools: o.Tools, Images: o.Images, Used: at.Used[o.ID], Default: o.ID == chosen,
		}
		if m.Default {
			m.Used = append(slices.Clone(m.Used), at.Used[""]...)
		}
		all = append(all, m)
	}
	return all, nil
}

func newUsage(a *app) *cobra.Command {
	since, by := "", "day"
	cmd := a.withJSON("one JSON object", &cobra.Command{
		Use:   "usage [--since TIME] [--by day|conversation|model] [--json]",
		Short: "Show model usage and its cost",
		Long: `Show the tokens that models used, and their cost. INPUT includes tokens read from the
provider's cache (CACHED) and written to it (WRITTEN); COST includes summaries (SUMMARIES). Days
are those of time_zone.

Token counts are the provider's. Prices are built in; [prices] in the settings adds or overrides
them. A model without a price counts as 0, and is named. It works while the bot runs.`,
		Example: `  cairn usage --since 7d
  cairn usage --since 2026-11-01 --by model
  cairn usage --by conversation --json | jq '.rows[0].cost'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withPast(cmd, since, "", func(db *store.Store, from time.Time, _ string) error {
				day := ""
				if !from.IsZero() {
					day = store.Day(from)
				}
				used, err := db.Usage(cmd.Context(), day)
				if err != nil {
					return err
				}
				return a.show(a.out, report{channel.NewUsageReport(used, day, by, a.settings.Money().Prices)})
			})
		},
	})
	cmd.Flags().StringVar(&since, "since", "", "only from the day of `TIME` on: 2026-05-08, 36h, 7d, 2w (default: all time)")
	cmd.Flags().Var(choice{&by, channel.UsageKeys}, "by", "one row for each `KEY`: day, conversation or model")
	return cmd
}

type report struct{ channel.UsageReport }

func (r report) String() string {
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
		text += fmt.Sprintf("\nno price for %s: it counts as 0; set [prices.%q] in the settings", model, model)
	}
	return text
}

func columns(name string, e channel.Expenses) []string {
	cells := []string{name}
	for _, n := range []int64{e.Requests, e.Input, e.Cached, e.Written, e.Output} {
		cells = append(cells, fmt.Sprint(n))
	}
	return append(cells, fmt.Sprintf("%.4f", e.Cost), fmt.Sprintf("%.4f", e.Summaries.Cost))
}
