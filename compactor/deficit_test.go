package compactor_test

import (
	"testing"
	"time"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm/llmtest"
)

// An emergency that frees the room cancels an unmet demand of a level.
func TestEmergencySettlesTokenDeficit(t *testing.T) {
	down, now := false, time.Now()
	worker := &llmtest.Model{Func: goodUnless(func() bool { return down })}
	r := tuned(t, 10_000, worker, func(o *compactor.Options) { o.Now = func() time.Time { return now } })
	r.set(func(p *compactor.Policy) {
		p.PrepareThreshold, p.BackgroundFraction, p.KeepLastN, p.CacheTTL = 0.65, 0.9, 0, compactor.TTL(24*time.Hour)
	})
	r.prepared(1)
	down = true
	r.compactAndWait()                                                                 // the next try waits
	r.notesUntil(60, func() bool { r.waitIdle(); return len(r.c.Status().Stack) > 0 }) // the prepared summaries were applied, and were not enough
	r.notesUntil(60, func() bool { r.waitIdle(); return r.emergencies() > 0 })
	if r.share() >= 0.65 {
		t.Fatalf("after the emergency: got usage %.2f", r.share())
	}
	started := func() (n int) {
		for _, e := range r.events {
			if e.State == compactor.EventStarted && e.Trigger == compactor.OnPrepare {
				n++
			}
		}
		return n
	}
	before := started()
	down, now = false, now.Add(time.Hour)
	r.c.Check(t.Context())
	r.waitIdle()
	check.Equal(t, "summaries prepared", started(), before)
	r.verify()
}
