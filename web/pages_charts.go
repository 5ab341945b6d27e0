// The charts of a conversation's pages, and the preview of other settings.

package web

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/chart"
	"cairn/simulate"
)

// levelsOf returns the levels of a window, from the settings.
func levelsOf(settings []channel.Setting, window int) (levels []chart.Level) {
	given := make(compactor.Patch)
	for _, s := range settings {
		if share, number := s.Value.(float64); number && strings.HasSuffix(s.Key, "_threshold") {
			given[s.Key] = strconv.FormatFloat(share, 'g', -1, 64)
		}
	}
	p, _ := given.Over(compactor.Policy{})
	p = p.At(window)
	for _, l := range []struct {
		name  string
		share float64
	}{{"background", p.BackgroundThreshold}, {"aggressive", p.AggressiveThreshold}, {"emergency", p.EmergencyThreshold}} {
		levels = append(levels, chart.Level{Name: l.name, Kind: l.name, Tokens: int(l.share * float64(window))})
	}
	return levels
}

// figure shows a chart, drawn once for wide screens and once for narrow ones.
func figure(id string, drawn interface{ SVG(chart.Options) string }) g.Node {
	return h.Figure(
		h.Div(h.Class("if-wide"), g.Raw(drawn.SVG(chart.Options{ID: id}))), // the chart escapes its input
		h.Div(h.Class("if-narrow"), g.Raw(drawn.SVG(chart.Options{ID: id + "-narrow", Width: 480}))),
	)
}

// sawtooth draws the usage of the window over the conversation.
func sawtooth(d conversationAnswer, h historyAnswer) g.Node {
	return figure("sawtooth", chart.Sawtooth{
		Title: "Tokens of the next request, over the messages", Desc: fmt.Sprintf("%d of %d tokens are used now; %d compactions made room", d.Used, d.Max, len(h.Compactions)),
		Panels: []chart.Panel{panelOf("", d, h)},
	})
}

func panelOf(name string, d conversationAnswer, h historyAnswer) chart.Panel {
	panel := chart.Panel{Name: name, Window: d.Max, Levels: levelsOf(d.Settings, d.Max)}
	for _, u := range h.Used {
		panel.Points = append(panel.Points, chart.Point{At: u.Seq, Used: u.Tokens})
	}
	for _, c := range h.Compactions { // the line falls at the last message before it
		panel.Marks = append(panel.Marks, chart.Mark{
			At: c.Next - 1, Kind: c.Trigger,
			Tip: fmt.Sprintf("%s: #%d to #%d, %d → %d tokens, %s", c.Trigger, c.From, c.To, c.BeforeTokens, c.AfterTokens, day(c.Time)),
		})
	}
	return panel
}

// composition draws what fills the window.
func composition(d conversationAnswer) g.Node {
	return figure("composition", chart.Composition{
		Title: "What fills the window", Desc: "tokens of the parts of the next request", Total: float64(d.Max),
		Parts: []chart.Part{
			{Name: "prompt and tools", Value: float64(d.Parts.Frame)},
			{Name: "summaries and pins", Value: float64(d.Parts.Head)},
			{Name: "messages", Value: float64(d.Parts.Verbatim)},
			{Name: "reserved for the reply", Value: float64(d.Parts.Reserve)},
		},
	})
}

// previewPage shows the effect that the settings in the query would have had on the conversation, or why
// it cannot.
func previewPage(v *visit) error {
	tried := simulate.Variant{Set: compactor.Patch{}}
	for key, values := range v.URL.Query() {
		tried.Set[key] = strings.TrimSpace(values[0])
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
		figure("preview", drawn),
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
