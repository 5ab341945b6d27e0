// What a simulation found, as a table and as a page.
package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"strings"

	"cairn/internal/chart"
	"cairn/llm/prices"
	"cairn/simulate"
)

// simulated is a report for people: one column for each variant, and a small chart.
type simulated struct{ simulate.Report }

// MarshalJSON writes the report as it is.
func (s simulated) MarshalJSON() ([]byte, error) { return json.Marshal(s.Report) }

func (s simulated) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n", s.Name, counted(s.Messages, "message", "messages"))
	rows := s.table()
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

// table has a row for each figure, and a column for each variant.
func (s simulated) table() table {
	rows := table{{""}}
	for _, v := range s.Variants {
		rows[0] = append(rows[0], v.Name)
	}
	row := func(name string, value func(simulate.Result) string) {
		line := []string{name}
		for _, v := range s.Variants {
			line = append(line, value(v))
		}
		rows = append(rows, line)
	}
	number := func(value func(simulate.Result) int) func(simulate.Result) string {
		return func(v simulate.Result) string { return fmt.Sprint(value(v)) }
	}
	row("window", number(func(v simulate.Result) int { return v.Window }))
	row("compactions", number(func(v simulate.Result) int { return len(v.Compactions) }))
	row("  at background", number(func(v simulate.Result) int { return v.Levels.Background }))
	row("  at aggressive", number(func(v simulate.Result) int { return v.Levels.Aggressive }))
	row("  emergencies", number(func(v simulate.Result) int { return v.Levels.Emergency }))
	row("verbatim tokens, mean", number(func(v simulate.Result) int { return v.Verbatim.Mean }))
	row("verbatim tokens, least", number(func(v simulate.Result) int { return v.Verbatim.Least }))
	row("summaries, of what is used", func(v simulate.Result) string { return fmt.Sprintf("%.0f %%", 100*v.Summaries) })
	spent := func(name string, of func(simulate.Result) simulate.Spent) {
		row(name+" requests", number(func(v simulate.Result) int { return of(v).Requests }))
		row("  input tokens", number(func(v simulate.Result) int { return int(of(v).Input) }))
		row("  output tokens", number(func(v simulate.Result) int { return int(of(v).Output) }))
	}
	spent("turn", func(v simulate.Result) simulate.Spent { return v.Turns })
	row("  input from cache", func(v simulate.Result) string { return fmt.Sprintf("%.0f %%", 100*v.Turns.Share) })
	spent("worker", func(v simulate.Result) simulate.Spent { return v.Worker })
	row("money", func(v simulate.Result) string {
		if v.Money == nil {
			return "no price"
		}
		return prices.Money(*v.Money)
	})
	if s.Variants[0].Found != nil {
		row("questions", number(func(v simulate.Result) int { return v.Found.Questions }))
		row("  found in context", func(v simulate.Result) string { return fmt.Sprintf("%.0f %%", 100*v.Found.Context.Evidence) })
		row("  found with recall too", func(v simulate.Result) string { return fmt.Sprintf("%.0f %%", 100*v.Found.Recall.Evidence) })
	}
	return rows
}

var blocks = []rune("▁▂▃▄▅▆▇█")

// sparkline shows how full the window was: in each column the most.
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
			tokens = before // no message
		}
		before = tokens
		line[i] = blocks[min(tokens*len(blocks)/max(v.Window, 1), len(blocks)-1)]
	}
	return string(line)
}

//go:embed simulate.html
var simulationHTML string

var simulationTemplate = template.Must(template.New("simulation").Parse(simulationHTML))

// simulationPage is a page of its own, without a script.
func simulationPage(r simulate.Report) (string, error) {
	table := simulated{r}.table()
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
