// The page of usage and costs.

package web

import (
	"cmp"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel"
)

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
	columns := []column{{Name: strings.ToUpper(by[:1]) + by[1:]}, {"Requests", true}, {"Input", true}, {"Cached", true}, {"Output", true}, {"Turns cost", true}, {"Summaries cost", true}}
	return table("list", columns, append(rows, channel.UsageRow{Day: "Total", Expenses: expenses}), func(r channel.UsageRow) []g.Node {
		return []g.Node{
			g.Text(r.Key()), grouped(r.Requests), grouped(r.Input), grouped(r.Cached), grouped(r.Output),
			g.Textf("%.4f", r.Cost-r.Summaries.Cost), g.Textf("%.4f", r.Summaries.Cost),
		}
	})
}
