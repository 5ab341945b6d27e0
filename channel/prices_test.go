package channel_test

import (
	"fmt"
	"log/slog"
	"testing"

	"cairn/channel/access"
	"cairn/llm/prices"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/storetest"
)

// TestLongPromptsCostMore: all of a request whose prompt is longer than the model's first band.
func TestLongPromptsCostMore(t *testing.T) {
	list := prices.List{"scripted": {Rates: prices.Rates{Input: 1e6, Output: 1e6}, Above: 100, Long: prices.Rates{Input: 3e6, Output: 2e6}}}
	r := newRig(t, inSteps(billed(100), billed(101), billed(50)))
	log := r.withRules(access.Rules{Money: access.Money{Prices: list, PerDay: 400}}).captureLog()
	for range 2 {
		check.Equal(t, "answer", r.ask("hello"), "yes")
	}
	r.wantAnswer("/context", "201 tokens in (0 cached, 0 written), 2 out: $406.00\n") // 100 + 1 and 3 * 101 + 2
	check.Contains(t, "answer", r.ask("hello"), "The budget for today is used up")
	check.Equal(t, "warnings about the price", log.count("model_without_price"), 0)
	r.restartCounting()
	check.Contains(t, "answer after a restart", r.ask("hello"), "The budget for today is used up")
	long := storetest.Map(check.Must(r.store.Usage(t.Context(), ""))(t), func(u store.Usage) string { return fmt.Sprint(u.Long, " ", u.Requests, " ", u.Input) })
	check.EqualAll(t, "rows", long, []string{"false 1 100", "true 1 101"})
}

// TestModelWithoutPriceIsReported: once, and only if a budget should limit it.
func TestModelWithoutPriceIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		money    access.Money
		warnings int
	}{
		"a budget for a day":            {access.Money{PerDay: 5}, 1},
		"a budget for a month":          {access.Money{PerMonth: 5}, 1},
		"no budget":                     {access.Money{}, 0},
		"a model that costs nothing":    {access.Money{PerDay: 5, Prices: prices.List{"scripted": {}}}, 0},
		"a budget, and a price for all": {access.Money{PerDay: 5000, Prices: priced}, 0},
	} {
		r := newRig(t, billed(10))
		log := r.withRules(access.Rules{Money: c.money}).captureLog()
		r.ask("hello")
		r.ask("hello")
		check.Equal(t, name, log.lines(slog.LevelWarn, "model_without_price.*model=scripted"), c.warnings)
	}
}
