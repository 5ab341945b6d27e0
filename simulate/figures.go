// The figures and the chart of a report.

package simulate

import (
	"fmt"
	"math"
	"slices"

	"cairn/compactor"
	"cairn/internal/chart"
	"cairn/llm/prices"
)

// Chart returns used tokens over messages, one panel for each variant.
func (r Report) Chart() chart.Sawtooth {
	w := chart.Sawtooth{Title: r.Name, Desc: "Tokens of the next request over messages, simulated for each variant of the settings, with the levels and the compactions."}
	w.First = r.From
	w.Last = r.To
	for _, v := range r.Variants {
		p := chart.Panel{Name: v.Name, Window: v.Window, Levels: LevelsOf(v.policy, v.Window), Points: v.Used}
		for _, c := range v.Compactions {
			p.Marks = append(p.Marks, chart.Mark{At: c.at, Kind: c.Reason, Tip: fmt.Sprintf("%s %s of #%d to #%d: %s → %s tokens",
				c.Trigger, c.Kind, c.From, c.To, chart.Short(float64(c.Before)), chart.Short(float64(c.After)))})
		}
		w.Panels = append(w.Panels, p)
	}
	return w
}

// LevelsOf returns the levels of a window, as lines of a chart.
func LevelsOf(p compactor.Policy, window int) (lines []chart.Level) {
	p = p.At(window)
	for _, l := range []struct {
		kind  string
		share float64
	}{{"prepare", p.Prepare()}, {"background", p.BackgroundThreshold}, {"aggressive", p.AggressiveThreshold}, {"emergency", p.EmergencyThreshold}} {
		if l.share > 0 {
			lines = append(lines, chart.Level{Name: fmt.Sprintf("%s %g %%,", l.kind, math.Round(1000*l.share)/10), Kind: l.kind, Tokens: int(l.share * float64(window))})
		}
	}
	return lines
}

// reasonWords are the Reasons for people.
var reasonWords = map[string]string{
	"background": "at background", "aggressive": "at aggressive", "emergency": "at emergency", "rollup": "rollups",
	coldCache: "below, with a cold cache", "manual": "asked for by a person", "self": "asked for by the model", "reactive": "after an overflow",
	"repair": "repairs", "new": "of ended sessions", "rewrite": "rewritten lines",
}

// alwaysListed are the first of the Reasons: they have a row though nothing happened.
const alwaysListed = 4

// Rows returns the figures as a table: the first row has the names of the variants, each following row one figure. Rows that are
// indented below "compactions" add up to it.
func (r Report) Rows() (rows [][]string) {
	add := func(name string, value func(v Result) any) {
		row := []string{name}
		for _, v := range r.Variants {
			row = append(row, fmt.Sprint(value(v)))
		}
		rows = append(rows, row)
	}
	add("", func(v Result) any { return v.Name })
	add("window", func(v Result) any { return v.Window })
	add("compactions", func(v Result) any { return len(v.Compactions) })
	for i, reason := range Reasons {
		happened := slices.ContainsFunc(r.Variants, func(v Result) bool { return v.Reasons[reason] > 0 })
		if happened || i < alwaysListed {
			add("  "+reasonWords[reason], func(v Result) any { return v.Reasons[reason] })
		}
	}
	add("verbatim tokens, mean", func(v Result) any { return v.Verbatim.Mean })
	add("verbatim tokens, least", func(v Result) any { return v.Verbatim.Least })
	add("summaries, of what is used", func(v Result) any { return percent(v.Summaries) })
	add("turn requests", func(v Result) any { return v.Turns.Requests })
	add("  input tokens", func(v Result) any { return v.Turns.Input })
	add("  output tokens", func(v Result) any { return v.Turns.Output })
	add("  input from cache", func(v Result) any { return percent(v.Turns.Share) })
	add("worker requests", func(v Result) any { return v.Worker.Requests })
	add("  input tokens", func(v Result) any { return v.Worker.Input })
	add("  output tokens", func(v Result) any { return v.Worker.Output })
	add("money", func(v Result) any {
		if v.Money == nil {
			return "no price"
		}
		return prices.Money(*v.Money)
	})
	if slices.ContainsFunc(r.Variants, func(v Result) bool { return v.Found == nil }) {
		return rows
	}
	add("questions", func(v Result) any { return v.Found.Questions })
	add("  found in context", func(v Result) any { return percent(v.Found.Context.Evidence) })
	add("  found with recall too", func(v Result) any { return percent(v.Found.Recall.Evidence) })
	return rows
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
