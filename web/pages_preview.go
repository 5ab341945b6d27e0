// The preview of other settings, on a conversation's page.

package web

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/internal/chart"
	"cairn/simulate"
)

// previewPage shows the effect that the settings in the query would have had on the conversation, or why
// it cannot.
func previewPage(v *visit) error {
	tried := simulate.Variant{}
	query := v.URL.Query()
	for _, key := range slices.Sorted(maps.Keys(query)) {
		tried.Set = append(tried.Set, simulate.Setting{Key: key, Value: strings.TrimSpace(query.Get(key))})
	}
	effect := warning("Nothing to compare yet: move a slider or type another value.")
	if len(tried.Set) > 0 {
		var err error
		if effect, err = v.preview(tried); err != nil {
			return err
		}
	}
	return writePage(v.w, http.StatusOK, effect)
}

func (v *visit) preview(tried simulate.Variant) (g.Node, error) {
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
