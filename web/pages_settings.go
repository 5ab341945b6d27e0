// The page of a conversation's settings, and the preview of others.

package web

import (
	"fmt"
	"math"
	"net/http"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel"
	"cairn/compactor"
	"cairn/config"
	"cairn/simulate"
)

// settings is a form of all settings. A script shows the effect of what is typed, and applies it.
func settings(v *visit) page {
	here, api := pageOf(v.name())+"/settings", apiOf(v.name())+"/settings"
	a := ask[settingsAnswer](v, api, nil)
	return page{content: g.Group{
		g.Map(a.Ignored, func(why string) g.Node {
			return warning("Ignored, because it conflicts with the settings file: " + why)
		}),
		faint(g.Text("How this conversation is compacted. Change values to see what they would have done with it; nothing changes until you apply them, and then only for this conversation.")),
		h.Form(
			h.ID("settings"), h.AutoComplete("off"), h.Data("api", api), h.Data("preview", here+"/preview"),
			h.Div(h.ID("preview"), h.Class("preview"), h.Role("region"), h.Aria("live", "polite"), h.Aria("label", "Preview")),
			h.P(
				h.Class("apply"),
				h.Button(h.Class("main"), h.ID("try"), g.Text("Preview")),
				h.Button(g.Text("Apply to this conversation")),
				h.A(h.Href(here), g.Text("Start over")),
			),
			table("list settings", []string{"Setting", "Value", "From"}, a.Settings, settingCells),
		),
		h.Script(h.Src("/static/settings.js"), h.Defer()),
	}}
}

func settingCells(s channel.Setting) []g.Node {
	help := ""
	for _, one := range config.Reference() {
		if one.Key == "defaults.compaction."+s.Key {
			help = one.Description
		}
	}
	origin := g.Text(s.Origin)
	if s.Here {
		origin = g.Group{h.B(origin), g.Text(" "), h.Button(h.Class("quiet"), h.Value(s.Key), g.Text("Take back"))}
	}
	return []g.Node{
		g.Group{h.Label(h.For("set-"+s.Key), g.Text(s.Key)), h.Br(), h.Span(h.Class("faint"), g.Text(help))},
		settingControl(s),
		origin,
		h.ID(s.Key),
	}
}

// settingControl changes a setting, by a slider if it is a share from 0 to 1.
func settingControl(s channel.Setting) g.Node {
	id, now := "set-"+s.Key, fmt.Sprint(s.Value)
	field := func(more ...g.Node) g.Node { return h.Input(h.ID(id), h.Name(s.Key), h.Value(now), g.Group(more)) }
	number, isNumber := s.Value.(float64)
	_, isCount := s.Value.(int)
	_, isSwitch := s.Value.(bool)
	isShare := strings.Contains(s.Key, "threshold") || strings.Contains(s.Key, "fraction") || s.Key == "stack_budget"
	switch {
	case !s.Settable:
		return g.Group{h.Code(g.Text(now)), g.Text(" "), h.Span(h.Class("faint"), g.Text("in the settings file only"))}
	case isNumber && isShare && number >= 0 && math.Abs(100*number-math.Round(100*number)) < 1e-9:
		return h.Span(
			h.Class("slider"),
			field(h.Type("range"), h.Min("0"), h.Max("1"), h.Step("0.01")),
			g.El("output", h.For(id), g.Text(now)),
		)
	case isNumber || isCount:
		return field(h.Type("number"), h.Step("any"))
	case isSwitch:
		return h.Select(h.ID(id), h.Name(s.Key), options([]string{"true", "false"}, now))
	}
	return field(h.MaxLength("500"))
}

// previewSettings shows the effect that the settings in the query would have had on the conversation, or why
// it cannot.
func (s *Server) previewSettings(w http.ResponseWriter, r *http.Request) error {
	v, tried := &visit{Request: r, s: s}, simulate.Variant{Set: compactor.Patch{}}
	for key, values := range r.URL.Query() {
		tried.Set[key] = strings.TrimSpace(values[0])
	}
	effect := warning("Nothing to compare yet: move a slider or type another value.")
	if len(tried.Set) > 0 {
		effect = v.preview(tried)
	}
	if v.err != nil {
		p := s.problemOf(r, v.err)
		if p.Status >= http.StatusInternalServerError || p.Status == http.StatusNotFound {
			return p
		}
		effect = warning(p.Detail)
	}
	return writePage(w, http.StatusOK, effect)
}

func (v *visit) preview(tried simulate.Variant) g.Node {
	d, past := ask[conversationAnswer](v, apiOf(v.name()), nil), ask[historyAnswer](v, apiOf(v.name())+"/history", nil)
	c, err := v.s.find(v.Context(), v.name())
	if err != nil {
		v.fail(err)
		return nil
	}
	report, err := v.s.simulation(v.Context(), c, []simulate.Variant{tried})
	if err != nil {
		v.fail(err)
		return nil
	}
	drawn := report.Chart()
	drawn.Title, drawn.Desc = "As it happened, and with "+report.Variants[1].Name, "tokens of the next request, over the messages"
	happened := panelOf(d, past, drawn.Panels[0].Levels)
	happened.Name = "as it happened"
	drawn.Panels[0] = happened
	rows := report.Rows()
	columns := []string{"Simulated"}
	for _, name := range rows[0][1:] {
		columns = append(columns, "#"+name)
	}
	return g.Group{
		figure(drawn),
		h.Div(h.Class("scroll"), table("figures", columns, rows[1:], func(row []string) []g.Node {
			return append(g.Map(row, g.Text), g.If(row[1] != row[2], h.Class("differs")))
		})),
		g.If(report.Happened > 0, faint(g.Textf("Of %d compactions that really happened, the simulation with the settings in force reproduces %d.", report.Happened, report.Equal))),
	}
}
