package compactor_test

import (
	"context"
	"fmt"
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
	for name, c := range map[string]struct {
		answer   llm.Response
		err      error
		declines bool // the extractive summarizer takes over the span after the number of attempts in the policy
	}{
		"overloaded":     {err: &llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "overloaded"}},
		"another error":  {err: errWorker},
		"panic":          {},
		"empty":          {answer: llmtest.Say("  \n"), declines: true},
		"tools for ever": {answer: llmtest.Use(llmtest.Call("x", "memory_save", map[string]any{})), declines: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 8000, &llmtest.Model{Func: func(context.Context, int, llm.Request) (llm.Response, error) {
				if name == "panic" {
					panic("worker")
				}
				return c.answer, c.err
			}})
			r.notesUntil(100, func() bool { r.waitIdle(); return r.seen(compactor.EventFailed) > 0 })
			check.Contains(t, "error", r.last(compactor.EventFailed).Error, "nothing was lost")
			g := r.c.Status()
			if c.declines {
				check.Equal(t, "failures", r.seen(compactor.EventFailed), r.policy.FailureLimit)
				check.That(t, len(g.Stack) > 0 && g.Stack[0].By == compactor.ByExtractive && g.Stack[0].Kind == compactor.Leaf, "got %+v", g.Stack)
				r.verify()
				return
			}
			check.Equal(t, "failures", r.seen(compactor.EventFailed), 1)
			check.Equal(t, "other rows", count(t, r.dir, "SELECT count(*) FROM compactions WHERE state <> 'failed'"), 0)
			check.Len(t, "stack", g.Stack, 0)
			check.Equal(t, "messages in the view", g.Lines, len(r.said))
			check.That(t, g.Paused != "", "the status does not say that it waits")
			calls := len(r.worker.Requests())
			r.deliverNotes("one more")
			r.waitIdle()
			check.Len(t, "worker calls", r.worker.Requests(), calls)
			r.verify()
		})
	}
}

func TestFullDiskTruncatesInMemoryFirst(t *testing.T) {
	r := newRig(t, 8000, nil)
	r.policy.Enabled = false // only emergency
	disk := r.faultyDisk()
	disk.refuses = true
	for i := range 150 {
		r.deliverNotes(fmt.Sprintf("note %d %s", i, filler(60)))
		check.Require(t, r.share() < 0.95, "message %d: %v of the window used", i+1, r.share())
	}
	check.Require(t, strings.Contains(r.render(), "older messages were truncated"), "got no messages hidden in memory")
	r.remove(2, 5) // after the placeholder
	check.NoError(t, r.checkShown())
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
		answer := brokenSummaries
		r := newRig(t, 16_000, &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			tries = append(tries, time.Now())
			return answer(ctx, n, req)
		}})
		r.notesUntil(60, func() bool { return r.share() >= 0.77 })
		for i := 0; len(r.c.Status().Stack) == 0; i++ {
			check.Require(t, i < 2000, "the extractive summarizer did not run")
			r.deliverNotes("Ada said something or other today. " + filler(8))
			r.waitIdle()
			time.Sleep(5 * time.Second)
		}
		check.Len(t, "model calls", tries, r.policy.FailureLimit)
		for i, least := range []time.Duration{time.Minute, 2 * time.Minute} {
			if gap := tries[i+1].Sub(tries[i]); gap < least || gap > least+10*time.Second {
				t.Errorf("attempt %d: got a pause of %v, want %v", i+2, gap, least)
			}
		}
		check.Equal(t, "summarizer of the first row", r.c.Status().Stack[0].By, compactor.ByExtractive)

		answer = goodSummary
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
