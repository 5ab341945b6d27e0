// [prices]: what models cost.

package config

import (
	"fmt"
	"maps"
	"slices"

	"cairn/channel"
	"cairn/llm/prices"
)

// Price is [prices."MODEL"], per million tokens. It replaces the built-in price.
type Price struct {
	Input  *float64 `toml:"input"`
	Cached *float64 `toml:"cached"` // nil: as input
	Write  *float64 `toml:"write"`  // nil: as input
	Output *float64 `toml:"output"`
}

const (
	maxPrice  = 100_000.0
	maxBudget = 1_000_000_000.0
)

// checkMoney reports invalid prices and budgets.
func (d *decoder) checkMoney(s *Settings) {
	d.checkAmount("budget_per_day", s.BudgetPerDay, maxBudget)
	d.checkAmount("budget_per_month", s.BudgetPerMonth, maxBudget)
	for _, model := range slices.Sorted(maps.Keys(s.Prices)) {
		p, path := s.Prices[model], "prices."+model
		for _, one := range []struct {
			key   string
			value *float64
			must  bool
		}{{"input", p.Input, true}, {"cached", p.Cached, false}, {"write", p.Write, false}, {"output", p.Output, true}} {
			switch {
			case one.value != nil:
				d.checkAmount(path+"."+one.key, *one.value, maxPrice)
			case one.must && !d.set[path+"."+one.key]:
				d.problem(path+"."+one.key, one.key+": is missing; a price has input and output, and may have cached and write, per million tokens")
			}
		}
	}
}

// checkAmount reports an amount that is not a number from 0 to limit.
func (d *decoder) checkAmount(path string, v, limit float64) {
	if !(v >= 0 && v <= limit) { // false for NaN
		d.problem(path, fmt.Sprintf("%s = %v: must be from 0 to %.0f", base(path), v, limit))
	}
}

// Money returns the prices of tokens and the budgets.
func (s *Settings) Money() channel.Money {
	m := channel.Money{PerDay: s.BudgetPerDay, PerMonth: s.BudgetPerMonth, Prices: prices.List{}}
	for model, p := range s.Prices {
		input := amount(p.Input, 0)
		m.Prices[model] = prices.Price{Input: input, Cached: amount(p.Cached, input), Write: amount(p.Write, input), Output: amount(p.Output, 0)}
	}
	return m
}

func amount(v *float64, fallback float64) float64 {
	if v == nil {
		return fallback
	}
	return *v
}
