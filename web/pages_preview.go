// The preview of other settings, on a conversation's page.

package web

import (
	"cmp"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/internal/chart"
	"cairn/simulate"
)

// preview is the effect that other settings would have had on the conversation.
type preview struct {
	Problem  string // why there is no preview
	Settings string // the settings that were simulated
	Chart    g.Node
	Head     []string
	Rows     []previewRow
	Happened int
	Equal    int
}

// previewRow is a row of the comparison: a name, and the value of each variant.
type previewRow struct {
	Name    string
	Values  []string
	Differs bool
}

func (v *visit) preview(all []settingControl) (*preview, error) {
	tried := simulate.Variant{}
	for _, k := range all {
		if k.Changed() {
			tried.Set = append(tried.Set, simulate.Setting{Key: k.Key, Value: k.Typed})
		}
	}
	if len(tried.Set) == 0 {
		return &preview{Problem: "Nothing is changed: move a slider or type another value."}, nil
	}
	c, err := v.s.find(v.Request, v.name())
	if err != nil {
		return nil, err
	}
	report, err := v.s.simulation(v.Context(), c, []simulate.Variant{tried})
	if err != nil {
		if p := v.s.problemOf(v.Request, err); p.Status < 500 {
			return &preview{Problem: p.Detail}, nil
		}
		return nil, err
	}
	var d conversationAnswer
	var h historyAnswer
	if err := cmp.Or(v.get(apiOf(v.name()), nil, &d), v.get(apiOf(v.name())+"/history", nil, &h)); err != nil {
		return nil, err
	}
	p := &preview{Settings: report.Variants[1].Name, Happened: report.Happened, Equal: report.Equal}
	drawn := report.Chart()
	drawn.Title, drawn.Desc = "As it happened, and with "+p.Settings, "tokens of the next request, over the messages"
	drawn.Panels = []chart.Panel{panelOf("as it happened", d, h), drawn.Panels[1]}
	p.Chart = g.Raw(drawn.SVG(chart.Options{ID: "preview"})) // the chart escapes its input
	rows := report.Rows()
	p.Head = rows[0][1:]
	for _, row := range rows[1:] {
		for i, value := range row[1:] {
			if _, err := strconv.Atoi(value); err == nil {
				row[i+1] = thousands(value)
			}
		}
		p.Rows = append(p.Rows, previewRow{row[0], row[1:], row[1] != row[2]})
	}
	return p, nil
}

func (p *preview) view() g.Node {
	if p.Problem != "" {
		return warning(p.Problem)
	}
	return g.Group{
		h.Figure(p.Chart),
		h.Div(h.Class("scroll"), h.Table(
			h.Class("figures"),
			h.THead(h.Tr(h.Th(h.Scope("col"), g.Text("Simulated")), g.Map(p.Head, func(name string) g.Node {
				return h.Th(h.Scope("col"), h.Class("number"), g.Text(name))
			}))),
			h.TBody(g.Map(p.Rows, func(r previewRow) g.Node {
				return h.Tr(
					g.If(r.Differs, h.Class("differs")),
					h.Th(h.Scope("row"), g.Text(r.Name)),
					g.Map(r.Values, func(value string) g.Node { return h.Td(h.Class("number"), g.Text(value)) }),
				)
			})),
		)),
		g.If(p.Happened > 0, faint(g.Textf("Of %d compactions that really happened, the simulation with the settings in force makes %d again.", p.Happened, p.Equal))),
	}
}
