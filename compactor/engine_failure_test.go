package compactor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

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
			check.Equal(t, "running rows", count(t, r.dir, "SELECT count(*) FROM compactions WHERE state <> 'failed'"), 0)
			g := r.c.Status()
			check.Len(t, "messages", g.Stack, 0)
			check.Equal(t, "view", g.Lines, len(r.said))
			check.That(t, g.Paused != "" && strings.Contains(g.Last.Error, "nothing was lost"),
				"got status paused %q, last failure %q", g.Paused, g.Last.Error)
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
		check.That(t, row.By == compactor.ByExtractive && row.Kind != compactor.Placeholder,
			"got a %s by %s over #%d to #%d", row.Kind, row.By, row.From, row.To)
	}
	for _, e := range r.events {
		check.That(t, e.State != compactor.EventFailed || strings.Contains(e.Error, "nothing was lost"),
			"got failure %q", e.Error)
	}
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
	check.Require(t, strings.Contains(r.render(), "older messages were truncated"), "got no messages hidden in memory")
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

func TestFailingModelBacksOffThenExtractiveSummarizes(t *testing.T) {
	check.SkipUnderRace(t)
	synctest.Test(t, func(t *testing.T) {
		var tries []time.Time
		worker := &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			tries = append(tries, time.Now())
			return brokenSummaries(ctx, n, req)
		}}
		r := newRig(t, 16_000, worker)
		extractive := func() bool { return len(r.c.Status().Stack) > 0 }
		for i := 0; !extractive() && i < 2000; i++ {
			r.deliverNotes("Ada said something or other today. " + filler(8))
			r.waitIdle()
			time.Sleep(5 * time.Second)
		}
		check.Require(t, extractive(), "the extractive summarizer did not run")
		check.Len(t, "model calls", tries, r.policy.FailureLimit)
		for i, least := range []time.Duration{time.Minute, 2 * time.Minute} {
			if gap := tries[i+1].Sub(tries[i]); gap < least || gap > least+10*time.Second {
				t.Errorf("attempt %d: got a pause of %v, want %v", i+2, gap, least)
			}
		}
		check.Equal(t, "summarizer of the first row", r.c.Status().Stack[0].By, compactor.ByExtractive)

		worker.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			tries = append(tries, time.Now())
			return goodSummary(ctx, n, req)
		}
		before := len(tries)
		for range 60 { // the model is back: nothing happens during its pause, then everything is repaired
			r.waitIdle()
			time.Sleep(5 * time.Second)
		}
		check.That(t, len(tries) != before, "the recovered model was not tried again")
		r.repaired()
		r.verify()
	})
}
