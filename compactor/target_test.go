package compactor_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/store"
)

// followsInstructions is a worker that writes as many tokens as requested, in words of its
// material, and records how many.
func followsInstructions(asked *[]int) func(context.Context, int, llm.Request) (llm.Response, error) {
	return func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
		text := req.Messages[1].Text
		ask := text[strings.LastIndex(text, "Sum up messages"):]
		var first, last, about int
		if _, err := fmt.Sscanf(ask, "Sum up messages #%d to #%d in about %d tokens", &first, &last, &about); err != nil {
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
	check.SkipUnderRace(t)
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
			span := 0
			for _, m := range r.said {
				span += chat.TokensOf(m)
			}
			e := r.compact("")
			row := r.c.Status().Stack[0]
			share, budget := float64(row.Tokens)/float64(span), int(r.policy.StackBudget*float64(c.window))
			check.That(t, e.State == compactor.EventApplied && share >= 0.15 && row.Tokens <= budget, "of %d tokens: got %d kept, %.1f%%, budget %d: %s", span, row.Tokens, 100*share, budget, e.State)
			for _, n := range asked {
				check.That(t, n <= 3000, "got a request for %d tokens at once", n)
			}
		})
	}
}
