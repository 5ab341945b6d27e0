package compactor_test

import (
	"context"
	"sync"
	"testing"

	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/llmtest"
)

func TestRunningJobKeepsItsPolicy(t *testing.T) {
	started, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	worker := &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
		once.Do(func() { close(started) })
		<-goOn
		return goodSummary(ctx, n, req)
	}}
	r := newRig(t, 100_000, worker)
	r.policy.Focus = "names"
	old := r.policy
	hear := func() {
		for range 20 {
			r.deliverNotes("a word " + filler(30))
		}
	}
	hear()
	r.c.Compact(compactor.OnManual, "")
	<-started
	r.set(func(p *compactor.Policy) { p.Focus, p.KeepLastN = "numbers", 7 })
	now := r.policy
	r.c.Check(t.Context())
	close(goOn)
	r.waitIdle()
	hear()
	r.compactAndWait()
	stack := r.c.Status().Stack
	if len(stack) != 2 || stack[0].PolicyHash != old.Hash() || stack[1].PolicyHash != now.Hash() || stack[0].Focus != "names" || stack[1].Focus != "numbers" {
		t.Errorf("got rows %+v", stack)
	}
	// The policy stored in a row is never used as the policy.
	r.policy.Focus = "places"
	r.restart()
	hear()
	r.compactAndWait()
	if stack := r.c.Status().Stack; len(stack) != 3 || stack[2].Focus != "places" {
		t.Errorf("after a restart: got rows %+v", stack)
	}
	r.verify()
}
