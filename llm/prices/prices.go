// Package prices has the list prices of common models. It imports nothing: callers pass token counts as numbers.
package prices

import (
	_ "embed"
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync"
)

// Rates are the prices of a million tokens, in US dollars.
type Rates struct {
	Input  float64 // neither read from a cache nor written to one
	Cached float64 // read from the provider's cache
	Write  float64 // written to the provider's cache
	Output float64 // reasoning included
}

// Price is the price of a model. Some cost more, all of a request, if its prompt is long.
type Price struct {
	Rates
	Above int64 // tokens of a prompt, cached ones included; a longer one has the rates Long; 0: all have the same
	Long  Rates
}

// Tokens is the usage of a model. Cached and Written are parts of Input.
type Tokens struct {
	Input   int64 `json:"input_tokens"`
	Cached  int64 `json:"cached_tokens"`  // read from the provider's cache
	Written int64 `json:"written_tokens"` // written to the provider's cache
	Output  int64 `json:"output_tokens"`
}

// Add adds other tokens.
func (t *Tokens) Add(other Tokens) {
	t.Input += other.Input
	t.Cached += other.Cached
	t.Written += other.Written
	t.Output += other.Output
}

// Uncached returns the input that was neither read from a cache nor written to one.
func (t Tokens) Uncached() int64 { return max(t.Input-t.Cached-t.Written, 0) }

// IsLong reports whether a request with a prompt of so many tokens costs more.
func (p Price) IsLong(prompt int64) bool { return p.Above > 0 && prompt > p.Above }

// Cost returns the price of the tokens of requests whose prompts are all long, or all not.
func (p Price) Cost(t Tokens, long bool) float64 {
	if long && p.Above > 0 {
		return p.Long.cost(t)
	}
	return p.Rates.cost(t)
}

func (p Rates) cost(t Tokens) float64 {
	return (float64(t.Uncached())*p.Input + float64(t.Cached)*p.Cached + float64(t.Written)*p.Write + float64(t.Output)*p.Output) / 1e6
}

//go:embed prices.txt
var listed string // a line for each model: its name and its rates, and perhaps Above and Long; other lines are comments

// table returns the built-in table.
var table = sync.OnceValue(func() map[string]Price {
	prices := make(map[string]Price)
	for line := range strings.Lines(listed) {
		var model string
		var p Price
		n, _ := fmt.Sscan(line, &model, &p.Input, &p.Cached, &p.Write, &p.Output, &p.Above, &p.Long.Input, &p.Long.Cached, &p.Long.Write, &p.Long.Output)
		if n == 5 || n == 10 {
			prices[model] = p
		}
	}
	return prices
})

// List are prices by model that add to the built-in table or correct it. A nil list is the built-in table alone.
type List map[string]Price

// version matches the suffix of dated snapshots and aliases.
var version = regexp.MustCompile(`[-@](\d{4}-\d{2}-\d{2}|\d{8}|latest)$`)

// Of returns the price of a model: of its name as it is, else without the provider before it, else without a date behind
// it. The list counts before the built-in table. ok is false if the price is unknown.
func (l List) Of(model string) (p Price, ok bool) {
	for _, name := range []string{model, version.ReplaceAllString(model, "")} {
		last := name[strings.LastIndex(name, "/")+1:]
		for _, name := range []string{name, last, strings.ReplaceAll(last, ".", "-")} { // OpenRouter writes Claude's versions with dots
			p, ok = l[name]
			if !ok {
				p, ok = table()[name]
			}
			if ok {
				return p, true
			}
		}
	}
	return Price{}, false
}

// Exact formats an amount for a table.
func Exact(amount float64) string { return fmt.Sprintf("$%.4f", amount) }

// Money formats an amount for people: with two decimals, or as many as it takes to show two digits of a small one.
func Money(amount float64) string {
	digits := 2
	if a := math.Abs(amount); a > 0 && a < 0.1 {
		digits = min(1-int(math.Floor(math.Log10(a))), 6)
	}
	return fmt.Sprintf("$%.*f", digits, amount)
}
