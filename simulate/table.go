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
	row := func(name string, value func(Result) string) {
		line := []string{name}
		for _, v := range r.Variants {
			line = append(line, value(v))
		}
		rows = append(rows, line)
	}
	number := func(value func(Result) int) func(Result) string {
		return func(v Result) string { return fmt.Sprint(value(v)) }
	}
	row("window", number(func(v Result) int { return v.Window }))
	row("compactions", number(func(v Result) int { return len(v.Compactions) }))
	row("  at background", number(func(v Result) int { return v.Levels.Background }))
	row("  at aggressive", number(func(v Result) int { return v.Levels.Aggressive }))
	row("  emergencies", number(func(v Result) int { return v.Levels.Emergency }))
	row("verbatim tokens, mean", number(func(v Result) int { return v.Verbatim.Mean }))
	row("verbatim tokens, least", number(func(v Result) int { return v.Verbatim.Least }))
	row("summaries, of what is used", func(v Result) string { return fmt.Sprintf("%.0f %%", 100*v.Summaries) })
	spent := func(name string, of func(Result) Spent) {
		row(name+" requests", number(func(v Result) int { return of(v).Requests }))
		row("  input tokens", number(func(v Result) int { return int(of(v).Input) }))
		row("  output tokens", number(func(v Result) int { return int(of(v).Output) }))
	}
	spent("turn", func(v Result) Spent { return v.Turns })
	row("  input from cache", func(v Result) string { return fmt.Sprintf("%.0f %%", 100*v.Turns.Share) })
	spent("worker", func(v Result) Spent { return v.Worker })
	row("money", func(v Result) string {
		if v.Money == nil {
			return "no price"
		}
		return prices.Money(*v.Money)
	})
	if r.Variants[0].Found != nil {
		row("questions", number(func(v Result) int { return v.Found.Questions }))
		row("  found in context", func(v Result) string { return fmt.Sprintf("%.0f %%", 100*v.Found.Context.Evidence) })
		row("  found with recall too", func(v Result) string { return fmt.Sprintf("%.0f %%", 100*v.Found.Recall.Evidence) })
	}
	return rows
}
