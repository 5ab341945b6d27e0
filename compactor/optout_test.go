package compactor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/privacy"
)

// The worker sees who opted out, and saves no memory of them; neither does the extractive
// summarizer. Summaries still cover their messages.
func TestOptedOutPersonIsInNoMemory(t *testing.T) {
	fill := func(r *rig) {
		check.NoError(t, check.ErrorOf(privacy.Of(r.conv).OptOut(t.Context(), "u1", "Ada", true)))
		for i := 0; len(r.c.Status().Stack) == 0; i++ {
			check.Require(t, i <= 200, "got no summary")
			r.deliverNotes(fmt.Sprintf("I decided to buy %d parrots, my name is Ada. %s", i, filler(60)))
			r.waitIdle()
		}
	}
	t.Run("the worker sees the opt-out", func(t *testing.T) {
		var refused []string
		r := newRig(t, 6000, &llmtest.Model{Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
			check.Contains(t, "material", req.Messages[1].Text, `from="Ada" user="u1" memories="none">`)
			check.Contains(t, "system prompt", req.Messages[0].Text, `memories="none"`)
			if last := req.Messages[len(req.Messages)-1]; last.Role == llm.RoleTool {
				refused = append(refused, last.Text)
				return summary("Ada decided to buy parrots."), nil
			}
			return llmtest.Use(llmtest.Call("m", "memory_save", map[string]any{"content": "she buys parrots", "kind": "decision", "messages": []int{1}})), nil
		}})
		fill(r)
		check.That(t, len(refused) != 0 && strings.Contains(refused[0], "wants to be in no memory"), "got reply %q", refused)
		if stack := r.c.Status().Stack; !slices.ContainsFunc(stack, func(row compactor.Compaction) bool { return strings.Contains(row.Text, "Ada decided") }) {
			t.Errorf("got stack %+v", stack)
		}
	})
	t.Run("the extractive summarizer saves no memory", func(t *testing.T) {
		r := newRig(t, 6000, nil)
		fill(r)
		check.Equal(t, "there", count(t, r.dir, "SELECT count(*) FROM memories"), 0)
		check.Equal(t, "attempts", count(t, r.dir, "SELECT sum(refused) FROM compactions"), 0)
		check.Contains(t, "stack", r.c.Status().Stack[0].Text, "parrots")
	})
}
