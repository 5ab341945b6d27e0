package compactor_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/memory"
)

// In a conversation of any length a message is summarized again only as often as the stack is deep,
// which grows with the logarithm of the summarized messages. Healthy work logs one line per applied
// compaction, and no more.
func TestBackgroundSummarizesOldest(t *testing.T) {
	var log journal
	r := tuned(t, 4000, wordyWorker(filler(90)), func(o *compactor.Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	})
	leaves := 0
	for i := range 300 {
		r.deliverNotes(fmt.Sprintf("On day %d Ada saw %d birds near River%d. %s", i, i*7, i, filler(40)))
		r.waitIdle()
		g := r.c.Status()
		check.Require(t, g.Used <= g.Window*80/100+100, "after message %d: %d of %d tokens used", i+1, g.Used, g.Window)
		leaves = len(slices.DeleteFunc(slices.Clone(r.events), func(e compactor.Event) bool {
			return e.State != compactor.EventApplied || e.Kind != compactor.Leaf
		}))
		cost := 0
		for _, row := range g.Stack {
			cost += row.Cost()
			check.Require(t, row.Level <= 3+bits.Len(uint(leaves)), "after %d summaries: row %d has level %d", leaves, row.ID, row.Level)
		}
		check.Require(t, cost <= 4000*15/100, "after %d messages: got a stack of %d tokens", i+1, cost)
	}
	check.That(t, leaves >= 12, "got only %d summaries", leaves)
	r.verify()
	applied := 0
	for _, e := range r.events {
		if e.State == compactor.EventApplied {
			applied++
			check.That(t, e.Trigger != compactor.OnBackground || e.AfterTokens < e.BeforeTokens, "got %+v", e)
		}
	}
	check.Contains(t, "view", r.render(), "[Compaction Summary] messages #1 to #")
	check.Equal(t, "lines in the log", strings.Count(log.String(), "\n"), applied)
	check.Equal(t, "lines about what was applied", strings.Count(log.String(), "level=INFO msg=compaction_applied "), applied)
}

func TestWorkerSavesMemories(t *testing.T) {
	save := func(id, text, kind string, message int) llm.Call {
		return llmtest.Call(id, "memory_save", map[string]any{"content": text, "kind": kind, "messages": []int{message}})
	}
	r := newRig(t, 100_000, &llmtest.Model{Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
		if len(req.Messages) == 2 {
			return llmtest.Use(save("1", "Ada lives in Turin.", "fact", 1), save("2", "x", "gossip", 1), save("3", "Ada is elsewhere.", "fact", 100000)), nil
		}
		for i, m := range req.Messages[3:] {
			check.Equal(t, fmt.Sprintf("call %d failed", i+1), strings.HasPrefix(m.Text, "Error: "), i > 0)
		}
		return summary("Ada told where she lives."), nil
	}})
	r.deliverNotes("I live in Turin. " + filler(100))
	r.deliverMany(20, 30)
	r.compactAndWait()
	found, _, err := memory.Of(r.conv).List(t.Context(), memory.Filter{Query: "Turin"})
	check.Require(t, err == nil && len(found) == 1 && found[0].Speaker == "Ada" && slices.Equal(found[0].Sources, []int64{1}),
		"found %+v, %v", found, err)
	r.verify()
}

func TestServerWithoutToolsGetsPlainTextRequest(t *testing.T) {
	r := newRig(t, 100_000, &llmtest.Model{Func: withoutTools(func(int) string { return "Ada talked about Turin." })})
	for range 2 {
		for range 20 {
			r.deliverNotes("I live in Turin and I love it. " + filler(30))
		}
		r.compactAndWait()
	}
	check.Len(t, "requests", r.worker.Requests(), 3)
	found, _, err := memory.Of(r.conv).List(t.Context(), memory.Filter{Query: "Turin"})
	check.That(t, err == nil && len(found) > 0, "the extractive summarizer saved no memories: %v", err)
	r.verify()
}
