package compactor_test

import (
	"context"
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
)

func TestBackgroundSummarizesOldest(t *testing.T) {
	r := newRig(t, 8000, &llmtest.Model{Func: goodSummary})
	for i := range 200 {
		r.deliverNotes(fmt.Sprintf("note %d %s", i, filler(80)))
		r.waitIdle()
		g := r.c.Status()
		check.Require(t, g.Used <= g.Window*80/100+100, "after message %d: %d of %d tokens used", i+1, g.Used, g.Window)
	}
	r.verify()
	if applied := r.seen(compactor.EventApplied); applied < 3 {
		t.Errorf("%d applied compactions, want several", applied)
	}
	for _, e := range r.events {
		check.That(t, e.State != compactor.EventApplied || e.Trigger != compactor.OnBackground || e.AfterTokens < e.BeforeTokens,
			"got an applied compaction from %d to %d tokens", e.BeforeTokens, e.AfterTokens)
	}
	view := r.render()
	check.Contains(t, "view", view, "[Compaction Summary] messages #1 to #")
}

// In a conversation of any length a message is summarized again only as often as the stack is deep,
// which grows with the logarithm of the summarized messages.
func TestStackBudget(t *testing.T) {
	r := newRig(t, 4000, wordyWorker(filler(90)))
	leaves := 0
	for i := range 300 {
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
	check.That(t, leaves >= 12, "got only %d summaries", leaves)
	r.verify()
}

func TestWorkerSavesMemories(t *testing.T) {
	worker := &llmtest.Model{Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		if len(req.Messages) == 2 {
			return llmtest.Use(
				llmtest.Call("1", "memory_save", map[string]any{"content": "Ada lives in Turin.", "kind": "fact", "messages": []int{1}}),
				llmtest.Call("2", "memory_save", map[string]any{"content": "x", "kind": "gossip", "messages": []int{1}}),
				llmtest.Call("3", "memory_save", map[string]any{"content": "Ada is elsewhere.", "kind": "fact", "messages": []int{100000}}),
			), nil
		}
		for i, m := range req.Messages[3:] {
			if failed := strings.HasPrefix(m.Text, "Error: "); failed != (i > 0) {
				t.Errorf("got result %[2]q of call %[1]d", i+1, m.Text)
			}
		}
		return llmtest.Use(llmtest.Call("4", "summarize", map[string]string{"summary": "Ada told where she lives."})), nil
	}}
	r := newRig(t, 100_000, worker)
	r.deliverNotes("I live in Turin. " + filler(100))
	r.deliverMany(20, 30)
	r.compactAndWait()
	found, _, err := memory.Of(r.conv).List(t.Context(), memory.Filter{Query: "Turin"})
	if err != nil || len(found) != 1 || found[0].Speaker != "Ada" || len(found[0].Sources) != 1 || found[0].Sources[0] != 1 {
		t.Fatalf("found %+v, %v", found, err)
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
	if found, _, err := memory.Of(r.conv).List(t.Context(), memory.Filter{Query: "Turin"}); err != nil || len(found) == 0 {
		t.Errorf("the extractive summarizer saved no memories: %v", err)
	}
	r.verify()
}
