package main

import (
	"fmt"
	"strings"

	"cairn/store"
	"cairn/testkit/llmtest"
)

// gaugeGoal is the limit of the mean error of the estimated usage, in percent, for models that
// think.
const gaugeGoal = 3.0

// trialResult is the result of a trial.
type trialResult struct {
	Name      string         `json:"name"`
	Turns     int            `json:"turns"`
	Answered  int            `json:"answered"`
	Requests  int            `json:"requests"`  // valid requests of turns
	Summaries int            `json:"summaries"` // valid requests of the worker
	Learned   []string       `json:"learned"`
	Refused   []string       `json:"refused"`
	Changes   int            `json:"head_changes"`
	Extended  int            `json:"extended"` // requests of turns that extend the previous one
	Broken    []string       `json:"broken"`
	Counted   llmtest.Totals `json:"counted"` // by the servers
	Stored    llmtest.Totals `json:"stored"`  // by Cairn
	Cached    float64        `json:"cached"`  // share of the input
	Gauge     gaugeError     `json:"gauge_error"`
	Failures  []string       `json:"failures"`
}

// gaugeError is the difference between the estimated usage and the server's count, in percent.
type gaugeError struct {
	Compared int     `json:"compared"` // requests
	Mean     float64 `json:"mean"`
	Worst    float64 `json:"worst"`
}

// add adds one comparison.
func (g *gaugeError) add(percent float64) {
	g.Mean = (g.Mean*float64(g.Compared) + percent) / float64(g.Compared+1)
	g.Worst = max(g.Worst, percent)
	g.Compared++
}

func (t *trialResult) fail(err error) {
	if err != nil {
		t.Failures = append(t.Failures, err.Error())
	}
}

// lessonsEach is how often the same refusal is allowed: a turn and a summary may send requests at
// the same time.
const lessonsEach = 2

// lessons are texts of refusals that teach something.
var lessons = []string{
	"use /v1/responses",              // the wire
	"does not support tools",         // none
	"must be passed back to the API", // the reasoning of earlier turns
}

// lesson returns the entry of lessons that a refusal contains; "" if there is none.
func lesson(refusal string) string {
	for _, l := range lessons {
		if strings.Contains(refusal, l) {
			return l
		}
	}
	return ""
}

// count adds up what the servers refused and counted, and what Cairn has stored.
func (t *trialResult) count(stored []store.Usage, servers map[string]*llmtest.Server) {
	for _, server := range servers {
		known := map[string]int{}
		for _, why := range server.Refusals() {
			l := lesson(why)
			known[l]++
			if l == "" || known[l] > lessonsEach {
				t.Refused = append(t.Refused, why)
				continue
			}
			t.Learned = append(t.Learned, why)
		}
		t.Counted = added(t.Counted, server.Counted())
	}
	for _, u := range stored {
		t.Stored = added(t.Stored, llmtest.Totals{
			Requests: int(u.Requests), Input: int(u.Input), Cached: int(u.Cached), Written: int(u.Written), Output: int(u.Output),
		})
	}
	t.Cached = float64(t.Counted.Cached) / float64(max(t.Counted.Input, 1))
}

func added(a, b llmtest.Totals) llmtest.Totals {
	return llmtest.Totals{
		Requests: a.Requests + b.Requests, Input: a.Input + b.Input, Cached: a.Cached + b.Cached, Written: a.Written + b.Written, Output: a.Output + b.Output,
	}
}

// judge records the failures of the trial.
func (t *trialResult) judge() {
	for _, why := range t.Refused {
		t.fail(fmt.Errorf("refused: %s", why))
	}
	for _, why := range t.Broken {
		t.fail(fmt.Errorf("not an extension: %s", why))
	}
	if t.Answered < t.Turns {
		t.fail(fmt.Errorf("%d of %d turns were answered", t.Answered, t.Turns))
	}
	if t.Counted != t.Stored {
		t.fail(fmt.Errorf("the server counted %+v, Cairn stored %+v", t.Counted, t.Stored))
	}
	if thinking(t.Name) && t.Gauge.Mean > gaugeGoal {
		t.fail(fmt.Errorf("the gauge is off by %.1f %% in the mean", t.Gauge.Mean))
	}
}
