package channel_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// gatedWorker returns a worker whose summaries each wait for a value from gate: true lets the summary
// succeed, false fails it. They are numbered from 1.
func gatedWorker(gate chan bool) *llmtest.Model {
	return &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		select {
		case good := <-gate:
			if !good {
				return llm.Response{}, &llm.Error{Kind: llm.KindOverloaded, Status: 503, Message: "overloaded"}
			}
			return summary(fmt.Sprintf("summary %d, of a quick brown fox", n)), nil
		case <-ctx.Done():
			return llm.Response{}, ctx.Err()
		}
	}}
}

// A /compact while a summary is being written is scheduled, and people are told how it ends itself.
func TestCompactDuringLevelCompaction(t *testing.T) {
	for how, want := range map[string]string{"applied": "Summarized ", "failed": "The summary of messages #", "shutdown": "ask again"} {
		gate := make(chan bool)
		r := newRig(t, echo)
		r.model.Tokens = 6000
		r.agent.Worker = gatedWorker(gate)
		r.setFilePolicy(func(p *compactor.Policy) { p.PrepareThreshold, p.MaxTurns = 0, 1 })
		r.reopen()
		for i := 0; !r.running() && i < 200; i++ {
			r.ask(fmt.Sprintf("turn %d %s", i, strings.Repeat("the quick brown fox ", 12)))
		}
		answer := r.runAsManager("/compact the prices")
		check.Require(t, strings.HasPrefix(answer.Text, "Scheduled") && answer.Then != nil, "got answer %q", answer.Text)
		r.wantAnswer("/compact the dates", "running already")
		r.wantAnswer("/context", "a /compact is scheduled after it")
		if how == "shutdown" {
			r.stop()
			check.Contains(t, "answer", answer.Then(t.Context()), want)
			continue
		}
		go func() {
			gate <- true // the level's
			gate <- how == "applied"
		}()
		said := answer.Then(t.Context())
		ended := append(r.eventsIn(compactor.EventApplied), r.eventsIn(compactor.EventFailed)...)
		own := ended[len(ended)-1]
		check.Contains(t, how+": answer", said, want, fmt.Sprintf("#%d to #%d", own.From, own.To))
		check.That(t, own.Trigger == compactor.OnManual && own.From >= 2, "got event %+v", own)
	}
}

// The answer to /compact describes what happened, including summaries that were ready and so made
// without its focus; /undo reverts and names all of it.
func TestCompactReportsAppliedSummaries(t *testing.T) {
	for _, more := range []bool{true, false} { // whether there is more than the ready ones to summarize
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, echo)
			r.model.Tokens = 8000
			r.agent.Worker = &llmtest.Model{Func: numberedSummaries}
			var kept atomic.Bool
			r.agent.Policy = func() compactor.Policy {
				p := compactor.DefaultPolicy()
				p.SpanTokens, p.TailTokens, p.KeepLastN, p.PrepareThreshold = 500, 500, 0, 0.4
				if kept.Load() {
					p.TailTokens, p.KeepLastN = 2000, 500
				}
				return p
			}
			r.reopen()
			for i := range 30 {
				r.ask(fmt.Sprintf("message-%d %s", i, strings.Repeat("word ", 60)))
				synctest.Wait() // the summaries have ended too
			}
			kept.Store(!more)
			all := r.eventsIn(compactor.EventPrepared)
			check.That(t, len(all) >= 2 && len(r.eventsIn(compactor.EventApplied)) == 0, "got %d summaries that are ready", len(all))
			said := r.finished(r.runAsManager("/compact the prices"))
			if more {
				all = append(all, r.eventsIn(compactor.EventPrepared)[len(all)])
			}
			messages := 0
			for _, e := range all {
				messages += e.Messages
			}
			span := fmt.Sprintf("#%d", all[len(all)-1].To)
			check.HasPrefix(t, "answer", said, fmt.Sprintf("Summarized %d messages (#1 to %s)", messages, span))
			check.Contains(t, "answer", said, "ready before you asked do not have this focus")
			r.wantAnswer("/undo", fmt.Sprintf("Undone: %d summaries of messages #1 to %s", len(all), span))
			r.wantAnswer("/context", "undone: leaf of messages #1 to "+span)
			r.stop()
		})
	}
}
