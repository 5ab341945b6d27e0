package compactor_test

import (
	"context"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
)

func TestRunningJobKeepsItsPolicy(t *testing.T) {
	started, goOn := make(chan struct{}, 9), make(chan struct{})
	r := newRig(t, 100_000, &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		started <- struct{}{}
		<-goOn
		return goodSummary(ctx, n, req)
	}})
	r.policy.Focus = "names"
	hashes := []string{r.policy.Hash()}
	r.chat(20)
	r.c.Compact(compactor.OnManual, "")
	<-started
	r.set(func(p *compactor.Policy) { p.Focus, p.KeepLastN = "numbers", 7 })
	r.c.Check(t.Context())
	close(goOn)
	r.waitIdle()
	hashes = append(hashes, r.policy.Hash())
	r.chat(20)
	r.compactAndWait()
	r.policy.Focus = "places" // the policy stored in a row is never used as the policy
	hashes = append(hashes, r.policy.Hash())
	r.restart()
	r.chat(20)
	r.compactAndWait()
	stack := r.c.Status().Stack
	check.Len(t, "rows", stack, 3)
	for i, focus := range []string{"names", "numbers", "places"} {
		check.Equal(t, "policy of a row", stack[i].PolicyHash+" "+stack[i].Focus, hashes[i]+" "+focus)
	}
	r.verify()
}
