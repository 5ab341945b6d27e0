// The charts of a conversation's pages.

package web

import (
	"fmt"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel"
	"cairn/compactor"
	"cairn/internal/chart"
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
