package prices

import (
	"fmt"
	"math"
	"regexp"
	"testing"

	"cairn/testkit/check"
)

func TestCost(t *testing.T) {
	p := Price{Rates: Rates{Input: 2, Cached: 0.2, Write: 2.5, Output: 10}, Above: 200_000, Long: Rates{Input: 4, Cached: 0.4, Write: 5, Output: 15}}
	for name, c := range map[string]struct {
		tokens Tokens
		want   float64
	}{
		"each kind of token has its price":                         {Tokens{Input: 1_000_000, Cached: 500_000, Written: 200_000, Output: 100_000}, 0.6 + 0.1 + 0.5 + 1},
		"parts that exceed the whole leave no input below nothing": {Tokens{Input: 10, Cached: 1_000_000}, 0.2},
		"nothing costs nothing":                                    {Tokens{}, 0},
	} {
		got := p.Cost(c.tokens, false)
		check.That(t, math.Abs(got-c.want) <= 1e-12, "%s: got %v, want %v", name, got, c.want)
	}
	all := Tokens{Input: 1_000_000, Cached: 500_000, Written: 200_000, Output: 100_000}
	check.Equal(t, "long prompts", p.Cost(all, true), 1.2+0.2+1+1.5)
	for prompt, long := range map[int64]bool{0: false, 200_000: false, 200_001: true} {
		check.Equal(t, fmt.Sprint("long: ", prompt), p.IsLong(prompt), long)
	}
	p.Above = 0 // the list has changed since
	check.Equal(t, "all prompts cost the same", p.Cost(all, true), p.Cost(all, false))
	check.Equal(t, "and none is long", p.IsLong(1_000_000), false)
}

func TestOf(t *testing.T) {
	own := List{"qwen3:8b": {Rates: Rates{Input: 7}}, "gpt-5-mini": {Rates: Rates{Input: 1, Output: 2}}, "openai/gpt-5-nano": {Rates: Rates{Input: 3}}}
	for name, c := range map[string]struct {
		list  List
		model string
		input float64
		known bool
	}{
		"a model of the table":                         {nil, "gpt-5-mini", 0.25, true},
		"the list corrects the table":                  {own, "gpt-5-mini", 1, true},
		"the list adds to the table":                   {own, "qwen3:8b", 7, true},
		"a provider before the name":                   {nil, "openai/gpt-5-mini", 0.25, true},
		"an entry with a provider is of that one":      {own, "openai/gpt-5-nano", 3, true},
		"a version with a dot":                         {nil, "anthropic/claude-haiku-4.5", 1, true},
		"a date behind the name":                       {nil, "gpt-5-mini-2025-08-07", 0.25, true},
		"a date as Vertex writes it":                   {nil, "claude-haiku-4-5@20251001", 1, true},
		"an alias of the latest":                       {nil, "gpt-5-chat-latest", 1.25, true},
		"a size behind the name is another model":      {nil, "gpt-5-mini-large", 0, false},
		"a model that nobody knows":                    {nil, "qwen3:8b", 0, false},
		"the model without a server is free of charge": {nil, "offline", 0, true},
	} {
		p, known := c.list.Of(c.model)
		check.That(t, p.Input == c.input && known == c.known, "%s: got %+v, %v", name, p, known)
	}
	check.Equal(t, "models in the file", len(table()), len(regexp.MustCompile(`(?m)^[^#\n]`).FindAllString(listed, -1)))
	for model, p := range table() { // is sane
		sane := func(r Rates) bool {
			return r.Input > 0 && r.Output >= r.Input && r.Cached <= r.Input && r.Cached > 0 && r.Write >= r.Input
		}
		more := p.Above >= 32_000 && sane(p.Long) && p.Long.Input > p.Input && p.Long.Cached > p.Cached && p.Long.Output > p.Output
		check.That(t, sane(p.Rates) || model == "offline", "%s: %+v", model, p)
		check.That(t, more || p.Above == 0 && p.Long == Rates{}, "long prompts of %s: %+v", model, p)
	}
}

func TestListedBands(t *testing.T) {
	for model, want := range map[string]Price{
		"gpt-6-sol":              {Rates{2, 0.2, 2.5, 10}, 272_000, Rates{4, 0.4, 5, 15}},
		"openai/gpt-5.4":         {Rates{2.5, 0.25, 2.5, 15}, 272_000, Rates{5, 0.5, 5, 22.5}},
		"anthropic/haiku":        {},
		"claude-haiku-5.5":       {Rates{0.1, 0.01, 0.125, 0.5}, 100_000, Rates{0.5, 0.05, 0.625, 2.5}},
		"claude-fable-5-2":       {Rates: Rates{8, 0.2, 10, 40}},
		"gemini-3.1-pro-preview": {Rates{2, 0.2, 2, 12}, 200_000, Rates{4, 0.4, 4, 18}},
		"x-ai/grok-4.7":          {Rates{2, 0.5, 2, 6}, 200_000, Rates{4, 1, 4, 12}},
		"mistral-small-latest":   {Rates: Rates{0.15, 0.015, 0.15, 0.6}},
	} {
		got, _ := List(nil).Of(model)
		check.Equal(t, model, got, want)
	}
}

func TestMoney(t *testing.T) {
	for amount, want := range map[float64]string{0: "$0.00", 12.345: "$12.35", 0.5: "$0.50", 0.012345: "$0.012", 0.00012345: "$0.00012", 0.0000001: "$0.000000", 1234567.891: "$1234567.89"} {
		check.Equal(t, fmt.Sprintf("Money(%v )", amount), Money(amount), want)
	}
}
