package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// benchmark is one of the programs, and its part in the table of "all".
type benchmark struct {
	command func(*screen) *cobra.Command
	inAll   func(whole) []string                  // its command line there, without --json; nil: it is left out
	figures func(result []byte) ([]figure, error) // of what it writes with --json
}

// benchmarks are all there are, in the order of the table.
var benchmarks = []benchmark{
	{newLoad, scaled("load", "--minutes", "30", "2"), tell(func(l load) []figure {
		return []figure{
			{What: "channels held at once, with compactions", Value: fmt.Sprintf("%s for %.3g minutes, %s messages and %s compactions", thousands(l.Channels), l.Minutes, thousands(l.Said), thousands(l.Compactions))},
			{What: "messages lost, questions left or answered twice", Value: fmt.Sprintf("%d, %d, %d", l.Lost, l.Unanswered, l.Twice)},
			{What: "resident memory then, last third of the time over the second", Value: fmt.Sprintf("%.2f, of %.0f MB at the end", l.growth(func(x sample) float64 { return float64(x.Resident) }), float64(l.End.Resident)/1e6)},
			{What: "a turn beyond the model's own time then", Value: fmt.Sprintf("%.1f ms; one in a hundred more than %.0f ms", l.P50, l.P99)},
		}
	})},
	{newOverhead, scaled("overhead", "--turns", "10000", "2000"), tell(func(o overhead) []figure {
		return []figure{{What: "processor's time of a turn, its writes left out", Value: fmt.Sprintf("%.0f µs, of %.0f µs", o.Overhead, o.Turn)}}
	})},
	{newTurn, scaled("turn", "--turns", "50", "20"), tell(func(t turned) []figure {
		return []figure{{What: "processor's time of a whole turn in the shipped program", Value: fmt.Sprintf("%.1f ms", t.CPU)}}
	})},
	{newIdle, scaled("idle", "--channels", "10000", "2000"), tell(func(i idle) []figure {
		return []figure{{What: "memory of a silent channel", Value: fmt.Sprintf("%.0f KB; nothing after ten minutes", i.Open)}}
	})},
	{newStart, scaled("start", "--messages", "100000", "20000"), tell(func(s started) (all []figure) {
		for _, o := range s.Shapes {
			all = append(all, figure{What: fmt.Sprintf("start until ready, %s messages %s", thousands(s.Messages), o.Shape), Value: fmt.Sprintf("%.0f ms", o.Median)})
		}
		return all
	})},
	{newFuzz, scaled("fuzz", "--seconds", "10", "2"), tell(func(f fuzzed) []figure {
		return []figure{{What: "inputs fuzzed, targets with one that fails", Value: fmt.Sprintf("%s for %d targets, %d", thousands(f.Inputs), len(f.Targets), f.Failures)}}
	})},
	{newCrash, scaled("crash", "--kills", "500", "40"), tell(func(c crashes) []figure {
		return []figure{
			{What: "kills by SIGKILL survived", Value: fmt.Sprintf("%s, while %s messages were accepted", thousands(c.Kills), thousands(c.Accepted))},
			{What: "messages lost, questions left or answered twice then", Value: fmt.Sprintf("%d, %d, %d", c.Lost, c.Unanswered, c.Twice)},
		}
	})},
	{newFaults, scaled("faults", "--seeds", "3", "1"), tell(func(f faultTallies) []figure {
		t := f.Total
		return []figure{{
			What:  "faults of a provider, conversations that went on, messages lost",
			Value: fmt.Sprintf("%s, %s, %d; at most %d requests and %d warning for one", thousands(t.Injected), thousands(t.WentOn), t.Lost, t.Requests, t.Warnings),
		}}
	})},
	{newWires, func(whole) []string { return []string{"wires"} }, tell(func(w wiring) []figure {
		return []figure{{What: "models, and those that answer on every wire: turn, tool, worker", Value: fmt.Sprintf("%d, %d of %d answered", w.Models, w.Answered, len(w.Cells))}}
	})},
	{newModels, modelsInAll, tell(func(c conversed) []figure {
		return []figure{{What: "long conversations with strict models, failures", Value: fmt.Sprintf("%d of %d turns, %d", len(c.Trials), c.Turns, len(c.Failures))}}
	})},
	{newLatency, scaled("latency", "--turns", "400", "50"), tell(func(l latencies) []figure {
		return []figure{{What: "a reply while a summary is being written, over one while none is", Value: fmt.Sprintf("%.2f (with 95 %% between %.3f and %.3f)", l.Ratio, l.Low, l.High)}}
	})},
	{newCost, scaled("cost", "--turns", "2000", "300"), tell(func(c costs) (all []figure) {
		for _, channel := range c.Channels {
			for _, r := range channel.Rows {
				if r.Strategy == "Cairn, defaults" || r.Strategy == economical || r.Strategy == "sliding window" {
					all = append(all, figure{What: fmt.Sprintf("input of %s turns in millions of tokens, %s: %s", thousands(c.Turns), channel.Name, r.Strategy), Value: fmt.Sprintf("%.1f", r.Input/1e6)})
				}
			}
		}
		return all
	})},
	{newRecall, recorded("recall"), tell(func(r recalled) []figure {
		return []figure{{What: "messages with the answer among the first 5, 10, 20 found", Value: fmt.Sprintf("%.0f, %.0f, %.0f %%", 100*r.All.At5, 100*r.All.At10, 100*r.All.At20)}}
	})},
	{newJudge, recorded("judge"), tell(func(v verdicts) []figure {
		return []figure{{What: "good summaries refused, bad texts accepted", Value: fmt.Sprintf("%.2f, %.2f %%", v.share(true), v.share(false))}}
	})},
	{newRetention, recorded("retention"), tell(func(r retained) (all []figure) {
		for _, w := range r.Windows {
			all = append(all, figure{
				What:  fmt.Sprintf("kept without a model in a window of %s: words of the answers, messages with the answer", thousands(w.Window)),
				Value: fmt.Sprintf("%.0f, %.0f %%; with searches %.0f, %.0f %%", 100*w.All.Context.Answer, 100*w.All.Context.Evidence, 100*w.All.Transcript.Answer, 100*w.All.Transcript.Evidence),
			})
		}
		return all
	})},
}

// scaled is a command with a flag that says how large it is, and its quick value.
func scaled(name, flag, large, quick string) func(whole) []string {
	return func(a whole) []string {
		if a.quick {
			return []string{name, flag, quick}
		}
		return []string{name, flag, large}
	}
}

// recorded is a command that needs the recordings.
func recorded(name string) func(whole) []string {
	return func(a whole) []string {
		if a.dir == "" {
			return nil
		}
		return []string{name, a.dir}
	}
}

func modelsInAll(a whole) []string {
	args := []string{"models"}
	if a.dir != "" {
		args = append(args, a.dir)
	}
	if a.quick {
		args = append(args, "--turns", "20")
	}
	return args
}
