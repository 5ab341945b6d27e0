package compactor_test

import (
	"fmt"
	"math/bits"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm/llmtest"
	"cairn/memory"
)

// In a conversation of any length a message is summarized again only as often as the stack is deep,
// which grows with the logarithm of the summarized messages.
func TestStackBudget(t *testing.T) {
	r := newRig(t, 4000, wordyWorker(filler(90)))
	leaves := 0
	for i := range 600 {
		r.deliverNotes(fmt.Sprintf("On day %d Ada saw %d birds near River%d. %s", i, i*7, i, filler(40)))
		r.waitIdle()
		leaves = 0
		for _, e := range r.events {
			if e.State == compactor.EventApplied && e.Kind == compactor.Leaf {
				leaves++
			}
		}
		cost := 0
		for _, row := range r.c.Status().Stack {
			if cost += row.Cost(); row.Level > 3+bits.Len(uint(leaves)) {
				t.Fatalf("after %d summaries: row %d has level %d", leaves, row.ID, row.Level)
			}
		}
		if budget := 4000 * 15 / 100; cost > budget {
			t.Fatalf("after %d messages: got a stack of %d tokens, budget %d", i+1, cost, budget)
		}
	}
	if leaves < 25 {
		t.Errorf("got only %d summaries", leaves)
	}
	r.verify()
}

func TestServerWithoutToolsGetsPlainTextRequest(t *testing.T) {
	worker := &llmtest.Model{Func: withoutTools(func(int) string { return "Ada talked about Turin." })}
	r := newRig(t, 100_000, worker)
	for range 2 {
		for range 20 {
			r.deliverNotes("I live in Turin and I love it. " + filler(30))
		}
		r.compactAndWait()
	}
	check.Equal(t, "requests", len(worker.Requests()), 3)
	if found, err := memory.Of(r.conv).Search(t.Context(), "Turin", 10); err != nil || len(found) == 0 {
		t.Errorf("the extractive summarizer saved no memories: %v", err)
	}
	r.verify()
}
