package simulate_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cairn/llm/prices"
	"cairn/simulate"
	"cairn/testkit/check"
)

// A range has what happened in it when the whole recording is simulated, and the figures of all ranges add up to those of the whole.
func TestRangeOfMessages(t *testing.T) {
	t.Parallel()
	agent := agentOf(6000, nil)
	said := talk(240, 7)
	for i := range said {
		if i%3 == 2 {
			said[i].Author = "Cairn"
		}
	}
	rec := simulate.FromFile("talk", said, "Cairn")
	in := func(from, to int64) simulate.Report {
		o := simulate.OptionsOf(t.Context(), agent, agent.Policy(), prices.List{})
		o.From = from
		return check.Must(simulate.Run(t.Context(), rec.Until(to), nil, o))(t)
	}
	whole := in(0, 0)
	check.That(t, whole.From == 1 && whole.To == 240 && whole.Messages == 240, "the whole: #%d to #%d", whole.From, whole.To)
	parts := []simulate.Report{in(0, 99), in(100, 180), in(181, 0)}
	var compactions []simulate.Compaction
	messages := 0
	requests := 0
	input := int64(0)
	for _, part := range parts {
		v := part.Variants[0]
		compactions = append(compactions, v.Compactions...)
		messages += part.Messages
		requests += v.Turns.Requests
		input += v.Turns.Input
		check.That(t, v.Used[len(v.Used)-1].At == part.To && v.Used[0].At >= part.From-1, "points from #%d to #%d", v.Used[0].At, v.Used[len(v.Used)-1].At)
	}
	all := whole.Variants[0]
	check.Equal(t, "messages", messages, whole.Messages)
	check.Equal(t, "requests", requests, all.Turns.Requests)
	check.Equal(t, "input tokens", input, all.Turns.Input)
	check.That(t, len(compactions) >= len(all.Compactions) && len(all.Compactions) > 3, "%d compactions in parts, %d in the whole", len(compactions), len(all.Compactions))
	for _, c := range all.Compactions {
		same := func(o simulate.Compaction) bool {
			return o.From == c.From && o.To == c.To && o.Kind == c.Kind && o.Reason == c.Reason
		}
		check.That(t, slices.ContainsFunc(compactions, same), "no range has %+v", c)
	}
	_, err := simulate.Run(t.Context(), rec, nil, simulate.Options{From: 999})
	check.That(t, errors.Is(err, simulate.ErrNoMessages), "got %v", err)
}

// The rows below "compactions" add up to it.
func TestFiguresAddUp(t *testing.T) {
	t.Parallel()
	agent := agentOf(5000, nil)
	for about, bot := range map[string]string{"an import": "", "answers": "Bob"} {
		rec := simulate.FromFile("talk", talk(200, 3), bot)
		o := simulate.OptionsOf(t.Context(), agent, agent.Policy(), prices.List{})
		report := check.Must(simulate.Run(t.Context(), rec, nil, o))(t)
		all := 0
		sum := 0
		inside := false
		for _, row := range report.Rows() {
			n, _ := strconv.Atoi(row[1])
			part := strings.HasPrefix(row[0], "  ")
			switch {
			case row[0] == "compactions":
				all = n
				inside = true
			case inside && part:
				sum += n
			case inside:
				inside = false
			}
		}
		check.That(t, all > 3 && sum == all, "%s: %d compactions, parts %d", about, all, sum)
		check.Len(t, about+": compactions", report.Variants[0].Compactions, all)
	}
}

func TestRangeHasOnlyTheCostsOfItsSummaries(t *testing.T) {
	t.Parallel()
	agent := agentOf(6000, nil)
	agent.Worker = scripted(6000, 0, nil)
	rec := simulate.FromFile("talk", talk(240, 3), "Bob")
	requests := func(from int64) int {
		o := simulate.OptionsOf(t.Context(), agent, agent.Policy(), prices.List{})
		o.From = from
		return check.Must(simulate.Run(t.Context(), rec, nil, o))(t).Variants[0].Worker.Requests
	}
	all := requests(0)
	last := requests(181)
	check.That(t, last < all, "the last quarter has as many requests as the recording, %d", all)
}
