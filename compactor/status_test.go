package compactor_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// asks adds a question and returns the request for its answer; the turn stays open.
func asks(r *rig, text string) {
	r.t.Helper()
	r.deliver(text, true)
	r.c.History().Begin(compactor.Context{Text: "time: now"})
	r.request()
}

// report reports the provider's count of the last request.
func report(r *rig, prompt int) { r.c.Reported(llm.Usage{Prompt: prompt, Completion: 7}) }

// prompt returns the status without the reply's reserve.
func prompt(r *rig) int {
	g := r.c.Status()
	return g.Used - g.Reserve
}

// openTurn returns a rig with some messages and an open turn.
func openTurn(t *testing.T, worker *llmtest.Model) *rig {
	r := newRig(t, 20_000, worker)
	r.deliverMany(10, 50)
	asks(r, "and now?")
	return r
}

func TestUsageIsLastCountPlusAdditions(t *testing.T) {
	t.Run("a count replaces the estimate", func(t *testing.T) {
		r := openTurn(t, nil)
		estimate := prompt(r)
		report(r, estimate+111)
		check.Equal(t, "tokens, counted", prompt(r), estimate+111)
	})
	t.Run("a count of 0 changes nothing", func(t *testing.T) {
		r := openTurn(t, nil)
		estimate := prompt(r)
		report(r, 0)
		check.Equal(t, "tokens, estimated", prompt(r), estimate)
		report(r, estimate+50)
		report(r, 0)
		check.Equal(t, "tokens, last counted", prompt(r), estimate+50)
	})
	t.Run("an added message costs its estimate times the factor", func(t *testing.T) {
		r := openTurn(t, nil)
		report(r, prompt(r)*2)
		was := prompt(r)
		m := r.deliver("one more "+filler(500), false)
		factor := 1.3 // 0.3 of the way from 1 to 2
		if got, want := prompt(r)-was, int(factor*float64(m.Tokens)+0.5); got < want-1 || got > want+1 {
			t.Errorf("%d tokens more for a message of %d, want %d", got, m.Tokens, want)
		}
	})
	t.Run("an unstored turn context leaves the next request", func(t *testing.T) {
		r := openTurn(t, nil)
		before := prompt(r)
		r.c.History().Begin(compactor.Context{Text: "memories: " + filler(300)})
		with := prompt(r)
		r.request()
		report(r, with+40)
		r.c.Answered()
		without := prompt(r)
		if gone := with + 40 - without; gone < 240 || without > before+60 {
			t.Errorf("%d tokens are left of %d; %d before the context", without, with+40, before)
		}
	})
	t.Run("a stored turn context stays counted", func(t *testing.T) {
		r := openTurn(t, nil)
		r.c.History().Begin(compactor.Context{Text: "memories: " + filler(300)})
		r.request()
		report(r, prompt(r)+40)
		with := prompt(r)
		r.c.History().Context()
		r.c.Answered()
		check.Equal(t, "tokens after the turn", prompt(r), with)
	})
}

func TestImplausibleCountsAreIgnored(t *testing.T) {
	for _, tt := range []struct {
		claim   string
		counted func(estimate int) llm.Usage // of a prompt of so many estimated tokens
		want    func(estimate int) int
	}{
		{"what was read from the cache is not added to a count that holds it", func(n int) llm.Usage { return llm.Usage{Prompt: n, Cached: n - 10} }, func(n int) int { return n }},
		{"what was read from the cache is added to a count that leaves it out", func(n int) llm.Usage { return llm.Usage{Prompt: 12, Cached: n} }, func(n int) int { return n + 12 }},
		{"a count that cannot be of the whole prompt is not believed", func(n int) llm.Usage { return llm.Usage{Prompt: n / 3} }, func(n int) int { return n }},
		{"a count that no window could hold is not believed", func(n int) llm.Usage { return llm.Usage{Prompt: 400 * n} }, func(n int) int { return n }},
		{"what several calls of a turn were counted at is not summed", func(n int) llm.Usage { return llm.Usage{Prompt: n + 20} }, func(n int) int { return n + 20 }},
	} {
		t.Run(tt.claim, func(t *testing.T) {
			r := openTurn(t, nil)
			n := prompt(r)
			for range 3 {
				r.request()
				r.c.Reported(tt.counted(n))
			}
			if got := prompt(r); got != tt.want(n) {
				t.Errorf("%d tokens, want %d of an estimated %d", got, tt.want(n), n)
			}
			if g := r.c.Status(); g.Frame+g.Head+g.Verbatim+g.Reserve != g.Used || g.Frame <= 0 || g.Verbatim <= 0 {
				t.Errorf("parts do not add up: %+v", g)
			}
		})
	}
}

// TestWindowHoldsForAnyTokenSize: the budgets of all parts shrink with a model that makes more
// tokens of a text, and the factor is learned once.
func TestWindowHoldsForAnyTokenSize(t *testing.T) {
	check.SkipUnderRace(t)
	for _, size := range []float64{0.6, 1, 1.6, 2.3} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
			r.size = size
			for i := range 60 {
				if r.talk(fmt.Sprintf("question %d %s", i, filler(160))); i < 10 {
					continue // the factor must be learned first
				}
				r.deliver("an aside "+filler(30), false)
				r.waitIdle()
				g := prompt(r)
				real := int(size * float64(r.estimate(r.request())))
				if g < real*95/100-150 || g > real*105/100+150 {
					t.Fatalf("question %d: got %d tokens in the status, want %d", i, g, real)
				}
			}
			r.verify()
			check.That(t, r.seen(compactor.EventApplied) != 0, "nothing was summarized")
		})
	}
	t.Run("a huge message fits", func(t *testing.T) {
		r := newRig(t, 8000, nil)
		r.size = 2.3
		for i := range 12 {
			r.talk(fmt.Sprintf("question %d", i))
		}
		r.talk("look at this: " + strings.Repeat("huge ", 30_000))
	})
}

// TestReserveForUncertainty: a provider rejects an answer limit that is one token too large, so the
// estimate needs a margin.
func TestReserveForUncertainty(t *testing.T) {
	r := openTurn(t, nil)
	free := func() int { return 20_000 - r.c.Status().Used }
	if got, most := r.c.Spare(), free()-prompt(r)/8; got > most || got < most-100 {
		t.Errorf("without a count: got a reserve of %d tokens, want at most %d of %d", got, most, free())
	}
	report(r, prompt(r))
	r.request()
	if got, most := r.c.Spare(), free(); got >= most || got < most-100 {
		t.Errorf("with a full count: got a reserve of %d tokens, want a little less than %d", got, most)
	}
}
