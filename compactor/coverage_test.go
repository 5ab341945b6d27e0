package compactor_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"

	"pgregory.net/rapid"
)

// findRepeatedSpans reports whether two prepared summaries cover the same messages. A fold and its
// children may both wait, and so may the text for a placeholder, which costs nothing.
func findRepeatedSpans(prepared []compactor.Compaction) error {
	prepared = slices.DeleteFunc(slices.Clone(prepared), func(row compactor.Compaction) bool {
		return row.By == compactor.ByExtractive && row.Trigger == compactor.OnRepair
	})
	for i, a := range prepared {
		for _, b := range prepared[i+1:] {
			if a.Kind == compactor.Leaf && b.Kind == compactor.Leaf && a.From <= b.To && b.From <= a.To {
				return fmt.Errorf("rows %d, %d to %d, and %d, %d to %d, are both prepared", a.ID, a.From, a.To, b.ID, b.From, b.To)
			}
		}
	}
	return nil
}

var about = regexp.MustCompile(`about (\d+) tokens`)

func random(t *testing.T, rt *rapid.T, f *file, work func(context.Context, int, llm.Request) (llm.Response, error)) *rig {
	f.histories++
	p := plainPolicy()
	p.KeepLastN = rapid.IntRange(0, 12).Draw(rt, "keep_last_n")
	p.EmergencyFraction = rapid.Float64Range(0.05, 0.9).Draw(rt, "emergency_fraction")
	p.StackBudget = rapid.Float64Range(0.1, 0.4).Draw(rt, "stack_budget")
	r := &rig{
		t: rapidAdapter{t, rt}, dir: f.dir, store: f.store, look: f.look, borrowed: true, name: fmt.Sprintf("terminal:test%d", f.histories),
		window: rapid.SampledFrom([]int{3000, 6000}).Draw(rt, "window"), policy: p,
	}
	r.worker = &llmtest.Model{Tokens: 4000, Func: work}
	return r
}

func (r *rig) noteOf(rt *rapid.T) {
	r.deliverNotes(fmt.Sprintf("note %d %s", len(r.said), filler(rapid.SampledFrom([]int{40, 150, 400, 3000}).Draw(rt, "size"))))
}

// TestRepairsStayBelowEmergency fills windows, hides what does not fit, and repairs it at length
// while messages arrive: a repair never causes the next emergency.
func TestRepairsStayBelowEmergency(t *testing.T) {
	slow(t)
	f := newFile(t)
	rapid.Check(t, func(rt *rapid.T) {
		var reads sync.RWMutex // held by the test: no worker submits its summary
		r := random(t, rt, f, func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			reads.RLock()
			defer reads.RUnlock()
			return fullSummary(ctx, n, req)
		})
		r.policy.Enabled = false // so that the window stays full
		r.open()
		defer r.close()
		for range rapid.IntRange(2, 4).Draw(rt, "rounds") {
			reads.Lock()
			for range rapid.IntRange(1, 5).Draw(rt, "messages") {
				r.noteOf(rt)
			}
			reads.Unlock()
			r.waitIdle()
		}
		line := int(r.policy.EmergencyThreshold * float64(r.window))
		i := slices.IndexFunc(r.events, func(e compactor.Event) bool {
			return e.State == compactor.EventApplied && e.Trigger == compactor.OnRepair && e.AfterTokens > e.BeforeTokens && e.AfterTokens >= line
		})
		if i >= 0 {
			rt.Fatalf("a repair caused an emergency, at %d of %d: %+v", line, r.window, r.events[i])
		}
		check.NoError(rt, r.check())
	})
}

// TestNoSpanIsSummarizedTwice prepares summaries that wait: no message is summarized again
// meanwhile.
func TestNoSpanIsSummarizedTwice(t *testing.T) {
	slow(t)
	f := newFile(t)
	rapid.Check(t, func(rt *rapid.T) {
		r := random(t, rt, f, failing(func(n int) bool { return n > 100 })) // or it would never end
		r.policy.PrepareThreshold = rapid.Float64Range(0.1, 0.7).Draw(rt, "prepare_threshold")
		r.policy.SpanTokens = rapid.IntRange(500, 2000).Draw(rt, "span_tokens")
		r.policy.TailTokens = rapid.IntRange(500, 2000).Draw(rt, "tail_tokens")
		r.open()
		defer r.close()
		for range rapid.IntRange(6, 12).Draw(rt, "messages") {
			r.noteOf(rt)
			r.waitIdle()
			check.NoError(rt, r.check())
		}
	})
}

// Background work (prepared summaries, folds, repairs of extractive summaries) is applied only when
// that is cheap: when a level is reached, or when no request was made for the lifetime of the
// model's cache.
func TestHeadChangesOnlyWhenCheap(t *testing.T) {
	slow(t)
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
			head := r.head()
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
		for i := range 200 {
			down.Store(i/65 == 1)
			time.Sleep([]time.Duration{30 * time.Second, 45 * time.Second, 3 * time.Minute, ttl}[min(random.IntN(40), 36)/12])
			synctest.Wait()
			asked := r.deliver(fmt.Sprintf("question %d %s", i, filler(20+random.IntN(120))), true)
			r.request()
			synctest.Wait() // what the request has started belongs to this look, not to the next
			look()
			askedAt = time.Now()
			r.answerAlone(asked)
		}
		check.That(t, cold >= 3 && level >= 3 && applied[compactor.OnRepair]*applied[compactor.OnRollup]*applied[compactor.OnPrepare] > 0,
			"got %d head changes with a cold cache and %d at a level; applied: %v", cold, level, applied)
		time.Sleep(time.Hour)
		synctest.Wait()
	})
}
