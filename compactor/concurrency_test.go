package compactor_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// held is a worker that blocks until release is closed.
func held(release <-chan struct{}, answer func(context.Context, int, llm.Request) (llm.Response, error)) *llmtest.Model {
	return &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		select {
		case <-release:
			return answer(ctx, n, req)
		case <-ctx.Done():
			return llm.Response{}, ctx.Err()
		}
	}}
}

func TestUselessEmergencyIsReportedOnce(t *testing.T) {
	var log journal
	r := tuned(t, 2000, &llmtest.Model{Func: goodSummary}, func(o *compactor.Options) {
		o.Log = log.logger()
		o.Tools = []llm.Tool{{Name: "look", Description: filler(2500), Parameters: []byte("{}")}}
	})
	r.deliverNotes("hello")
	for range 20 {
		r.c.Check(t.Context())
		check.ErrorContains(t, "a request that cannot fit", check.ErrorOf(r.c.Prompt(t.Context())), "of 2000 tokens")
	}
	check.Len(t, "events", r.events, 0)
	check.Len(t, "calls of the model", r.worker.Requests(), 0)
	check.Equal(t, "log", strings.Count(log.String(), "request_too_large"), 1)
}

func TestWorkerOverflowHalvesSpan(t *testing.T) {
	const takes = 1500 // tokens, though it says 100 000
	overflows := 0
	var read strings.Builder
	r := newRig(t, 100_000, &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if tokens.Estimate(req.Messages[1].Text) > takes {
			overflows++
			return llm.Response{}, &llm.Error{Kind: llm.KindOverflow, Status: 400, Message: "too long"}
		}
		read.WriteString(req.Messages[1].Text)
		return goodSummary(ctx, n, req)
	}})
	r.chat(100)
	e := r.compact("")
	check.Require(t, e.State == compactor.EventApplied && e.From == 1 && e.Messages == 96, "got %+v", e)
	for i := range 96 {
		check.Contains(t, "the material", read.String(), fmt.Sprintf("note-%d ", i))
	}
	check.That(t, overflows > 0 && overflows <= 10, "got %d overflows", overflows)
	check.Equal(t, "applied compactions", r.seen(compactor.EventApplied), 1)
	r.verify()
}

// Many conversations compact at once: at most as many call a model as the semaphore has places,
// each about its own messages; a failing worker releases its place.
func TestWorkersShareOnlyTheSemaphore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places = 2
		slots := make(chan struct{}, places)
		var mu sync.Mutex // guards at and most
		at, most := 0, 0
		enter := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			at += n
			most = max(most, at)
		}
		var rigs []*rig
		for i := range 6 {
			name := fmt.Sprintf("room%d", i)
			worker := &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
				enter(1)
				defer enter(-1)
				time.Sleep(time.Second) // meanwhile all others start that can
				for j := range 6 {
					check.Equal(t, fmt.Sprintf("the worker of %s reads room %d", name, j), strings.Contains(req.Messages[1].Text, fmt.Sprintf("room%d", j)), j == i)
				}
				if i == 0 {
					panic("worker")
				}
				return goodSummary(ctx, n, req)
			}}
			r := tuned(t, 100_000, worker, func(o *compactor.Options) { o.Slots = slots })
			for range 30 {
				r.deliverNotes(name + " " + filler(30))
			}
			rigs = append(rigs, r)
		}
		for range 3 {
			for _, r := range rigs {
				r.c.Compact(compactor.OnManual, "")
			}
		}
		for i, r := range rigs {
			r.waitIdle()
			check.Equal(t, fmt.Sprintf("room %d", i), r.seen(compactor.EventApplied), min(i, 1))
			r.verify()
		}
		check.Equal(t, "concurrent workers", most, places)
		check.Equal(t, "places taken at the end", len(slots), 0)
	})
}
