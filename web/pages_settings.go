package web

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel"
	"cairn/config"
)

// settingControl is a setting on the page, with the control that changes it.
type settingControl struct {
	channel.Setting
	Help    string
	Control string // share: a slider from 0 to 1; number, switch or text; "": read-only, set only in the settings file
	Now     string // the value in force
}

// settingControls returns the settings of the conversation.
func (v *visit) settingControls() (all []settingControl, ignored []string, err error) {
	var a settingsAnswer
	if err := v.get(apiOf(v.name())+"/settings", nil, &a); err != nil {
		return nil, nil, err
	}
	for _, one := range a.Settings {
		k := settingControl{Setting: one, Help: helpFor(one.Key), Now: fmt.Sprint(one.Value), Control: "text"}
		switch value := one.Value.(type) {
		case float64:
			k.Now, k.Control = strconv.FormatFloat(value, 'g', -1, 64), "number"
			share := strings.Contains(one.Key, "threshold") || strings.Contains(one.Key, "fraction") || one.Key == "stack_budget"
			if hundredths := value * 100; share && value >= 0 && math.Abs(hundredths-math.Round(hundredths)) < 1e-9 {
				k.Control = "share"
			}
		case bool:
			k.Control = "switch"
		}
		if !one.Settable {
			k.Control = ""
		}
		all = append(all, k)
	}
	return all, a.Ignored, nil
}

func settingsPage(v *visit) error {
	all, ignored, err := v.settingControls()
	if err != nil {
		return err
	}
	return v.showConversation("Settings", nil,
		g.Map(ignored, func(why string) g.Node {
			return warning("Ignored, because it conflicts with the settings file: " + why)
		}),
		settingsView(v.name(), all),
	)
}

// helpFor returns the description of a compaction setting.
func helpFor(key string) string {
	for _, s := range config.Reference() {
		if s.Key == "defaults.compaction."+key {
			return s.Description
		}
	}
	return ""
}

// settingsView is a form of all settings. A script shows the effect of what is typed, and applies it.
func settingsView(name string, all []settingControl) g.Node {
	here := pageOf(name) + "/settings"
	return g.Group{
		faint(g.Text("How this conversation is compacted. Change values to see what they would have done with it; nothing changes until you apply them, and then only for this conversation.")),
		h.Form(
			h.ID("settings"), h.AutoComplete("off"), h.Data("api", apiOf(name)+"/settings"), h.Data("preview", here+"/preview"),
			h.Div(h.ID("preview"), h.Class("preview"), h.Role("region"), h.Aria("live", "polite"), h.Aria("label", "Preview")),
			h.P(
				h.Class("apply"),
				h.Button(h.Class("main"), h.ID("try"), g.Text("Preview")),
				h.Button(g.Text("Apply to this conversation")),
				h.A(h.Href(here), g.Text("Start over")),
			),
			table("list settings", []column{{Name: "Setting"}, {Name: "Value"}, {Name: "From"}}, all, settingControl.cells),
		),
		h.Script(h.Src("/static/settings.js"), h.Defer()),
	}
}

func (k settingControl) cells() []g.Node {
	origin := g.Text(k.Origin)
	if k.Here {
		origin = g.Group{
			h.B(origin), g.Text(" "),
			h.Button(h.Class("quiet"), h.Value(k.Key), g.Text("Take back")),
		}
	}
	return []g.Node{
		g.Group{h.Label(h.For("set-"+k.Key), g.Text(k.Key)), h.Br(), h.Span(h.Class("faint"), g.Text(k.Help))},
		k.input(),
		origin,
		h.ID(k.Key),
	}
}

func (k settingControl) input() g.Node {
	id, value := "set-"+k.Key, h.Value(k.Now)
	field := func(more ...g.Node) g.Node { return h.Input(h.ID(id), h.Name(k.Key), value, g.Group(more)) }
	switch k.Control {
	case "share":
		return h.Span(
			h.Class("slider"),
			field(h.Type("range"), h.Min("0"), h.Max("1"), h.Step("0.01")),
			g.El("output", h.For(id), g.Text(k.Now)),
		)
	case "number":
		return field(h.Type("number"), h.Step("any"))
	case "switch":
		return h.Select(h.ID(id), h.Name(k.Key), options([]string{"true", "false"}, k.Now))
	case "text":
		return field(h.MaxLength("500"))
	}
	return g.Group{h.Code(g.Text(k.Now)), g.Text(" "), h.Span(h.Class("faint"), g.Text("in the settings file only"))}
}
