package main

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"cairn/testkit/llmtest"
)

const modelsHelp = `Models runs a long conversation with each of these models, on servers on loopback that are as strict
as the providers' documentation, count tokens, and cache prompts by the provider's rule:
%s.
One more conversation switches from provider to provider and back.

A conversation is imported into a window of %s tokens and summarized by the same model; then come
--turns turns, a third with tools. Messages are edited and deleted, also in the middle of a turn, and
the bot is restarted twice.

  learned    refused requests that taught Cairn a requirement of the model
  refused    others; none may be
  changes    how often the head changed: a summary was applied, a message edited or deleted
  extend     requests of turns that extend the one before
  broken     those that do not, without such a change; none may be
  cached     share of the input that was read from the provider's cache
  counted    usage that the server counted; stored, what Cairn stored: it must be equal
  gauge      difference between the tokens that Cairn shows and those that the server counts for
             the next request; at most %g %% on average for models that think`

//go:embed testdata/*.jsonl
var inventedFiles embed.FS

func newModels() *benchmark {
	var turns int
	help := fmt.Sprintf(modelsHelp, strings.Join(llmtest.Profiles(), ", "), thousands(modelsWindow), gaugeGoal)
	b := newBenchmark("models", "Check long conversations with each kind of model", help, func(ctx context.Context, s *screen, _ []string) (result, error) {
		return measureModels(ctx, s, modelTrials(), turns)
	})
	b.integer(&turns, "turns", 100, 1, 100_000, "`N` turns with each model")
	return b
}

// inventedTalk returns the recordings of testdata as one.
func inventedTalk() (recording, error) {
	dir, err := fs.Sub(inventedFiles, "testdata")
	if err != nil {
		return recording{}, err
	}
	all, err := recordingsIn(dir)
	var one recording
	for _, r := range all {
		for _, u := range r.said {
			u.ID = r.name + ":" + u.ID
			one.said = append(one.said, u)
		}
	}
	return one, err
}

// conversed is the result.
type conversed struct {
	Imported int           `json:"imported"`
	Turns    int           `json:"turns"`
	Window   int           `json:"window"`
	Trials   []trialResult `json:"models"`
	Failures []string      `json:"failures"`
	targets
}

func measureModels(ctx context.Context, s *screen, trials []modelTrial, turns int) (c conversed, err error) {
	r, err := inventedTalk()
	if err != nil {
		return c, err
	}
	c = conversed{Imported: len(r.said), Turns: turns, Window: modelsWindow, Failures: []string{}}
	for _, t := range trials {
		one, err := t.have(ctx, s, r, turns)
		if err != nil {
			return c, fmt.Errorf("%s: %w", t.name, err)
		}
		c.Trials = append(c.Trials, one)
		for _, why := range one.Failures {
			c.Failures = append(c.Failures, t.name+": "+why)
		}
	}
	c.Targets = []goal{zero("failures", len(c.Failures))}
	return c, nil
}
