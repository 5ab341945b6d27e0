package compactor_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// An emergency that frees the room cancels an unmet demand of a level.
func TestEmergencySettlesTokenDeficit(t *testing.T) {
	down := false
	now := time.Now()
	worker := &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		if down {
			return llm.Response{}, errors.New("out of order")
		}
		return goodSummary(ctx, n, req)
	}}
	r := tuned(t, 10_000, worker, func(o *compactor.Options) { o.Now = func() time.Time { return now } })
	r.set(func(p *compactor.Policy) {
		p.PrepareThreshold, p.BackgroundFraction, p.KeepLastN, p.CacheTTL = 0.65, 0.9, 0, compactor.TTL(24*time.Hour)
	})
	r.prepared(1)
	down = true
	r.compactAndWait() // the next try waits
	talk := func(until func() bool) {
		t.Helper()
		for i := 0; !until(); i++ {
			if i > 200 {
				t.Fatalf("timed out: %+v", r.c.Status())
			}
			r.deliverNotes(fmt.Sprintf("note %d %s", len(r.said), filler(60)))
			r.waitIdle()
		}
	}
	talk(func() bool { return len(r.c.Status().Stack) > 0 }) // the prepared summaries were applied, and were not enough
	talk(func() bool { return r.emergencies() > 0 })
	if r.share() >= 0.65 {
		t.Fatalf("after the emergency: got usage %.2f", r.share())
	}
	started := 0
	for _, e := range r.events {
		if e.State == compactor.EventStarted && e.Trigger == compactor.OnPrepare {
			started++
		}
	}
	down, now = false, now.Add(time.Hour)
	r.c.Check(t.Context())
	r.waitIdle()
	for _, e := range r.events {
		if e.State == compactor.EventStarted && e.Trigger == compactor.OnPrepare {
			started--
		}
	}
	if started != 0 {
		t.Errorf("got %d more prepared summaries at %.2f", -started, r.share())
	}
	r.verify()
}
