package simulate

import (
	"fmt"

	"cairn/llm/prices"
)

// Rows returns the figures as a table: the first row has the names of the variants, each following
// row one figure.
func (r Report) Rows() [][]string {
	rows := [][]string{{""}}
	for _, v := range r.Variants {
		rows[0] = append(rows[0], v.Name)
	}
	row := func(name string, value func(Result) any) {
		line := []string{name}
		for _, v := range r.Variants {
			line = append(line, fmt.Sprint(value(v)))
		}
		rows = append(rows, line)
	}
	row("window", func(v Result) any { return v.Window })
	row("compactions", func(v Result) any { return len(v.Compactions) })
	row("  at background", func(v Result) any { return v.Levels.Background })
	row("  at aggressive", func(v Result) any { return v.Levels.Aggressive })
	row("  emergencies", func(v Result) any { return v.Levels.Emergency })
	row("verbatim tokens, mean", func(v Result) any { return v.Verbatim.Mean })
	row("verbatim tokens, least", func(v Result) any { return v.Verbatim.Least })
	row("summaries, of what is used", func(v Result) any { return fmt.Sprintf("%.0f %%", 100*v.Summaries) })
	spent := func(name string, of func(Result) Spent) {
		row(name+" requests", func(v Result) any { return of(v).Requests })
		row("  input tokens", func(v Result) any { return of(v).Input })
		row("  output tokens", func(v Result) any { return of(v).Output })
	}
	spent("turn", func(v Result) Spent { return v.Turns })
	row("  input from cache", func(v Result) any { return fmt.Sprintf("%.0f %%", 100*v.Turns.Share) })
	spent("worker", func(v Result) Spent { return v.Worker })
	row("money", func(v Result) any {
		if v.Money == nil {
			return "no price"
		}
		return prices.Money(*v.Money)
	})
	if r.Variants[0].Found != nil {
		row("questions", func(v Result) any { return v.Found.Questions })
		row("  found in context", func(v Result) any { return fmt.Sprintf("%.0f %%", 100*v.Found.Context.Evidence) })
		row("  found with recall too", func(v Result) any { return fmt.Sprintf("%.0f %%", 100*v.Found.Recall.Evidence) })
	}
	return rows
}
