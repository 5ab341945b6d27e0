// The page of usage and costs.

package web

import (
	"cmp"
	"net/url"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel"
	"cairn/internal/chart"
)

// usageRow is a row of the usage report. The field that it is grouped by is set.
type usageRow struct {
	Day, Conversation, Model string
	channel.Expenses
}

// Key returns the value that the row is grouped by.
func (r usageRow) Key() string { return cmp.Or(r.Day, r.Conversation, r.Model) }

// TurnCost returns the cost without summaries.
func (r usageRow) TurnCost() float64 { return r.Cost - r.Summaries.Cost }

func usagePage(v *visit) error {
	by, since := cmp.Or(v.URL.Query().Get("by"), channel.UsageKeys[0]), v.URL.Query().Get("since")
	query := url.Values{"by": {by}}
	if since != "" {
		query.Set("since", since)
	}
	var u struct {
		Rows    []usageRow `json:"rows"`
		Total   usageRow   `json:"total"`
		NoPrice []string   `json:"no_price"`
	}
	if err := v.get("/api/usage", query, &u); err != nil {
		return err
	}
	report := h.P(g.Text("No model was used yet."))
	if len(u.Rows) > 0 {
		report = usageTable(by, u.Rows, u.Total)
	}
	return v.show("Usage and money", nil,
		heading("Usage and money", h.Nav(h.Class("tabs"), h.Aria("label", "Summed by"), g.Map(channel.UsageKeys, func(key string) g.Node {
			return h.A(h.Href("/usage?"+url.Values{"by": {key}, "since": {since}}.Encode()), current(key == by), g.Text("by "+key))
		}))),
		h.Form(
			h.Class("search"), hidden("by", by),
			h.Label(g.Text("Since "), h.Input(h.Name("since"), h.Value(since), h.Placeholder("30d, or 2026-11-01"), g.Attr("size", "18"))),
			button("", "Show"),
		),
		daily(by, u.Rows),
		report,
		g.Map(u.NoPrice, func(model string) g.Node {
			return warning("No price for " + model + `: it counts as 0. Set [prices."` + model + `"] in the settings.`)
		}),
	)
}

func usageTable(by string, rows []usageRow, total usageRow) g.Node {
	columns := []column{{Name: by}, {"Requests", true}, {"Input", true}, {"Cached", true}, {"Output", true}, {"Turns cost", true}, {"Summaries cost", true}}
	row := func(name string, r usageRow) g.Node {
		return tableRow(columns,
			g.Text(name), grouped(r.Requests), grouped(r.Input), grouped(r.Cached), grouped(r.Output),
			g.Textf("%.4f", r.TurnCost()), g.Textf("%.4f", r.Summaries.Cost),
		)
	}
	return h.Table(h.Class("list"), tableHead(columns), h.TBody(
		g.Map(rows, func(r usageRow) g.Node { return row(r.Key(), r) }),
		row("Total", total),
	))
}

// daily draws tokens by day, or costs if prices are known.
func daily(by string, rows []usageRow) g.Node {
	if by != "day" || len(rows) == 0 {
		return nil
	}
	cost := 0.0
	for _, row := range rows {
		cost += row.Cost
	}
	d := chart.Daily{Title: "Tokens of each day", Desc: "input and output tokens of turns and of summaries, by day", Unit: "tokens", Series: []string{"turns", "summaries"}}
	if cost > 0 {
		d.Title, d.Desc, d.Unit = "Money of each day", "what turns and summaries cost, by day, in the currency of the prices", ""
	}
	for _, row := range rows {
		at, err := time.Parse(time.DateOnly, row.Day)
		if err != nil {
			continue
		}
		summaries := float64(row.Summaries.Input + row.Summaries.Output)
		values := []float64{float64(row.Input+row.Output) - summaries, summaries}
		if cost > 0 {
			values = []float64{row.TurnCost(), row.Summaries.Cost}
		}
		d.Days = append(d.Days, chart.Day{Date: at, Values: values})
	}
	return h.Figure(g.Raw(d.SVG(chart.Options{ID: "daily"}))) // the chart escapes its input
}
