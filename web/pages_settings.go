package web

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"cairn/channel"
	"cairn/internal/chart"
	"cairn/simulate"
)

// settingControl is a setting on the page, with the control that changes it.
type settingControl struct {
	channel.Setting
	Help    string
	Control string // share: a slider from 0 to 1; number, switch or text; "": read-only, set only in the settings file
	Now     string // the value in force
	Typed   string // the value in the form
}

// Changed reports whether the value in the form differs from the one in force.
func (k settingControl) Changed() bool { return k.Control != "" && k.Typed != k.Now }

// settingControls returns the settings of the conversation, with the values typed into the form.
func (v *visit) settingControls(typed url.Values) (all []settingControl, ignored []string, err error) {
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
		k.Typed = k.Now
		if typed.Has(one.Key) {
			k.Typed = strings.TrimSpace(typed.Get(one.Key))
		}
		all = append(all, k)
	}
	return all, a.Ignored, nil
}

func settingsPage(v *visit) error { return v.showSettings(nil) }

// previewPage shows the settings page with the effect that the typed values would have had.
func previewPage(v *visit) error { return v.showSettings(v.URL.Query()) }

func (v *visit) showSettings(typed url.Values) error {
	all, ignored, err := v.settingControls(typed)
	if err != nil {
		return err
	}
	data := struct {
		about
		Settings []settingControl
		Ignored  []string
		Preview  *preview
	}{v.about("settings"), all, ignored, nil}
	if typed != nil {
		if data.Preview, err = v.preview(all); err != nil {
			return err
		}
	}
	return v.show("settings", data)
}

// preview is the effect that other settings would have had on the conversation.
type preview struct {
	Problem  string // why there is no preview
	Settings string // the settings that were simulated
	Chart    template.HTML
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
	p.Chart = template.HTML(drawn.SVG(chart.Options{ID: "preview"})) // the chart escapes its input
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

// settingsForm sets all values of a form or none, or resets one.
func settingsForm(v *visit) error {
	if err := v.ParseForm(); err != nil {
		return bad("The form cannot be read.")
	}
	all, _, err := v.settingControls(v.PostForm)
	if err != nil {
		return err
	}
	here, set := pageOf(v.name())+"/settings", map[string]any{}
	note := ""
	if key := v.PostForm.Get("take_back"); key != "" {
		set[key], note = nil, key+" is taken back."
	} else {
		var changes []string
		for _, k := range all {
			if k.Changed() {
				set[k.Key] = k.Typed
				changes = append(changes, k.Key+" = "+k.Typed)
			}
		}
		slices.Sort(changes)
		note = "From now on: " + strings.Join(changes, ", ") + "."
	}
	if len(set) == 0 {
		return v.redirectWithNote(here, "Nothing was changed.")
	}
	if err := v.ask(http.MethodPut, apiOf(v.name())+"/settings", nil, set, nil); err != nil {
		return v.redirectProblem(here, err)
	}
	return v.redirectWithNote(here, note)
}
