package main

import (
	"strings"
	"testing"

	"cairn/llm/prices"
	"cairn/memory"
)

func TestUsageMetrics(t *testing.T) {
	var b strings.Builder
	usageMetrics(&b, []memory.Usage{
		{Kind: memory.ForTurn, Model: "m", Requests: 2, Input: 1000, Cached: 400, Written: 100, Output: 10},
		{Kind: memory.ForSummary, Model: "other", Requests: 1, Input: 50, Output: 5},
	}, prices.List{"m": {Input: 1000, Cached: 100, Write: 2000, Output: 10_000}})
	for _, want := range []string{
		`cairn_model_requests_total{work="turn",model="m"} 2`,
		`cairn_model_requests_total{work="summary",model="other"} 1`,
		`cairn_model_tokens_total{work="turn",model="m",kind="input"} 500`,
		`cairn_model_tokens_total{work="turn",model="m",kind="cached"} 400`,
		`cairn_model_tokens_total{work="turn",model="m",kind="written"} 100`,
		`cairn_model_tokens_total{work="turn",model="m",kind="output"} 10`,
		`cairn_model_tokens_total{work="summary",model="other",kind="input"} 50`,
		`cairn_model_cost{work="turn",model="m"} 0.84`,
		`cairn_model_cost{work="summary",model="other"} 0`,
		"# TYPE cairn_model_tokens_total counter",
		"# TYPE cairn_model_cost gauge",
	} {
		if !strings.Contains(b.String(), want+"\n") {
			t.Errorf("%s is not in\n%s", want, b.String())
		}
	}
}
