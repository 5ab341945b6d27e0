package compactor_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/privacy"
)

// Who has opted out is named so to the worker, and is in none of its memories, nor in
// those of the extractive summarizer; summaries tell what they said.
func TestWhoOptedOutIsInNoMemory(t *testing.T) {
	fill := func(r *rig) {
		if _, err := privacy.Of(r.conv).OptOut(t.Context(), "u1", "Ada", true); err != nil {
			t.Fatal(err)
		}
		for i := 0; len(r.c.Status().Stack) == 0; i++ {
			if i > 200 {
				t.Fatal("nothing is summarized")
			}
			r.hear(fmt.Sprintf("I decided to buy %d parrots, my name is Ada. %s", i, filler(60)))
			r.waitIdle()
		}
	}
	t.Run("the worker is told", func(t *testing.T) {
		var refused []string
		r := newRig(t, 6000, &llmtest.Model{Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
			if !strings.Contains(req.Messages[1].Text, `from="Ada" user="u1" memories="none">`) || !strings.Contains(req.Messages[0].Text, `memories="none"`) {
				t.Errorf("it reads %.300q", req.Messages[1].Text)
			}
			if last := req.Messages[len(req.Messages)-1]; last.Role == llm.RoleTool {
				refused = append(refused, last.Text)
				return summary("Ada decided to buy parrots."), nil
			}
			return llmtest.Use(llmtest.Call("m", "memory_save", map[string]any{"content": "she buys parrots", "kind": "decision", "messages": []int{1}})), nil
		}})
		fill(r)
		if len(refused) == 0 || !strings.Contains(refused[0], "wants to be in no memory") {
			t.Errorf("it was answered %q", refused)
		}
		if stack := r.c.Status().Stack; !slices.ContainsFunc(stack, func(row compactor.Compaction) bool { return strings.Contains(row.Text, "Ada decided") }) {
			t.Errorf("the stack is %+v", stack)
		}
	})
	t.Run("the extractive summarizer takes none", func(t *testing.T) {
		r := newRig(t, 6000, nil)
		fill(r)
		if n := count(t, r.dir, "SELECT count(*) FROM memories"); n != 0 {
			t.Errorf("there are %d memories", n)
		}
		if n := count(t, r.dir, "SELECT sum(refused) FROM compactions"); n != 0 {
			t.Errorf("%d were tried", n)
		}
		if stack := r.c.Status().Stack; !strings.Contains(stack[0].Text, "parrots") {
			t.Errorf("the stack is %+v", stack)
		}
	})
}
