// Validation of models, servers, keys and prices; what models cost.

package config

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cairn/channel"
	"cairn/compactor"
	"cairn/llm/prices"
)

// providerID is the form of a provider's id.
var providerID = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

func (d *decoder) checkModels() {
	d.checkServer("llm.base_url", d.s.LLM.BaseURL, "http://localhost:11434/v1")
	d.checkKey("llm.api_key", d.s.LLM.APIKey, OpenAI.Key)
	d.checkChoiceIfSet("llm.wire", d.s.LLM.Wire, wires)
	ids := map[string]bool{}
	for i, p := range d.s.Providers {
		path := fmt.Sprintf("providers.%d", i)
		d.checkNewID(path, p.ID, ids, providerID.MatchString(p.ID), `letters, digits, "-", "_" and "."; models are named with it, as in model = "id/model"`)
		if p.BaseURL == "" {
			d.problem(path+".base_url", fmt.Sprintf("base_url: is missing; as %q, %q or %q", OpenAIURL, AnthropicURL, "http://localhost:11434/v1"))
		}
		d.checkServer(path+".base_url", p.BaseURL, "http://localhost:11434/v1")
		d.checkKey(path+".api_key", p.APIKey, "")
		d.checkChoiceIfSet(path+".wire", p.Wire, wires)
	}
	d.checkModel("llm.model", d.s.LLM.Model, d.s.LLM.BaseURL)
}

// checkModel reports a model whose provider is not defined. baseURL is the server it is requested
// from if "provider/model" is only a name.
func (d *decoder) checkModel(path string, model, baseURL string) {
	id, _, cut := strings.Cut(model, "/")
	if !cut || len(d.s.Providers) == 0 {
		return
	}
	if _, name, found := d.s.providerOf(model); found {
		if name == "" {
			d.problem(path, fmt.Sprintf("%s = %q: names a provider without a model; remove the setting, or write %q", base(path), model, id+"/MODEL"))
		}
		return
	}
	var ids []string
	for _, p := range d.s.Providers {
		ids = append(ids, p.ID)
	}
	text := fmt.Sprintf("%s = %q: there is no provider %q%s; there are %s", base(path), model, id, compactor.DidYouMean(id, ids), strings.Join(ids, ", "))
	_, elsewhere, _ := d.s.server(baseURL, d.s.LLM.Wire) // an unreadable key is reported elsewhere
	if !elsewhere {
		d.problem(path, text+fmt.Sprintf(`; for a model with this name, write %q, or set base_url under [llm]`, ids[0]+"/"+model))
	}
}

// checkKey reports a key that cannot be read, and warns about a key in plain text.
func (d *decoder) checkKey(path, setting, variable string) {
	_, plain, err := d.s.resolve(setting)
	switch {
	case err != nil:
		d.problem(path, fmt.Sprintf("%s: %v", base(path), err))
	case plain:
		text := `the key is in this file in plain text; move it to a separate file and write "file:PATH", or to the environment and write "env:NAME"`
		if variable != "" {
			text += ", or leave it out and set " + variable
		}
		d.warn(path, base(path)+": "+text)
	}
}

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

func (d *decoder) checkMoney() {
	d.checkAmount("budget_per_day", d.s.BudgetPerDay, maxBudget)
	d.checkAmount("budget_per_month", d.s.BudgetPerMonth, maxBudget)
	for _, model := range slices.Sorted(maps.Keys(d.s.Prices)) {
		p, path := d.s.Prices[model], "prices."+model
		for i, key := range []string{"input", "output", "cached", "write"} {
			if amount := []*float64{p.Input, p.Output, p.Cached, p.Write}[i]; amount != nil {
				d.checkAmount(path+"."+key, *amount, maxPrice)
			} else if i < 2 && !d.isSet(path+"."+key) {
				d.problem(path+"."+key, key+": is missing; a price has input and output, and may have cached and write, per million tokens")
			}
		}
	}
}

// checkAmount reports an amount that is not a number from 0 to limit.
func (d *decoder) checkAmount(path string, v, limit float64) {
	d.must(v >= 0 && v <= limit, path, v, fmt.Sprintf("be from 0 to %.0f", limit)) // NaN is neither
}

// Money returns the prices of tokens and the budgets.
func (s *Settings) Money() channel.Money {
	m := channel.Money{PerDay: s.BudgetPerDay, PerMonth: s.BudgetPerMonth, Prices: prices.List{}}
	for model, p := range s.Prices {
		input, output := cmp.Or(p.Input, new(0.0)), cmp.Or(p.Output, new(0.0))
		m.Prices[model] = prices.Price{Input: *input, Cached: *cmp.Or(p.Cached, input), Write: *cmp.Or(p.Write, input), Output: *output}
	}
	return m
}
