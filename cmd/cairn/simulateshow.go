// Output of a simulation: a table and an HTML page.

package main

import (
	"fmt"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/internal/chart"
	"cairn/simulate"
)

// simulated is a report with one column for each variant, and a small chart of each.
type simulated struct {
	simulate.Report
	SVG  string `json:"svg,omitempty"`
	HTML string `json:"html,omitempty"`
}

func (s simulated) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n", s.Name, counted(s.Messages, "message", "messages"))
	rows := table(s.Rows())
	right := make([]bool, len(rows[0]))
	for i := range right {
		right[i] = i > 0
	}
	b.WriteString(rows.aligned(right))
	if s.Happened > 0 {
		fmt.Fprintf(&b, "\nOf %s that really happened, the settings in force reproduce %d: same trigger, kind and messages.\n", counted(s.Happened, "compaction", "compactions"), s.Equal)
	}
	b.WriteString("\nused tokens over messages, up to the window:\n")
	var charts table
	for _, v := range s.Variants {
		charts = append(charts, []string{"  " + v.Name, sparkline(v, 60)})
	}
	b.WriteString(charts.aligned([]bool{false, false}))
	return strings.TrimRight(b.String(), "\n")
}

var blocks = []rune("▁▂▃▄▅▆▇█")

// sparkline shows how full the window was: the maximum in each column.
func sparkline(v simulate.Result, width int) string {
	if len(v.Used) == 0 {
		return ""
	}
	first, last := v.Used[0].At, v.Used[len(v.Used)-1].At
	most := make([]int, width)
	for _, u := range v.Used {
		column := int((u.At - first) * int64(width-1) / max(last-first, 1))
		most[column] = max(most[column], u.Used)
	}
	line := make([]rune, width)
	for i := range most {
		if most[i] == 0 && i > 0 { // no message in this column
			most[i] = most[i-1]
		}
		line[i] = blocks[min(most[i]*len(blocks)/max(v.Window, 1), len(blocks)-1)]
	}
	return string(line)
}

const simulationCSS = `:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
svg { width: 100%; height: auto; }
.figures { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.9rem 0.2rem 0; text-align: right; border-bottom: 1px solid #8884; }
th[scope=row] { text-align: left; font-weight: normal; white-space: pre; }
`

// simulationPage returns a self-contained page without scripts.
func simulationPage(r simulate.Report) (string, error) {
	rows := r.Rows()
	about := counted(r.Messages, "message", "messages") + ", simulated without a model."
	if r.Happened > 0 {
		about += fmt.Sprintf(" Of %s that really happened, the settings in force reproduce %d.", counted(r.Happened, "compaction", "compactions"), r.Equal)
	}
	head := func(name string) g.Node { return h.Th(h.Scope("col"), g.Text(name)) }
	cell := func(value string) g.Node { return h.Td(g.Text(value)) }
	var b strings.Builder
	err := h.Doctype(h.HTML(
		h.Lang("en"),
		h.Head(
			h.Meta(h.Charset("utf-8")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.TitleEl(g.Text(r.Name+": settings compared")),
			h.StyleEl(g.Raw(simulationCSS+chart.CSS)),
		),
		h.Body(
			h.H1(g.Text(r.Name)),
			h.P(g.Text(about)),
			g.Raw(r.Chart().SVG(chart.Options{})), // the chart escapes its input
			h.Div(h.Class("figures"), h.Table(
				h.THead(h.Tr(g.Map(rows[0], head))),
				h.TBody(g.Map(rows[1:], func(row []string) g.Node {
					return h.Tr(h.Th(h.Scope("row"), g.Text(row[0])), g.Map(row[1:], cell))
				})),
			)),
		),
	)).Render(&b)
	return b.String(), err
}
