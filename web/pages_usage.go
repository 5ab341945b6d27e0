// The page of usage and costs.

package web

import (
	"cmp"
	"fmt"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel"
	"cairn/internal/chart"
)

// usageParts returns what turns and summaries used: their costs, or tokens if no price is known.
func usageParts(r channel.UsageRow, priced bool) (turns, summaries float64) {
	if priced {
		return r.Cost - r.Summaries.Cost, r.Summaries.Cost
	}
	return float64(r.Input + r.Output - r.Summaries.Input - r.Summaries.Output), float64(r.Summaries.Input + r.Summaries.Output)
}

func usagePage(v *visit) error {
	by, since := cmp.Or(v.URL.Query().Get("by"), channel.UsageKeys[0]), v.URL.Query().Get("since")
	var u usageAnswer
	if err := v.get("/api/usage", query("by", by, "since", since), &u); err != nil {
		return err
	}
	report := h.P(g.Text("No model has been used yet."))
	if len(u.Rows) > 0 {
		report = usageTable(by, u.Rows, u.Total)
	}
	return v.show("Usage and cost", nil,
		heading("Usage and cost", h.Nav(h.Class("tabs"), h.Aria("label", "Summed by"), g.Map(channel.UsageKeys, func(key string) g.Node {
			return h.A(h.Href("/usage?"+query("by", key, "since", since).Encode()), current(key == by), g.Text("by "+key))
		}))),
		h.Form(
			h.Class("search"), hidden("by", by),
			h.Label(g.Text("Since "), h.Input(h.Name("since"), h.Value(since), h.Placeholder("30d, or 2026-11-01"), g.Attr("size", "18"))),
			button("", "Show"),
		),
		report,
		g.Map(u.NoPrice, func(model string) g.Node {
			return warning("No price for " + model + `: it counts as 0. Set [prices."` + model + `"] in the settings.`)
		}),
	)
}

func usageTable(by string, rows []channel.UsageRow, expenses channel.Expenses) g.Node {
	compared, priced := "Tokens compared", expenses.Cost > 0
	if priced {
		compared = "Cost compared"
	}
	most := 0.0
	for _, r := range rows {
		turns, summaries := usageParts(r, priced)
		most = max(most, turns+summaries)
	}
	columns := []column{{Name: strings.ToUpper(by[:1]) + by[1:]}, {"Requests", true}, {"Input", true}, {"Cached", true}, {"Output", true}, {"Turns cost", true}, {"Summaries cost", true}, {Name: compared}}
	total := channel.UsageRow{Day: "Total", Expenses: expenses}
	return table("list", columns, append(rows, total), func(r channel.UsageRow) []g.Node {
		turns, summaries := usageParts(r, priced)
		text := "turns " + chart.Short(turns) + ", summaries " + chart.Short(summaries)
		return []g.Node{
			g.Text(r.Key()), grouped(r.Requests), grouped(r.Input), grouped(r.Cached), grouped(r.Output),
			g.Textf("%.4f", r.Cost-r.Summaries.Cost), g.Textf("%.4f", r.Summaries.Cost),
			g.If(most > 0 && r.Day != total.Day, h.Progress(h.Max(fmt.Sprint(most)), h.Value(fmt.Sprint(turns+summaries)), h.Title(text), h.Aria("label", text))),
		}
	})
}
