package compactor_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

func material(req llm.Request) int { return tokens.Estimate(req.Messages[1].Text) }

func TestChunkSizeFollowsModelSpeed(t *testing.T) {
	slow(t)
	const perSecond = 40.0 // tokens, of a machine that reads slowly
	synctest.Test(t, func(t *testing.T) {
		slow := true
		var pieces []int
		worker := llmtest.Prefilling(func(req llm.Request) time.Duration {
			pieces = append(pieces, material(req))
			if !slow {
				return time.Second
			}
			return time.Duration(float64(material(req)) / perSecond * float64(time.Second))
		}, 0, goodSummary)
		r := newRig(t, 100_000, worker)
		compact := func() compactor.Event {
			pieces = nil
			r.chat(210)
			e := r.compact("")
			time.Sleep(time.Hour) // no failure counts
			return e
		}
		first := compact()
		check.Require(t, first.State == compactor.EventFailed && pieces[0] >= 8000,
			"the first piece, of %v tokens, ended as %s: want its usual size", pieces, first.State)
		for e := compact(); e.State != compactor.EventApplied; e = compact() {
			check.Require(t, r.c.Status().Lines <= 3000, "pieces of %v tokens ended as %s: %s", pieces, e.State, e.Error)
		}
		check.That(t, float64(slices.Max(pieces))/perSecond <= 200, "pieces of %v tokens take too long", pieces)
		slow = false
		small := pieces[0]
		for range 3 {
			compact()
		}
		check.That(t, pieces[0] >= 3*small, "with a fast model again: got pieces of %v tokens, %d before", pieces, small)
	})
}

func TestPreparedSpanSizeFollowsModelSpeed(t *testing.T) {
	check.SkipUnderRace(t)
	spans := func(perSecond int) (largest int) {
		synctest.Test(t, func(t *testing.T) {
			worker := llmtest.Prefilling(func(req llm.Request) time.Duration {
				return time.Duration(material(req)) * time.Second / time.Duration(perSecond)
			}, 30*time.Second, goodSummary)
			r := newRig(t, 64_000, worker)
			r.policy.PrepareThreshold = 0.1
			r.policy.SpanTokens = 4000
			r.policy.TailTokens = 4000
			for i := range 120 {
				r.deliverNotes(fmt.Sprintf("note-%d %s", i, filler(150)))
				check.NoError(t, r.c.Wait(t.Context()))
			}
			started := r.which(func(e compactor.Event) bool {
				return e.Trigger == compactor.OnPrepare && e.State == compactor.EventStarted
			})
			for _, e := range started[min(1, len(started)):] { // by the first one the speed is measured
				largest = max(largest, e.Messages)
			}
		})
		return largest
	}
	fast := spans(1000)
	slow := spans(8)
	check.That(t, slow != 0 && 2*fast >= 3*slow, "got spans of %d messages at 1000 tokens a second, of %d at 8", fast, slow)
}

// followsInstructions is a worker that writes as many tokens as requested, in words of its material, and records how many.
func followsInstructions(asked *[]int) func(context.Context, int, llm.Request) (llm.Response, error) {
	return func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		text := req.Messages[1].Text
		ask := text[strings.LastIndex(text, "Summarize messages"):]
		var first, last, about int
		if _, err := fmt.Sscanf(ask, "Summarize messages #%d to #%d in about %d tokens", &first, &last, &about); err != nil {
			return llm.Response{}, err
		}
		*asked = append(*asked, about)
		var b strings.Builder
		for i := first; i <= last && tokens.Estimate(b.String()) < about*9/10; i++ {
			fmt.Fprintf(&b, "Ada noted %d: %s.\n", i, filler((about*9/10-tokens.Estimate(b.String()))/(last-i+1)))
		}
		return summary(b.String()), nil
	}
}

func TestLargeSpanKeepsItsShare(t *testing.T) {
	slow(t)
	for _, c := range []struct {
		window    int
		withModel bool
	}{{16_000, true}, {16_000, false}, {40_000, true}} {
		t.Run(fmt.Sprintf("window %d, a model %v", c.window, c.withModel), func(t *testing.T) {
			var asked []int
			var worker *llmtest.Model
			if c.withModel {
				worker = &llmtest.Model{Tokens: c.window, Func: followsInstructions(&asked)}
			}
			r := newRig(t, c.window, worker)
			r.policy.Enabled = false
			random := rand.New(rand.NewPCG(1, 2))
			for i := 0; r.c.Status().Used < c.window*6/10; i++ {
				text := fmt.Sprintf("note %d:", i)
				for range 60 {
					text += fmt.Sprintf(" w%d", random.IntN(100_000))
				}
				r.arrive(slices.Repeat([]store.Inbound{{Text: text, Addressed: true}}, 20)...)
			}
			r.c.Speak()
			span := tokensIn(r.messages)
			e := r.compact("")
			row := r.c.Status().Stack[0]
			share := float64(row.Tokens) / float64(span)
			budget := int(r.policy.StackBudget * float64(c.window))
			check.That(t, e.State == compactor.EventApplied && share >= 0.15 && row.Tokens <= budget, "of %d tokens: got %d kept, %.1f%%, budget %d: %s", span, row.Tokens, 100*share, budget, e.State)
			for _, n := range asked {
				check.That(t, n <= 3000, "got a request for %d tokens at once", n)
			}
		})
	}
}
