package compactor_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

func ahead(t *testing.T, window int, tune ...func(*compactor.Options)) *rig {
	r := newRig(t, window, &llmtest.Model{Func: goodSummary}, tune...)
	r.policy.PrepareThreshold = -1
	return r
}

func (r *rig) share() float64 {
	g := r.c.Status()
	return float64(g.Used) / float64(g.Window)
}

// The prepared summaries free less than the level demands: the worker summarizes the rest.
func TestLevelSummarizesBeyondPrepared(t *testing.T) {
	slow(t)
	r := ahead(t, 10_000)
	r.policy.BackgroundFraction = 0.9
	r.policy.KeepLastN = 0
	r.talkUntil(func() bool { return len(r.c.Status().Prepared) > 0 })
	r.set(func(p *compactor.Policy) { p.PrepareThreshold = 0.799 }) // no more of it
	verbatim := 0
	for len(r.c.Status().Stack) == 0 {
		verbatim = r.c.Status().Verbatim
		r.talk(fmt.Sprintf("question %d %s", len(r.messages), filler(60)))
		r.waitIdle()
	}
	g := r.c.Status()
	left := g.Verbatim - r.tokensOf(g.Prepared)
	check.That(t, left <= verbatim*2/10, "of %d tokens %d are left", verbatim, left)
}

func TestUnaddressedTalkCallsNoModel(t *testing.T) {
	slow(t)
	r := ahead(t, 8000)
	r.quiet = true
	r.deliverMany(200, 40, r.waitIdle)
	r.restart() // which must not count as a message to the bot
	r.waitIdle()
	check.Equal(t, "model calls", len(r.worker.Requests()), 0)
	check.That(t, len(r.c.Status().Stack) > 2, "got too few summaries")
	check.Len(t, "summaries by others", r.rows(func(row compactor.Summary) bool { return row.By != compactor.ByExtractive }), 0)
	r.talk("and what do you think?")
	for range 20 {
		r.waitIdle()
	}
	g := r.c.Status()
	for _, row := range g.Stack[max(len(g.Stack)-2, 0):] { // the text next to the question
		prepared := slices.ContainsFunc(g.Prepared, func(s compactor.Summary) bool {
			return s.By == compactor.ByWorker && s.From <= row.From && row.To <= s.To
		})
		check.That(t, prepared || row.By == compactor.ByWorker || row.Kind != compactor.Leaf, "row %d: got summarizer %s although the bot was addressed", row.ID, row.By)
	}
	n := len(r.worker.Requests()) // not of the whole history
	check.That(t, n <= 6, "got %d model calls for one question", n)
}

// Without a model no level is awaited: messages become memories soon, and once.
func TestExtractiveMemoriesAreSavedEarly(t *testing.T) {
	r := newRig(t, 128_000, nil)
	r.policy.PrepareThreshold = -1
	saved := func() int { return strings.Count(fmt.Sprint(r.memories("")), "cargo bike") }
	r.talk("My name is Ines and I live in Faro.")
	r.talk("I sold my motorcycle and bought a cargo bike.")
	for saved() == 0 {
		check.Require(t, r.share() <= 0.05, "got no memory at %.3f of the window", r.share())
		r.talk(fmt.Sprintf("question %d %s", len(r.messages), filler(60)))
		r.waitIdle()
	}
	g := r.c.Status()
	check.Require(t, len(g.Stack) == 0 && len(g.Prepared) > 0, "got %d applied and %d prepared summaries, want 0 and 1", len(g.Stack), len(g.Prepared))
	r.resize(8_000) // now a level is reached
	r.talkUntil(func() bool { return len(r.c.Status().Stack) > 0 })
	check.Equal(t, "start of the applied summary", r.c.Status().Stack[0].From, g.Prepared[0].From)
	check.Equal(t, "copies of the memory", saved(), 1)
}

// The extractive summarizer does not wait for the models of other conversations.
func TestExtractiveSummarizerNeedsNoSlot(t *testing.T) {
	slots := make(chan struct{}, 1)
	slots <- struct{}{}
	r := newRig(t, 100_000, nil, func(o *compactor.Options) { o.Slots = slots })
	r.chat(40)
	check.Equal(t, "outcome", r.compact("").State, compactor.EventApplied)
}

// prepared talks until the window is this full, with prepared summaries of short spans, and fails if one is applied.
func prepared(t *testing.T, share float64) *rig {
	t.Helper()
	r := ahead(t, 12_000)
	r.policy.SpanTokens = 500
	r.policy.TailTokens = 1000
	r.policy.MaxSummary = 200
	r.talkUntil(func() bool { return r.share() >= 0.58 })
	check.Len(t, "summaries below prepare_threshold", r.c.Status().Prepared, 0)
	r.talkUntil(func() bool { return r.share() >= share })
	g := r.c.Status()
	check.Require(t, len(g.Stack) == 0 && len(g.Prepared) >= 6, "got %d applied and %d prepared summaries", len(g.Stack), len(g.Prepared))
	for i, row := range g.Prepared[1:] {
		check.Equal(t, "start of a prepared summary", row.From, g.Prepared[i].To+1)
	}
	return r
}

// tokensOf returns the cost of the messages that summaries cover.
func (r *rig) tokensOf(rows []compactor.Summary) (tokens int) {
	for _, row := range rows {
		tokens += tokensIn(r.messages[row.From-1 : row.To])
	}
	return tokens
}

// shareLeft returns the share of the messages that has left the window, and of it that of the
// newest summary.
func (r *rig) shareLeft() (share, span float64) {
	all := float64(tokensIn(r.messages))
	stack := r.c.Status().Stack
	if len(stack) == 0 {
		return 0, 0
	}
	return float64(r.tokensOf(stack)) / all, float64(r.tokensOf(stack[len(stack)-1:])) / all
}

// A cold cache counts as the background level if room is needed.
func TestLevelAppliesItsShare(t *testing.T) {
	check.SkipUnderRace(t)
	for name, c := range map[string]struct {
		paste    int // words in the message that reaches the level; 0: the cache becomes cold
		fraction float64
	}{
		"30 % at the background level": {600, 0.30},
		"50 % at the aggressive level": {1500, 0.50},
		"50 % in an emergency":         {2500, 0.50},
		"30 % with a cold cache":       {0, 0.30},
	} {
		onClock(t, name, func(t *testing.T) {
			cold := c.paste == 0
			r := prepared(t, map[bool]float64{true: 0.72, false: 0.77}[cold])
			before := r.c.Status().Prepared
			if cold {
				time.Sleep(time.Hour)
				r.render()
			} else {
				r.deliverNotes(filler(c.paste))
			}
			share, span := r.shareLeft()
			g := r.c.Status()
			r.noPlaceholder()
			check.That(t, math.Abs(share-c.fraction) <= span/2, "got %.1f%% removed at once, the last span %.1f%%", 100*share, 100*span)
			check.That(t, len(g.Prepared) > 0 && g.Prepared[0].From == g.Stack[len(g.Stack)-1].To+1, "the rest is no longer prepared: %d of %d are", len(g.Prepared), len(before))
			for range 3 {
				r.waitIdle()
				if cold {
					time.Sleep(time.Hour)
					r.render()
				}
			}
			again, _ := r.shareLeft()
			check.That(t, again == share || !cold, "below prepare_threshold: got %.0f%% removed, %.0f%% before", 100*again, 100*share)
		})
	}
}

func TestPreparedSummariesWaitWhileDisabled(t *testing.T) {
	check.SkipUnderRace(t)
	for name, off := range map[string]func(p *compactor.Policy){
		"compaction": func(p *compactor.Policy) { p.Enabled = false },
		"work ahead": func(p *compactor.Policy) { p.PrepareThreshold, p.CacheTTL = 0, compactor.TTL(24*time.Hour) },
	} {
		onClock(t, name, func(t *testing.T) {
			r := prepared(t, 0.7)
			before := len(r.c.Status().Prepared)
			r.set(off)
			check.Equal(t, "shown as switched off", strings.Contains(r.c.Status().Paused, "switched off"), name == "compaction")
			time.Sleep(time.Hour)
			for range 5 {
				r.talk("and now? " + filler(30))
				r.waitIdle()
			}
			g := r.c.Status()
			check.That(t, len(g.Stack) == 0 && len(g.Prepared) == before,
				"got %d applied summaries, %d of %d prepared", len(g.Stack), len(g.Prepared), before)
			r.set(func(p *compactor.Policy) { p.EmergencyThreshold = 0.86 })
			for r.share() < 0.85 && len(r.c.Status().Stack) == 0 {
				r.talk("more " + filler(60))
			}
			r.deliverNotes(filler(700))
			r.noPlaceholder()
			check.That(t, len(r.c.Status().Stack) != 0, "got no applied summary at %.2f", r.share())
			r.waitIdle()
		})
	}
}

// Between two turns nothing but the number of messages has changed: a check must not copy them.
func TestCheckCopiesNoPrompt(t *testing.T) {
	check.SkipUnderRace(t)
	r := prepared(t, 0.66)
	for range 100 { // many short messages: the copy of them would be large
		r.deliver("ok", false)
	}
	r.waitIdle()
	least := uint64(math.MaxUint64) // others may allocate meanwhile, once
	for range 20 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r.c.Check(t.Context())
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	g := r.c.Status()
	check.That(t, len(g.Prepared) > 0 && least <= 256*uint64(g.Lines),
		"%d messages, %d prepared summaries: a check allocates %d bytes", g.Lines, len(g.Prepared), least)
}

// Background work (prepared summaries, folds, repairs of extractive summaries) is applied only when that is cheap: when a
// level is reached, or when no request was made for the lifetime of the model's cache.
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
		ttl := r.policy.CacheTTL.Or(nil)
		full := int(r.policy.BackgroundThreshold * float64(r.window))
		var last string
		var askedAt time.Time
		shown := 0 // applied events before the last request
		cold := 0
		level := 0
		applied := map[compactor.Trigger]int{}
		look := func() {
			head := r.head()
			since := r.in(compactor.EventApplied)[shown:]
			shown += len(since)
			for _, e := range since {
				applied[e.Trigger]++
			}
			reached := slices.ContainsFunc(since, func(e compactor.Event) bool { return e.BeforeTokens >= full })
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
