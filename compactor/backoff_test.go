package compactor_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

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
		if !extractive() {
			t.Fatal("the extractive summarizer did not run")
		}
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
		if len(tries) == before {
			t.Error("the recovered model was not tried again")
		}
		r.repaired()
		r.verify()
		r.close()
	})
}

func TestHangingWorkerTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 8000, held(nil, goodSummary))
		for r.c.Status().Running == nil {
			r.deliverNotes(filler(40))
		}
		time.Sleep(time.Duration(r.policy.Timeout) + time.Second)
		synctest.Wait()
		g := r.c.Status()
		if g.Running != nil || g.Last.State != compactor.EventFailed || g.Lines != len(r.said) {
			t.Errorf("got running %v, last failure %q, %d of %d messages verbatim", g.Running, g.Last.Error, g.Lines, len(r.said))
		}
		r.verify()
		r.close()
	})
}
