// Output of a simulation: a table and an HTML page.
package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"

	"cairn/internal/chart"
	"cairn/simulate"
)

// simulated is a report with one column for each variant, and a small chart.
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
		fmt.Fprintf(&b, "\nOf %d compactions that really happened, the settings in force make %d again: same trigger, kind and messages.\n", s.Happened, s.Equal)
	}
	b.WriteString("\nused tokens over messages, up to the window:\n")
	width := 0
	for _, v := range s.Variants {
		width = max(width, len([]rune(v.Name)))
	}
	for _, v := range s.Variants {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, v.Name, sparkline(v, 60))
	}
	return strings.TrimRight(b.String(), "\n")
}

var blocks = []rune("▁▂▃▄▅▆▇█")

// sparkline shows how full the window was: the maximum in each column.
func sparkline(v simulate.Result, width int) string {
	if len(v.Used) == 0 {
		return ""
	}
	first, last := v.Used[0].Seq, v.Used[len(v.Used)-1].Seq
	most := make([]int, width)
	for _, u := range v.Used {
		column := int((u.Seq - first) * int64(width-1) / max(last-first, 1))
		most[column] = max(most[column], u.Tokens)
	}
	line := make([]rune, width)
	before := 0
	for i, tokens := range most {
		if tokens == 0 {
			tokens = before // no message in this column
		}
		before = tokens
		line[i] = blocks[min(tokens*len(blocks)/max(v.Window, 1), len(blocks)-1)]
	}
	return string(line)
}

//go:embed simulate.html
var simulationHTML string

var simulationTemplate = template.Must(template.New("simulation").Parse(simulationHTML))

// simulationPage returns a self-contained page without scripts.
func simulationPage(r simulate.Report) (string, error) {
	table := r.Rows()
	var b strings.Builder
	err := simulationTemplate.Execute(&b, struct {
		simulate.Report
		Head  []string
		Rows  [][]string
		Chart template.HTML // chart escapes every text
		CSS   template.CSS
	}{r, table[0], table[1:], template.HTML(r.Chart().SVG(chart.Options{})), template.CSS(chart.CSS)})
	return b.String(), err
}
