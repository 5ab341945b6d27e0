package compactor_test

import (
	"fmt"
	"testing"

	"cairn/compactor"
	"cairn/llm"
	"cairn/testkit/check"
)

// refusals makes the next request of a turn, of a provider that says how many tokens a refused prompt has, and returns how often it
// refuses one.
func (r *rig) refusals(size float64) (n int) {
	r.t.Helper()
	for {
		p := check.Must(r.c.Request(r.t.Context()))(r.t)
		used := int(size * float64(r.estimate(p.Messages)))
		if used+p.MaxTokens <= r.window {
			return n
		}
		n++
		r.c.Reported(llm.Usage{Prompt: used})
		check.Require(r.t, r.c.Overflow(r.t.Context(), n), "after %d refusals nothing can be hidden", n)
	}
}

// What a provider counts in a prompt that it refuses shows how much of it has to leave, of summaries, too.
func TestOneRetryAfterAnOverflow(t *testing.T) {
	slow(t)
	for name, stack := range map[string]float64{"a prompt with few summaries": 0.05, "a prompt that is mostly summaries": 0.45} {
		for _, size := range []float64{1.5, 2, 2.5, 4} {
			r := newRig(t, 16_000, wordyWorker(filler(900)))
			r.policy.StackBudget = stack
			r.policy.KeepLastN = 2
			r.policy.TargetPct = 60
			for i := 0; compactor.StackCost(r.c.Status().Stack) < int(0.85*stack*16_000) && i < 12; i++ {
				r.deliverMany(10, 200)
				r.compactAndWait()
			}
			r.notesUntil(200, func() bool { return r.share() > 0.7 })
			r.deliver("and now?", true)
			check.Equal(t, fmt.Sprintf("refusals of %s, with %v tokens for one estimated", name, size), r.refusals(size), 1)
		}
	}
}
