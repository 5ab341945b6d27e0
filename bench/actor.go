package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"cairn/llm"
)

// actor is a scripted model that plays its part in one channel: it answers, looks
// something up now and then, saves memories and sums up.
type actor struct {
	window int
	takes  func(*rand.Rand) time.Duration // for one request; nil: no time
	lines  []string                       // what it says, one drawn for each answer

	incurious bool // it looks nothing up
	brief     bool // it sums up in a few words, and saves nothing

	// gate, if there is one, is locked while a turn runs, so that a worker always ends between two turns
	// and every run is the same. A real model takes about as long.
	gate *sync.RWMutex

	mu    sync.Mutex // guards everything below
	dice  *rand.Rand
	saved int
	asked int           // requests so far
	took  time.Duration // for the answers since somebody took note
	till  *till         // is charged for everything; nil: nobody is
}

var _ llm.Model = (*actor)(nil)

// lookUpEvery is the share of the turns in which it looks something up: 1/8.
const lookUpEvery = 8

// chatScale makes texts of those of "bench cost" that are as long as people chat.
const chatScale = 0.25

// linesOf makes what actors say: n answers as long as those that `cost` prices are.
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
	begun := time.Now()
	a.mu.Lock()
	var wait time.Duration
	if a.takes != nil {
		wait = a.takes(a.dice)
	}
	a.mu.Unlock()
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return llm.Response{}, ctx.Err()
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
		a.took += time.Since(begun)
		a.mu.Unlock()
	}
	return resp, err
}

// answer is what it says when it has thought for long enough.
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
		resp := want.answer(a.dice, &a.saved, a.asked)
		if a.till != nil {
			answer := ""
			for _, c := range resp.Message.Calls {
				answer += c.Name + " " + c.Arguments + "\n"
			}
			a.till.charge(req, answer)
		}
		return resp, nil
	case !a.incurious && offered["recall"] && last.Role == llm.RoleUser && a.dice.IntN(lookUpEvery) == 0:
		call := llm.Call{ID: fmt.Sprint("call_", a.asked), Name: "recall", Arguments: fmt.Sprintf(`{"query":%q}`, text(a.dice, 4))}
		return llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Calls: []llm.Call{call}}, FinishReason: llm.FinishToolCalls}, nil
	}
	return llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Text: a.lines[a.dice.IntN(len(a.lines))]}, FinishReason: llm.FinishStop}, nil
}

// thought returns how long its answers have taken since it was asked last.
func (a *actor) thought() (took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	took, a.took = a.took, 0
	return took
}
