package compactor_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/llm/llmtest"
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
	for _, window := range []int{16_000, 64_000} {
		for _, withModel := range []bool{true, false} {
			t.Run(fmt.Sprintf("window %d, a model %v", window, withModel), func(t *testing.T) {
				var asked []int
				var worker *llmtest.Model
				if withModel {
					worker = &llmtest.Model{Tokens: window, Func: followsInstructions(&asked)}
				}
				r := newRig(t, window, worker)
				r.policy.Enabled = false
				random := rand.New(rand.NewPCG(1, 2))
				for i := 0; r.c.Status().Used < window*6/10; i++ {
					text := fmt.Sprintf("note %d:", i)
					for range 60 {
						text += fmt.Sprintf(" w%d", random.IntN(100_000))
					}
					for range 20 {
						r.deliver(text, true)
					}
				}
				r.c.Speak()
				span := 0
				for _, m := range r.said {
					span += chat.TokensOf(m)
				}
				e := r.compact("")
				row := r.c.Status().Stack[0]
				share := float64(row.Tokens) / float64(span)
				t.Logf("of %d tokens %d are kept: %.1f %%; asked for %d", span, row.Tokens, 100*share, asked)
				if budget := int(r.policy.StackBudget * float64(window)); row.Tokens > budget {
					t.Errorf("larger than the stack's budget of %d", budget)
				}
				if e.State != compactor.EventApplied || share < 0.15 {
					t.Errorf("of %d tokens: got %d kept, %.1f%%: %+v", span, row.Tokens, 100*share, e.State)
				}
				for _, n := range asked {
					check.That(t, n <= 3000, "got a request for %d tokens at once", n)
				}
			})
		}
	}
}
