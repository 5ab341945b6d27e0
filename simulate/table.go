package simulate

import (
	"fmt"

	"cairn/compactor"
	"cairn/llm/prices"
)

// Rows returns the figures as a table: the first row has the names of the variants, each following
// row one figure.
func (r Report) Rows() (rows [][]string) {
	for _, name := range []string{
		"", "window", "compactions", "  rollups", "  at background", "  at aggressive", "  emergencies",
		"verbatim tokens, mean", "verbatim tokens, least", "summaries, of what is used",
		"turn requests", "  input tokens", "  output tokens", "  input from cache",
		"worker requests", "  input tokens", "  output tokens", "money", "questions", "  found in context", "  found with recall too",
	} {
		rows = append(rows, []string{name})
	}
	for _, v := range r.Variants {
		rollups, money := 0, "no price"
		for _, c := range v.Compactions {
			if c.Kind == compactor.Rollup {
				rollups++
			}
		}
		if v.Money != nil {
			money = prices.Money(*v.Money)
		}
		column := []any{
			v.Name, v.Window, len(v.Compactions), rollups, v.Levels.Background, v.Levels.Aggressive, v.Levels.Emergency,
			v.Verbatim.Mean, v.Verbatim.Least, percent(v.Summaries),
			v.Turns.Requests, v.Turns.Input, v.Turns.Output, percent(v.Turns.Share),
			v.Worker.Requests, v.Worker.Input, v.Worker.Output, money,
		}
		if f := v.Found; f != nil {
			column = append(column, f.Questions, percent(f.Context.Evidence), percent(f.Recall.Evidence))
		}
		rows = rows[:len(column)] // without questions there are no rows about them
		for i, value := range column {
			rows[i] = append(rows[i], fmt.Sprint(value))
		}
	}
	return rows
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
