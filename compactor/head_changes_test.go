package compactor_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
)

// Background work (prepared summaries, folds, repairs of extractive summaries) is applied only when
// that is cheap: when a level is reached, or when no request was made for the lifetime of the
// model's cache.
func TestHeadChangesOnlyWhenCheap(t *testing.T) {
	check.SkipUnderRace(t)
	synctest.Test(t, func(t *testing.T) {
		r := ahead(t, 8_000)
		var down atomic.Bool
		r.worker.Func = func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			time.Sleep(20 * time.Second)
			if down.Load() {
				return brokenSummaries(ctx, n, req)
			}
			return summary(fmt.Sprintf("Summary %d of %s. %s", n, spanOf(req), filler(150))), nil
		}
		random := rand.New(rand.NewPCG(1, 1))
		ttl, full := r.policy.CacheTTL.Or(nil), int(r.policy.BackgroundThreshold*float64(r.window))
		var last string
		var askedAt time.Time
		shown := 0 // events before the last request
		cold, level, applied := 0, 0, map[compactor.Trigger]int{}
		look := func() {
			head := r.inheritFromChannel()
			if !strings.Contains(head, "<kept>") {
				head = ""
			}
			r.mu.Lock()
			since := r.events[shown:]
			shown = len(r.events)
			r.mu.Unlock()
			reached := false
			for _, e := range since {
				if e.State == compactor.EventApplied {
					applied[e.Trigger]++
					reached = reached || e.BeforeTokens >= full
				}
			}
			switch silence := time.Since(askedAt); {
			case head == last:
			case reached:
				level++
			case silence >= ttl:
				cold++
			default:
				t.Fatalf("the head changed %v after the last request, below every level: %+v", silence, since)
			}
			last = head
		}
		for i := range 260 {
			down.Store(i/65 == 1)
			time.Sleep([]time.Duration{30 * time.Second, 45 * time.Second, 3 * time.Minute, ttl}[min(random.IntN(40), 36)/12])
			synctest.Wait()
			asked := r.deliver(fmt.Sprintf("question %d %s", i, filler(20+random.IntN(120))), true)
			r.request()
			look()
			askedAt = time.Now()
			r.answerAlone(asked)
		}
		if cold < 3 || level < 3 || applied[compactor.OnRepair] == 0 || applied[compactor.OnRollup] == 0 || applied[compactor.OnPrepare] == 0 {
			t.Errorf("got %d head changes with a cold cache and %d at a level; applied: %v", cold, level, applied)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		r.verify()
	})
}
