// The settings of a conversation: the routes of the API, the page, and the preview of others.

package web

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel"
	"cairn/channel/report"
	"cairn/compactor"
	"cairn/config"
	"cairn/simulate"
)

type settingsAnswer struct {
	Settings []report.Setting `json:"settings"`
	Ignored  []string         `json:"ignored" jsonschema:"what is set here and does not go with the settings file"`
}

// policies reads and changes the settings of a conversation.
type policies struct {
	operator channel.Operator
	events   *Events
}

func (p *policies) routes() []route {
	const path = conversationPath + "/settings"
	return []route{
		read(path, "Its compaction settings, with origins", p.show),
		send("PUT "+path, `Set values, all or none: {"background_threshold": 0.7, "focus": null}; null resets one`,
			p.set, http.StatusOK, http.StatusUnprocessableEntity),
	}
}

func (p *policies) show(r *request) (settingsAnswer, error) {
	all, left, err := p.operator.Settings(r.Context(), r.conversation.Name())
	return settingsAnswer{all, listOf(left)}, err
}

func (p *policies) set(r *request, body map[string]json.RawMessage) (a settingsAnswer, err error) {
	name := r.conversation.Name()
	values := make(map[string]*string, len(body))
	for key, raw := range body {
		values[key], err = settingText(raw)
		if err != nil {
			return a, invalid("%s: must be a number, a text, true, false or null.", key)
		}
	}
	if len(values) == 0 {
		return a, invalid(`Name at least one setting: {"background_threshold": 0.7}.`)
	}
	if err := p.operator.Set(r.Context(), name, values, owner); err != nil {
		return a, err
	}
	if now, open := p.operator.Activity(name); open {
		p.events.publishUsage(name, now.Used, now.Window)
	}
	return p.show(r)
}

// settingText returns a JSON value in the notation of settings; nil for null.
func settingText(raw json.RawMessage) (text *string, err error) {
	switch raw[0] {
	case '{', '[':
		return nil, errors.New("a list or an object")
	case '"', 'n':
		err = json.Unmarshal(raw, &text)
		return text, err
	}
	return new(string(raw)), nil
}

// settings is a form of all settings. A script shows the effect of what is typed, and applies it.
func settings(v *visit) page {
	path := pageOf(v.name()) + "/settings"
	api := apiOf(v.name()) + "/settings"
	a := ask(v, v.endpoints.policies.show)
	return page{content: g.Group{
		g.Map(a.Ignored, func(why string) g.Node {
			return warning("Ignored, because it conflicts with the settings file: " + why)
		}),
		faint(g.Text("How this conversation is compacted. Change values to see what they would have done with it; nothing changes until you apply them, and then only for this conversation.")),
		h.Form(
			h.ID("settings"), h.AutoComplete("off"), h.Data("api", api), h.Data("preview", path+"/preview"),
			h.Div(h.ID("preview"), h.Class("preview"), h.Role("region"), h.Aria("live", "polite"), h.Aria("label", "Preview")),
			h.P(
				h.Class("apply"),
				h.Button(h.Class("main"), h.ID("try"), g.Text("Preview")),
				h.Button(g.Text("Apply to this conversation")),
				h.A(h.Href(path), g.Text("Start over")),
			),
			h.P(rangeFields(messageRange{}), g.Text(" are compared.")),
			g.Map(settingGroups, func(group settingGroup) g.Node {
				return g.Group{
					h.H2(g.Text(group.title)), faint(g.Text(group.text)),
					table("list settings", []string{"Setting", "Value", "From"}, group.of(a.Settings), settingCells),
				}
			}),
		),
		h.Script(h.Src("/static/settings.js"), h.Defer()),
	}}
}

func settingCells(s report.Setting) []g.Node {
	help := ""
	for _, one := range config.Reference() {
		if one.Key == "defaults.compaction."+s.Key {
			help = one.Description
		}
	}
	origin := g.Text(s.Origin)
	if s.Here {
		origin = g.Group{h.B(origin), g.Text(" "), h.Button(h.Class("quiet"), h.Value(s.Key), g.Text("Reset"))}
	}
	return []g.Node{
		g.Group{h.Label(h.For("set-"+s.Key), g.Text(s.Key)), h.Br(), h.Span(h.Class("faint"), g.Text(help))},
		settingControl(s),
		origin,
		h.ID(s.Key),
	}
}

// settingControl changes a setting, by a slider if it is a share from 0 to 1.
func settingControl(s report.Setting) g.Node {
	id := "set-" + s.Key
	now := fmt.Sprint(s.Value)
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

// previewSettings shows the effect that the settings in the query would have had on the conversation.
func (d *dashboard) previewSettings(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	within := rangeOf(query)
	v := &visit{request: &request{Request: r, Values: within.query()}, dashboard: d}
	tried := simulate.Variant{Set: compactor.Patch{}}
	query.Del("from")
	query.Del("to")
	for key, values := range query {
		tried.Set[key] = strings.TrimSpace(values[0])
	}
	if len(tried.Set) == 0 {
		return writePage(w, http.StatusOK, warning("Nothing to compare yet: move a slider or type another value."))
	}
	if err := v.enter(v.name()); err != nil {
		return err
	}
	now := ask(v, v.endpoints.conversations.show)
	past := ask(v, v.endpoints.conversations.history)
	report, err := v.endpoints.simulator.simulation(v.Context(), v.conversation, []simulate.Variant{tried}, within)
	err = cmp.Or(v.err, err)
	if err != nil {
		return err
	}
	drawn := report.Chart()
	drawn.Title = "As it happened, and with " + report.Variants[1].Name
	drawn.Desc = "tokens of the next request, over the messages"
	happened := panelOf(now, past, drawn.Panels[0].Levels)
	happened.Name = "as it happened"
	drawn.Panels[0] = happened
	rows := report.Rows()
	columns := []string{"Simulated"}
	for _, name := range rows[0][1:] {
		columns = append(columns, "#"+name)
	}
	return writePage(w, http.StatusOK, g.Group{
		figure(drawn),
		h.Div(h.Class("scroll"), table("figures", columns, rows[1:], func(row []string) []g.Node {
			return append(g.Map(row, g.Text), g.If(row[1] != row[2], h.Class("differs")))
		})),
		g.If(report.Happened > 0, faint(
			g.Textf("Of %d compactions that actually happened, the simulation with the current settings reproduces %d.", report.Happened, report.Equal),
		)),
	})
}
