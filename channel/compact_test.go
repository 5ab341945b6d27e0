package channel_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"cairn/internal/check"

	"cairn/compactor"
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

// askUntilRunning asks until a compaction is running.
func (r *rig) askUntilRunning() {
	r.t.Helper()
	for i := 0; !r.running() && i < 200; i++ {
		r.ask(fmt.Sprintf("turn %d %s", i, strings.Repeat("the quick brown fox ", 12)))
	}
}

func TestCompactDuringLevelCompaction(t *testing.T) {
	for name, test := range map[string]struct {
		well bool
		want string
	}{
		"its own end is told when it lands": {true, "Summarized "},
		"its own end is told when it fails": {false, "The summary of messages #"},
	} {
		t.Run(name, func(t *testing.T) {
			gate := make(chan bool)
			r := newRig(t, echo)
			r.model.Tokens = 6000
			r.agent.Worker = gatedWorker(gate)
			r.setFilePolicy(func(p *compactor.Policy) { p.PrepareThreshold, p.MaxTurns = 0, 1 })
			r.reopen()
			r.askUntilRunning()
			answer := r.runAsManager("/compact the prices")
			check.Require(t, strings.HasPrefix(answer.Text, "Scheduled") && answer.Then != nil, "got answer %q", answer.Text)
			check.Contains(t, "answer to the second /compact", r.runAsManager("/compact the dates").Text, "running already")
			check.Contains(t, "answer to /context", r.run("/context"), "a /compact is scheduled after it")
			go func() {
				gate <- true // the level's
				gate <- test.well
			}()
			said := answer.Then(t.Context())
			check.HasPrefix(t, "last words", said, test.want)
			ended := append(r.eventsIn(compactor.EventApplied), r.eventsIn(compactor.EventFailed)...)
			own := ended[len(ended)-1]
			if !strings.Contains(said, fmt.Sprintf("#%d to #%d", own.From, own.To)) || own.Trigger != compactor.OnManual || own.From < 2 {
				t.Errorf("got answer %q for %+v", said, own)
			}
		})
	}
}

func TestScheduledCompactEndsAtShutdown(t *testing.T) {
	r := newRig(t, echo)
	r.model.Tokens = 6000
	r.agent.Worker = gatedWorker(nil)
	r.reopen()
	r.askUntilRunning()
	answer := r.runAsManager("/compact")
	check.Require(t, strings.HasPrefix(answer.Text, "Scheduled"), "got answer %q", answer.Text)
	r.stop()
	check.Contains(t, "last words", answer.Then(t.Context()), "ask again")
}

// withPreparedSummaries returns a rig with summaries that are ready before any level has asked for them. If
// spared is set, the messages after them are kept.
func withPreparedSummaries(t *testing.T, spared *atomic.Bool) *rig {
	r := newRig(t, echo)
	r.model.Tokens = 8000
	r.agent.Worker = &llmtest.Model{Func: numberedSummaries}
	r.agent.Policy = func() compactor.Policy {
		p := compactor.DefaultPolicy()
		p.SpanTokens, p.TailTokens, p.KeepLastN, p.PrepareThreshold = 500, 500, 0, 0.4
		if spared.Load() {
			p.TailTokens, p.KeepLastN = 2000, 500
		}
		return p
	}
	r.reopen()
	for i := range 30 {
		r.ask(fmt.Sprintf("message-%d %s", i, strings.Repeat("word ", 60)))
		synctest.Wait() // the summaries have ended too
	}
	return r
}

// The answer to /compact describes what happened, including summaries that were ready and so made
// without its focus; /undo reverts and names all of it.
func TestCompactReportsAppliedSummaries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := withPreparedSummaries(t, new(atomic.Bool))
		ready, applied := r.eventsIn(compactor.EventPrepared), r.eventsIn(compactor.EventApplied)
		if len(ready) < 2 || len(applied) > 0 {
			t.Fatalf("%d summaries are ready and %d were applied", len(ready), len(applied))
		}
		messages := 0
		for _, e := range ready {
			messages += e.Messages
		}
		answer := r.runAsManager("/compact the prices")
		said := answer.Then(t.Context())
		own := r.eventsIn(compactor.EventPrepared)[len(ready)]
		check.Contains(t, "answer", said, fmt.Sprintf("Summarized %d messages (#1 to #%d)", messages+own.Messages, own.To), "ready before you asked do not have this focus")
		r.wantAnswer("/undo", fmt.Sprintf("Undone: %d summaries of messages #1 to #%d", len(ready)+1, own.To))
		r.wantAnswer("/context", fmt.Sprintf("undone: leaf of messages #1 to #%d", own.To))
	})
}

// If everything old enough is ready, nothing is written with the focus, and people are told.
func TestCompactAppliesOnlyPreparedSummaries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var spared atomic.Bool
		r := withPreparedSummaries(t, &spared)
		spared.Store(true)
		ready := r.eventsIn(compactor.EventPrepared)
		said := r.runAsManager("/compact the prices").Text
		check.HasPrefix(t, "answer", said, "Summarized ")
		check.Contains(t, "answer", said, "do not have this focus")
		r.wantAnswer("/undo", fmt.Sprintf("Undone: %d summaries", len(ready)))
	})
}
