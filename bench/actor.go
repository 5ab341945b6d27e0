package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"cairn/llm"
	"cairn/testkit/llmtest"
)

// actor is a scripted model for one channel: it answers, calls recall now and then, saves memories
// and summarizes.
type actor struct {
	window int
	delay  func(*rand.Rand) time.Duration // time per request; nil: none
	lines  []string                       // its answers, chosen at random

	incurious bool // never calls recall
	brief     bool // short summaries, no memories

	// gate, if set, is locked while a turn runs, so that a worker always finishes between two turns
	// and every run is the same. A real model takes about as long.
	gate *sync.RWMutex

	mu      sync.Mutex // guards everything below
	dice    *rand.Rand
	asked   int           // requests so far
	elapsed time.Duration // time spent on answers since the last takeElapsed
	meter   *meter        // is charged for every request; nil: none is
}

var _ llm.Model = (*actor)(nil)

// lookUpEvery is the share of turns in which it calls recall: 1/8.
const lookUpEvery = 8

// chatScale shortens the texts of "bench cost" to the length of chat messages.
const chatScale = 0.25

// linesOf returns n answers with lengths as in `cost`, times scale.
func linesOf(n int, scale float64) (lines []string) {
	for _, t := range talk(n, scale, false) {
		lines = append(lines, t.answer)
	}
	return lines
}

func (a *actor) Name() string { return "scripted" }

func (a *actor) Window(context.Context) llm.Window {
	return llm.Window{Tokens: a.window, Source: "script"}
}

func (a *actor) Generate(ctx context.Context, req llm.Request, show func(string)) (llm.Response, error) {
	started := time.Now()
	if a.delay != nil {
		a.mu.Lock()
		wait := a.delay(a.dice)
		a.mu.Unlock()
		if err := sleep(ctx, wait); err != nil {
			return llm.Response{}, err
		}
	}
	if a.gate != nil {
		a.gate.RLock()
		defer a.gate.RUnlock()
		if err := ctx.Err(); err != nil {
			return llm.Response{}, err
		}
	}
	resp, err := a.answer(req)
	if err == nil && show != nil {
		show(resp.Message.Text)
		a.mu.Lock()
		a.elapsed += time.Since(started)
		a.mu.Unlock()
	}
	return resp, err
}

// answer returns the response to a request, after the delay.
func (a *actor) answer(req llm.Request) (llm.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	offered := map[string]bool{}
	for _, tool := range req.Tools {
		offered[tool.Name] = true
	}
	last := req.Messages[len(req.Messages)-1]
	switch {
	case offered["summarize"] && a.brief:
		return summarized(shortSummary(req.Messages[1].Text), a.asked), nil
	case offered["summarize"]:
		want, err := wantedOf(req)
		if err != nil {
			return llm.Response{}, err
		}
		resp := want.answer(a.dice, a.asked)
		if a.meter != nil {
			answer := ""
			for _, c := range resp.Message.Calls {
				answer += c.Name + " " + c.Arguments + "\n"
			}
			a.meter.charge(req, answer)
		}
		return resp, nil
	case !a.incurious && offered["recall"] && last.Role == llm.RoleUser && a.dice.IntN(lookUpEvery) == 0:
		return llmtest.Use(llmtest.Call(fmt.Sprint("call_", a.asked), "recall", map[string]string{"query": text(a.dice, 4)})), nil
	}
	return llmtest.Say(a.lines[a.dice.IntN(len(a.lines))]), nil
}

// takeElapsed returns the time spent on answers since the last call.
func (a *actor) takeElapsed() (took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	took = a.elapsed
	a.elapsed = 0
	return took
}
