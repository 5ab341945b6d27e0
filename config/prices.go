// What models cost: [prices] of the settings.
package config

import (
	"fmt"
	"maps"
	"slices"

	"cairn/channel"
	"cairn/llm/prices"
)

// price is [prices."MODEL"], per million tokens. It takes the place of a built-in price.
type Price struct {
	Input  *float64 `toml:"input"`
	Cached *float64 `toml:"cached"` // nil: as input
	Write  *float64 `toml:"write"`  // nil: as input
	Output *float64 `toml:"output"`
}

const (
	mostPrice  = 100_000.0
	mostBudget = 1_000_000_000.0
)

// checkMoney reports which prices and budgets cannot be.
func (d *decoder) checkMoney(s *Settings) {
	d.checkAmount("budget_per_day", s.BudgetPerDay, mostBudget)
	d.checkAmount("budget_per_month", s.BudgetPerMonth, mostBudget)
	for _, model := range slices.Sorted(maps.Keys(s.Prices)) {
		p, path := s.Prices[model], "prices."+model
		for _, one := range []struct {
			key   string
			value *float64
			must  bool
		}{{"input", p.Input, true}, {"cached", p.Cached, false}, {"write", p.Write, false}, {"output", p.Output, true}} {
			switch {
			case one.value != nil:
				d.checkAmount(path+"."+one.key, *one.value, mostPrice)
			case one.must && !d.set[path+"."+one.key]:
				d.problem(path+"."+one.key, one.key+": is missing; a price has input and output, and may have cached and write, per million tokens")
			}
		}
	}
}

// checkAmount reports an amount that is none, or not from 0 to most.
func (d *decoder) checkAmount(path string, v, most float64) {
	if !(v >= 0 && v <= most) { // nan is neither
		d.problem(path, fmt.Sprintf("%s = %v: must be from 0 to %.0f", base(path), v, most))
	}
}

// money says what tokens cost and how much may be spent.
func (s *Settings) Money() channel.Money {
	m := channel.Money{PerDay: s.BudgetPerDay, PerMonth: s.BudgetPerMonth, Prices: prices.List{}}
	for model, p := range s.Prices {
		input := amount(p.Input, 0)
		m.Prices[model] = prices.Price{Input: input, Cached: amount(p.Cached, input), Write: amount(p.Write, input), Output: amount(p.Output, 0)}
	}
	return m
}

func amount(v *float64, otherwise float64) float64 {
	if v == nil {
		return otherwise
	}
	return *v
}
