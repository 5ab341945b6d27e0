package simulate_test

import (
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/simulate"
)

// BenchmarkHundredThousand simulates 100 000 messages, as an import and as a talk with a bot.
func BenchmarkHundredThousand(b *testing.B) {
	said := talk(100_000, 7)
	for i := range said {
		said[i].Text = strings.Join(strings.Fields(said[i].Text + " and so on")[:4], " ") + " " + said[i].Text[:min(len(said[i].Text), 20+i%120)]
	}
	for name, bot := range map[string]string{"import": "", "talk": "Bob"} {
		b.Run(name, func(b *testing.B) {
			agent := agentOf(128_000, nil)
			rec := simulate.FromFile("big", said, bot)
			for b.Loop() {
				report := check.Must(simulate.Run(b.Context(), rec, nil, simulate.OptionsOf(b.Context(), agent, agent.Policy(), nil)))(b)
				b.ReportMetric(float64(len(report.Variants[0].Compactions)), "compactions")
			}
		})
	}
}
