package compactor_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"cairn/compactor"
	"cairn/internal/tokens"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// wantNotes compares the sources of the memories, which have one each, oldest first.
func wantNotes(t *testing.T, r *rig, want ...int64) {
	t.Helper()
	var got []int64
	for _, m := range r.memories("") {
		got = append(got, m.Sources...)
	}
	slices.Sort(got)
	check.EqualAll(t, "messages of the memories", got, want)
}

// saving returns a call of memory_save with memories of these messages.
func saving(id string, seqs ...int) llm.Call {
	memories := []map[string]any{}
	for _, seq := range seqs {
		memories = append(memories, map[string]any{"content": fmt.Sprintf("Ada wrote note-%d.", seq-1), "kind": "fact", "messages": []int{seq}})
	}
	return llmtest.Call(id, "memory_save", map[string]any{"memories": memories})
}

const whatAdaWrote = "Ada wrote notes, from note-0 on."

// TestMemoriesOutliveTheirSummary: they passed their own checks, and nobody saves from their messages again.
func TestMemoriesOutliveTheirSummary(t *testing.T) {
	t.Run("the exchange overflows: halves of its messages are summarized, without memories", func(t *testing.T) {
		t.Parallel()
		saved := false
		r := newRig(t, 100_000, &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			switch {
			case savesMemories(req) && !saved:
				saved = true
				return llmtest.Use(saving("a", 1, 2)), nil
			case tokens.Estimate(req.Messages[1].Text) > 1500:
				return llm.Response{}, &llm.Error{Kind: llm.KindOverflow, Status: 400, Message: "too long"}
			}
			check.That(t, !savesMemories(req), "a half of the messages may save memories")
			return goodSummary(ctx, n, req)
		}})
		r.chat(40)
		check.Equal(t, "outcome", r.compact("").State, compactor.EventApplied)
		wantNotes(t, r, 1, 2)
	})
	t.Run("the fallback begins again: it saves memories only of what the worker had not reached", func(t *testing.T) {
		t.Parallel()
		worker := &llmtest.Model{Label: "small", Tokens: 4000, Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
			if n > 1 {
				return llm.Response{}, &llm.Error{Kind: llm.KindOverloaded, Status: 503}
			}
			return llmtest.Use(saving("a", 1), summary(whatAdaWrote).Message.Calls[0]), nil
		}}
		var offered []bool
		other := &llmtest.Model{Label: "large", Tokens: 4000, Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			offered = append(offered, savesMemories(req))
			return goodSummary(ctx, n, req)
		}}
		r := newRig(t, 100_000, worker, func(o *compactor.Options) { o.Fallback = other })
		r.chat(160)
		check.Equal(t, "outcome", r.compact("").State, compactor.EventApplied)
		check.That(t, len(offered) >= 3 && !offered[0] && offered[1], "memories are offered in %v", offered)
		wantNotes(t, r, 1)
	})
	t.Run("the job fails, and is retried", func(t *testing.T) {
		t.Parallel()
		well := false
		r := newRig(t, 100_000, &llmtest.Model{Func: func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
			switch {
			case !well && len(req.Messages) == 2:
				return llmtest.Use(saving("a", 1, 2)), nil
			case !well:
				return llm.Response{}, &llm.Error{Kind: llm.KindOverloaded, Status: 503}
			case len(req.Messages) == 2:
				again := map[string]any{"content": "The text note-1 is by Ada.", "kind": "fact", "messages": []int{2}}
				return llmtest.Use(llmtest.Call("a", "memory_save", again), saving("b", 3)), nil
			}
			return summary(whatAdaWrote), nil
		}})
		r.chat(12)
		check.Equal(t, "outcome", r.compact("").State, compactor.EventFailed)
		wantNotes(t, r, 1, 2)
		well = true
		check.Equal(t, "outcome", r.compact("").State, compactor.EventApplied)
		wantNotes(t, r, 1, 2, 3)
		for _, m := range r.memories("") {
			check.Equal(t, m.Content+" was confirmed", m.Confirmed, 1)
		}
	})
	t.Run("the job fails because a message was edited: what it read is not what was written", func(t *testing.T) {
		t.Parallel()
		var r *rig
		r = newRig(t, 100_000, &llmtest.Model{Func: func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
			if len(req.Messages) == 2 {
				return llmtest.Use(saving("a", 1, 2)), nil
			}
			r.edit(2, "I did not write that")
			return llm.Response{}, &llm.Error{Kind: llm.KindOverloaded, Status: 503}
		}})
		r.chat(12)
		r.compact("")
		wantNotes(t, r)
	})
}
