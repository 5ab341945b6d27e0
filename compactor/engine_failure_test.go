package compactor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

func TestEmergencyDoesNotWaitForWorker(t *testing.T) {
	release := make(chan struct{})
	r := newRig(t, 8000, held(release, goodSummary))
	for i := range 400 {
		r.deliverNotes(fmt.Sprintf("note %d %s", i, filler(20)))
		if g := r.c.Status(); g.Used >= g.Window*95/100 {
			t.Fatalf("message %d: %d of %d tokens used", i+1, g.Used, g.Window)
		}
	}
	if r.emergencies() == 0 { // a placeholder may be filled by now
		t.Fatal("got no emergency although the worker hangs")
	}
	r.verify()
	close(release)
	for range 5 {
		r.waitIdle()
	}
	r.noPlaceholder()
	r.verify()
}

func TestFailedWorkerChangesNothing(t *testing.T) {
	behaviours := map[string]func(context.Context, int, llm.Request) (llm.Response, error){
		"overloaded":    brokenSummaries,
		"another error": func(context.Context, int, llm.Request) (llm.Response, error) { return llm.Response{}, errWorker },
		"panic":         func(context.Context, int, llm.Request) (llm.Response, error) { panic("worker") },
		"empty":         func(context.Context, int, llm.Request) (llm.Response, error) { return llmtest.Say("  \n"), nil },
		"tools for ever": func(context.Context, int, llm.Request) (llm.Response, error) {
			return llmtest.Use(llmtest.Call("x", "memory_save", map[string]any{})), nil
		},
	}
	for name, behaviour := range behaviours {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 8000, &llmtest.Model{Func: behaviour})
			for r.seen(compactor.EventFailed) == 0 && len(r.said) < 300 {
				r.deliverNotes("note " + filler(20))
				check.NoError(t, r.c.Wait(t.Context()))
			}
			if declines := !slices.Contains([]string{"overloaded", "another error", "panic"}, name); declines {
				r.wantExtractiveFallback(t)
				return
			}
			if n := r.seen(compactor.EventFailed); n != 1 {
				t.Fatalf("got %d failures, want 1", n)
			}
			g := r.c.Status()
			check.Len(t, "messages", g.Stack, 0)
			check.Equal(t, "view", g.Lines, len(r.said))
			if g.Paused == "" || !strings.Contains(g.Last.Error, "nothing was lost") {
				t.Errorf("got status paused %q, last failure %q", g.Paused, g.Last.Error)
			}
			calls := len(r.worker.Requests())
			r.deliverNotes("one more")
			r.waitIdle()
			check.Len(t, "worker calls", r.worker.Requests(), calls)
			r.verify()
		})
	}
}

// wantExtractiveFallback checks that the extractive summarizer took over the span that the model
// declined, after the number of attempts in the policy.
func (r *rig) wantExtractiveFallback(t *testing.T) {
	t.Helper()
	check.Equal(t, "failures", r.seen(compactor.EventFailed), r.policy.FailureLimit)
	for _, row := range r.c.Status().Stack {
		if row.By != compactor.ByExtractive || row.Kind == compactor.Placeholder {
			t.Errorf("got a %s by %s over #%d to #%d", row.Kind, row.By, row.From, row.To)
		}
	}
	for _, e := range r.events {
		if e.State == compactor.EventFailed && !strings.Contains(e.Error, "nothing was lost") {
			t.Errorf("got failure %q", e.Error)
		}
	}
	r.verify()
}

func TestExtractiveFallback(t *testing.T) {
	r := newRig(t, 8000, &llmtest.Model{Func: brokenSummaries})
	r.policy.FailureLimit = 1
	for i := range 200 {
		r.deliverNotes(fmt.Sprintf("Ada moved to city number %d and likes it. %s", i, filler(15)))
		r.waitIdle()
	}
	stack := r.c.Status().Stack
	if len(stack) == 0 || r.c.Status().Used > 8000*85/100 {
		t.Fatalf("with a failing model: got %d rows in the stack, %d tokens used", len(stack), r.c.Status().Used)
	}
	for _, row := range stack {
		check.Equal(t, fmt.Sprintf("row %d", row.ID), row.By, compactor.ByExtractive)
	}
	r.verify()

	r.worker.Func = goodSummary // the model is back, and so is a new process
	r.restart()
	for range 30 {
		r.waitIdle()
	}
	r.repaired()
	r.verify()
}

func TestCloseCancelsWorker(t *testing.T) {
	r := newRig(t, 8000, held(nil, goodSummary))
	for r.c.Status().Running == nil {
		r.deliverNotes(filler(40))
	}
	start := time.Now()
	r.restart()
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("Close took %v", took)
	}
	check.Equal(t, "verbatim messages after the restart", r.c.Status().Lines, len(r.said))
	r.verify()
}

func TestFullDiskTruncatesInMemoryFirst(t *testing.T) {
	r := newRig(t, 8000, nil)
	r.policy.Enabled = false // only emergency
	disk := r.faultyDisk()
	disk.refuses = true
	for i := range 300 {
		r.deliverNotes(fmt.Sprintf("note %d %s", i, filler(30)))
		if g := r.c.Status(); g.Used >= g.Window*95/100 {
			t.Fatalf("message %d: %d of %d tokens used", i+1, g.Used, g.Window)
		}
	}
	if !strings.Contains(r.render(), "older messages were truncated") {
		t.Fatal("got no messages hidden in memory")
	}
	r.remove(2, 5) // after the placeholder
	if err := r.checkShown(); err != nil {
		t.Errorf("while the disk fails: %v", err)
	}
	disk.refuses = false
	r.waitIdle()
	r.verify()
	check.NoError(t, r.checkShown())
	r.renderAfterRestart()
}
