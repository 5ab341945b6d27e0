// The pages of the bot's health, and of its usage and costs.

package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel"
)

func healthPage(v *visit) page {
	ok, parts := true, []Part{}
	if v.s.o.Ready != nil {
		ok, parts = v.s.o.Ready(v.Context())
	}
	class := map[bool]string{true: "good", false: "bad"}
	state := g.Group{
		h.P(h.Class("state "+class[ok]), g.Text(map[bool]string{true: "All is well.", false: "Something is wrong."}[ok])),
		h.Ul(h.Class("parts"), g.Map(parts, func(p Part) g.Node {
			return h.Li(h.Class(class[p.OK]), h.B(g.Text(p.Part)), g.Text(" "+cmp.Or(p.Why, "well")))
		})),
		h.H2(g.Text("Incidents since the start")),
	}
	incidents, columns := v.s.o.Events.incidents(), []string{"When", "Where", "What"}
	list := table("list", columns, incidents, func(i incidentEvent) []g.Node {
		where, rest := i.Attributes["conversation"], maps.Clone(i.Attributes)
		delete(rest, "conversation")
		return []g.Node{
			timeView(i.Time),
			g.If(where != "", h.A(h.Href(pageOf(where)), g.Text(where))),
			h.Div(h.B(g.Text(i.Name)), g.Text(strings.TrimPrefix(fmt.Sprint(" ", rest), " map"))),
		}
	})
	if len(incidents) == 0 {
		list = faint(g.Text("None."))
	}
	state = append(state, list)
	return page{"Health", g.Group{heading("Health"), live("*", "/health", state)}, state}
}

func usagePage(v *visit) page {
	by, since := cmp.Or(v.Get("by"), channel.UsageKeys[0]), v.Get("since")
	u := ask(v, v.s.usage)
	rows := append(u.Rows, channel.UsageRow{Day: "Total", Expenses: u.Total})
	columns := []string{strings.ToUpper(by[:1]) + by[1:], "#Requests", "#Input", "#Cached", "#Output", "#Turns cost", "#Summaries cost"}
	report := table("list", columns, rows, func(r channel.UsageRow) []g.Node {
		return []g.Node{
			g.Text(r.Key()), grouped(r.Requests), grouped(r.Input), grouped(r.Cached), grouped(r.Output),
			g.Textf("%.4f", r.Cost-r.Summaries.Cost), g.Textf("%.4f", r.Summaries.Cost),
		}
	})
	if len(u.Rows) == 0 {
		report = h.P(g.Text("No model has been used yet."))
	}
	return page{title: "Usage and cost", content: g.Group{
		heading("Usage and cost", h.Nav(h.Class("tabs"), h.Aria("label", "Summed by"), g.Map(channel.UsageKeys, func(key string) g.Node {
			return h.A(h.Href("/usage?"+url.Values{"by": {key}, "since": {since}}.Encode()), current(key == by), g.Text("by "+key))
		}))),
		searchForm(
			hidden("by", by),
			h.Label(g.Text("Since "), h.Input(h.Name("since"), h.Value(since), h.Placeholder("30d, or 2026-11-01"), g.Attr("size", "18"))),
			button("", "Show"),
		),
		report,
		g.Map(u.NoPrice, func(model string) g.Node {
			return warning("No price for " + model + `: it counts as 0. Set [prices."` + model + `"] in the settings.`)
		}),
	}}
}
