package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/check"
)

func TestPricesAndBudgetsInTheSettings(t *testing.T) {
	t.Run("what is left out follows input", func(t *testing.T) {
		s := check.Must(Load(writeSettings(t, "budget_per_day = 3\n[prices.\"gpt-4.1\"]\ninput = 2\noutput = 8.5\n[prices.m]\ninput = 1\ncached = 0\nwrite = 4\noutput = 5\n")))(t)
		m := s.Money()
		if p := m.Prices["gpt-4.1"]; p.Input != 2 || p.Cached != 2 || p.Write != 2 || p.Output != 8.5 {
			t.Errorf("gpt-4.1: %+v", p)
		}
		if p := m.Prices["m"]; p.Input != 1 || p.Cached != 0 || p.Write != 4 || p.Output != 5 {
			t.Errorf("m: %+v", p)
		}
		check.Equal(t, "budgets", m.PerDay, 3)
		check.Equal(t, "m.PerMonth", m.PerMonth, 0)
	})
	for text, want := range map[string]string{
		"\nbudget_per_day = -1":                            ":2: budget_per_day = -1: must be from 0 to 1000000000",
		"budget_per_month = nan":                           ":1: budget_per_month = NaN: must be from 0 to 1000000000",
		"[prices.\"gpt-4.1\"]\ninput = 1\noutput = 100001": `:3: [prices."gpt-4.1"]: output = 100001: must be from 0 to 100000`,
		"\n[prices.m]\ninput = 1":                          `:2: [prices."m"]: output: is missing; a price has input and output`,
		"\n[prices]\nm = { input = 1, output = -1 }":       `:3: [prices."m"]: output = -1: must be from 0`,
	} {
		t.Run(text, func(t *testing.T) {
			_, err := Load(writeSettings(t, text))
			check.ErrorContains(t, "error", err, want)
		})
	}
}

// TestPriceExample is what config.toml shows in comments.
func TestPriceExample(t *testing.T) {
	text := check.Must(os.ReadFile("../config.toml"))(t)
	_, example, found := strings.Cut(string(text), "\n# [prices.")
	example, _, _ = strings.Cut("# [prices."+example, "\n\n")
	s, err := Load(writeSettings(t, strings.ReplaceAll("\n"+example, "\n# ", "\n")))
	if err != nil || !found || len(s.Prices) != 1 {
		t.Errorf("%v, %d prices in %s", err, len(s.Prices), filepath.Base(example))
	}
}
