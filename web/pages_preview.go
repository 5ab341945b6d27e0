// The preview of other settings, on a conversation's page.

package web

import (
	"errors"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/internal/chart"
	"cairn/simulate"
)

// preview shows the effect that other settings would have had on the conversation, or why it cannot.
func (v *visit) preview(all []settingControl) (g.Node, error) {
	tried := simulate.Variant{}
	for _, k := range all {
		if k.Changed() {
			tried.Set = append(tried.Set, simulate.Setting{Key: k.Key, Value: k.Typed})
		}
	}
	if len(tried.Set) == 0 {
		return warning("Nothing to compare yet: move a slider or type another value."), nil
	}
	c, err := v.s.find(v.Context(), v.name())
	if err != nil {
		return nil, err
	}
	report, err := v.s.simulation(v.Context(), c, []simulate.Variant{tried})
	if err != nil {
		if p := v.s.problemOf(v.Request, err); p.Status < 500 {
			return warning(p.Detail), nil
		}
		return nil, err
	}
	var d conversationAnswer
	var past historyAnswer
	if err := errors.Join(v.get(apiOf(v.name()), nil, &d), v.get(apiOf(v.name())+"/history", nil, &past)); err != nil {
		return nil, err
	}
	drawn := report.Chart()
	drawn.Title, drawn.Desc = "As it happened, and with "+report.Variants[1].Name, "tokens of the next request, over the messages"
	drawn.Panels = []chart.Panel{panelOf("as it happened", d, past), drawn.Panels[1]}
	rows := report.Rows()
	for _, row := range rows[1:] {
		for i, value := range row[1:] {
			if _, err := strconv.Atoi(value); err == nil {
				row[i+1] = thousands(value)
			}
		}
	}
	return g.Group{
		h.Figure(g.Raw(drawn.SVG(chart.Options{ID: "preview"}))), // the chart escapes its input
		h.Div(h.Class("scroll"), h.Table(
			h.Class("figures"),
			h.THead(h.Tr(h.Th(h.Scope("col"), g.Text("Simulated")), g.Map(rows[0][1:], func(name string) g.Node {
				return h.Th(h.Scope("col"), h.Class("number"), g.Text(name))
			}))),
			h.TBody(g.Map(rows[1:], func(row []string) g.Node {
				return h.Tr(
					g.If(row[1] != row[2], h.Class("differs")),
					h.Th(h.Scope("row"), g.Text(row[0])),
					g.Map(row[1:], func(value string) g.Node { return h.Td(h.Class("number"), g.Text(value)) }),
				)
			})),
		)),
		g.If(report.Happened > 0, faint(g.Textf("Of %d compactions that really happened, the simulation with the settings in force reproduces %d.", report.Happened, report.Equal))),
	}, nil
}
