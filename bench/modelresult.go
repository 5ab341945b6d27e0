package main

import (
	"fmt"
	"strings"

	"cairn/llm/llmtest"
	"cairn/store"
)

// gaugeGoal is by how many percent the gauge may be off in the mean, for models that think.
const gaugeGoal = 3.0

// tried is what came of a trial.
type tried struct {
	Name      string         `json:"name"`
	Turns     int            `json:"turns"`
	Answered  int            `json:"answered"`
	Requests  int            `json:"requests"`  // of turns that were valid
	Summaries int            `json:"summaries"` // requests of the worker that were valid
	Learned   []string       `json:"learned"`
	Refused   []string       `json:"refused"`
	Changes   int            `json:"head_changes"`
	Extended  int            `json:"extended"` // requests of turns that extend the one before
	Broken    []string       `json:"broken"`
	Counted   llmtest.Totals `json:"counted"` // by the servers
	Stored    llmtest.Totals `json:"stored"`  // by Cairn
	Cached    float64        `json:"cached"`  // share of the input
	Gauge     gaugeError     `json:"gauge_error"`
	Failures  []string       `json:"failures"`
}

// gaugeError is by how many percent the gauge differs from what the server counts.
type gaugeError struct {
	Compared int     `json:"compared"` // requests
	Mean     float64 `json:"mean"`
	Worst    float64 `json:"worst"`
}

// add compares one request.
func (g *gaugeError) add(percent float64) {
	g.Mean = (g.Mean*float64(g.Compared) + percent) / float64(g.Compared+1)
	g.Worst = max(g.Worst, percent)
	g.Compared++
}

func (t *tried) fail(err error) {
	if err != nil {
		t.Failures = append(t.Failures, err.Error())
	}
}

// lessonsEach is how often a lesson may be taught: a turn and a summary may ask at the same
// time.
const lessonsEach = 2

// lessons are what a refusal may teach.
var lessons = []string{
	"use /v1/responses",              // the wire
	"does not support tools",         // none
	"must be passed back to the API", // the reasoning of earlier turns
}

// lesson is the lesson that a refusal teaches; "": none.
func lesson(refusal string) string {
	for _, l := range lessons {
		if strings.Contains(refusal, l) {
			return l
		}
	}
	return ""
}

// count adds up what the servers refused and counted, and what Cairn has stored.
func (t *tried) count(stored []store.Usage, servers map[string]*llmtest.Server) {
	for _, server := range servers {
		known := map[string]int{}
		for _, why := range server.Refusals() {
			l := lesson(why)
			if known[l]++; l == "" || known[l] > lessonsEach {
				t.Refused = append(t.Refused, why)
				continue
			}
			t.Learned = append(t.Learned, why)
		}
		n := server.Counted()
		t.Counted = added(t.Counted, n)
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

// judge notes what the trial has missed.
func (t *tried) judge() {
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
