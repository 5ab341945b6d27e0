package compactor_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
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
		if _, _, err := r.c.Request(t.Context()); err == nil || !strings.Contains(err.Error(), "of 2000 tokens") {
			t.Fatalf("a request that cannot fit: %v", err)
		}
	}
	check.Len(t, "calls of the model, events", r.events, 0)
	check.Len(t, "calls of the model, events", r.worker.Requests(), 0)
	check.Equal(t, "log", strings.Count(log.String(), "request_too_large"), 1)
}

func TestWorkerOverflowHalvesSpan(t *testing.T) {
	const takes = 1500 // tokens, though it says 100 000
	overflows := 0
	r := newRig(t, 100_000, &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if tokens.Estimate(req.Messages[1].Text) > takes {
			overflows++
			return llm.Response{}, &llm.Error{Kind: llm.KindOverflow, Status: 400, Message: "too long"}
		}
		return goodSummary(ctx, n, req)
	}})
	r.chat(100)
	if e := r.compact(""); e.State != compactor.EventApplied || e.From != 1 || e.Messages != 96 {
		t.Fatalf("got %+v", e)
	}
	var read strings.Builder
	for _, req := range r.worker.Requests() {
		if text := req.Messages[1].Text; tokens.Estimate(text) <= takes {
			read.WriteString(text)
		}
	}
	for i := range 96 {
		check.Contains(t, fmt.Sprintf("material with message %d", i+1), read.String(), fmt.Sprintf("note-%d ", i))
	}
	check.That(t, overflows != 0 && overflows <= 10 && r.seen(compactor.EventApplied) == 1,
		"got %d overflows, %d applied compactions", overflows, r.seen(compactor.EventApplied))
	r.verify()
}

// Many conversations compact at once: at most as many call a model as the semaphore has places,
// each about its own messages; a failing worker releases its place.
func TestWorkersShareOnlyTheSemaphore(t *testing.T) {
	const places = 2
	slots := make(chan struct{}, places)
	var mu sync.Mutex
	at, most := 0, 0
	full := make(chan struct{}) // closed once all places are taken
	fill := sync.OnceFunc(func() { close(full) })
	var rigs []*rig
	for i := range 6 {
		name := fmt.Sprintf("room%d", i)
		worker := &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			mu.Lock()
			at++
			if most = max(most, at); at == places {
				fill()
			}
			mu.Unlock()
			defer func() {
				mu.Lock()
				at--
				mu.Unlock()
			}()
			<-full
			time.Sleep(20 * time.Millisecond)
			for j := range 6 {
				if other := fmt.Sprintf("room%d", j); other != name && strings.Contains(req.Messages[1].Text, other) {
					t.Errorf("the worker of %s reads messages of %s", name, other)
				}
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
	check.Equal(t, "concurrent workers", len(slots), 0)
}

// Healthy work logs one line per applied compaction, and no more.
func TestOneLogLinePerAppliedCompaction(t *testing.T) {
	var log journal
	r := tuned(t, 8000, &llmtest.Model{Func: goodSummary}, func(o *compactor.Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	})
	r.policy.PrepareThreshold = -1
	for i := range 120 {
		if i%10 == 0 {
			r.talk(fmt.Sprint("question ", i), "result "+filler(50))
		}
		r.deliverNotes(fmt.Sprintf("note %d %s", i, filler(60)))
		r.waitIdle()
	}
	applied, lines := r.seen(compactor.EventApplied), strings.Count(log.String(), "\n")
	if applied < 3 || lines != applied || strings.Count(log.String(), "level=INFO msg=compaction_applied ") != applied {
		t.Errorf("got %d applied compactions, log\n%s", r.seen(compactor.EventApplied), log.String())
	}
}
