package simulate_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/channeltest"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/llm/prices"
	"cairn/simulate"
	"cairn/store"
)

func TestMain(m *testing.M) {
	check.InMemory()
	os.Exit(m.Run())
}

// name is a conversation of the test's connector.
const name = "terminal:test"

var discard = slog.New(slog.DiscardHandler)

// talk generates n messages of people from a seed.
func talk(n int, seed uint64) (said []store.Inbound) {
	dice := rand.New(rand.NewPCG(seed, 1))
	words := strings.Fields("garden water plot harvest spring compost meeting budget lamp kettle train ticket Thursday Berlin invoice server backup deploy tea coffee I decided we should prefer never always")
	at := time.Date(2025, 3, 1, 9, 0, 0, 0, time.UTC)
	for i := range n {
		at = at.Add(time.Duration(dice.IntN(900)+1) * time.Second)
		text := ""
		for range dice.IntN(40) + 3 {
			text += words[dice.IntN(len(words))] + fmt.Sprint(dice.IntN(30)) + " "
		}
		author := []string{"Ada", "Bob", "Eve"}[dice.IntN(3)]
		said = append(said, store.Inbound{ID: fmt.Sprint("m", i), AuthorID: author, Author: author, Text: strings.TrimSpace(text) + ".", Time: at})
	}
	return said
}

// agentOf returns an agent whose model is never called.
func agentOf(window int, change func(*compactor.Policy)) channel.Agent {
	p := compactor.DefaultPolicy()
	if change != nil {
		change(&p)
	}
	return channel.Agent{ID: "test", Model: llm.NewOffline(window), Policy: func() compactor.Policy { return p }}
}

func options(t *testing.T, agent channel.Agent) simulate.Options {
	t.Helper()
	return simulate.OptionsOf(t.Context(), agent, agent.Policy(), prices.List{})
}

// imported imports messages into a store like `cairn import`.
func imported(t *testing.T, agent channel.Agent, said []store.Inbound) *store.Conversation {
	t.Helper()
	db := check.Must(store.Open(t.Context(), store.Options{Dir: t.TempDir()}))(t)
	t.Cleanup(func() { check.NoError(t, db.Close()) })
	hub := channel.New(channel.Options{Store: db, Connectors: []channel.Connector{channeltest.Silent("terminal")}, Log: discard, Agent: func(string) channel.Agent { return agent }})
	past := func(yield func(store.Inbound, error) bool) {
		for i := 0; i < len(said) && yield(said[i], nil); i++ {
		}
	}
	check.Must(hub.Import(t.Context(), name, past, func(int) {}))(t)
	check.NoError(t, hub.Close())
	return storetest.Find(t, db, name)
}

func TestSimulationMatchesImport(t *testing.T) {
	for about, c := range map[string]struct {
		window, messages int
		change           func(*compactor.Policy)
	}{
		"defaults":                {8000, 200, nil},
		"a small window":          {4000, 110, nil},
		"other levels":            {8000, 130, func(p *compactor.Policy) { p.BackgroundThreshold, p.PrepareThreshold = 0.6, 0 }},
		"nothing but emergencies": {8000, 120, func(p *compactor.Policy) { p.Enabled = false }},
	} {
		t.Run(about, func(t *testing.T) {
			if about != "other levels" { // one shows that they do not race
				check.SkipUnderRace(t)
			}
			t.Parallel()
			agent := agentOf(c.window, c.change)
			conversation := imported(t, agent, talk(c.messages, uint64(c.window)))
			rec := check.Must(simulate.Read(t.Context(), conversation))(t)
			report := check.Must(simulate.Run(t.Context(), rec, nil, options(t, agent)))(t)
			expectEqual(t, report, rec)
		})
	}
}

// expectEqual compares the simulation of the current settings with what happened.
func expectEqual(t *testing.T, report simulate.Report, rec simulate.Recording) {
	t.Helper()
	made := report.Variants[0].Compactions
	if report.Happened > 0 && report.Equal == report.Happened && len(made) == report.Happened {
		return
	}
	t.Errorf("got %d of %d compactions equal, %d simulated", report.Equal, report.Happened, len(made))
	for i, s := range rec.Summaries {
		if s.Version > 0 && i < 12 {
			t.Logf("real %s %s %d-%d %d→%d", s.Trigger, s.Kind, s.From, s.To, s.Before, s.After)
		}
	}
	for _, s := range made[:min(len(made), 12)] {
		t.Logf("simulated %s %s %d-%d %d→%d", s.Trigger, s.Kind, s.From, s.To, s.Before, s.After)
	}
}
