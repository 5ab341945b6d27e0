package compactor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/privacy"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// The worker sees who opted out, and saves no memory of them; neither does the extractive
// summarizer. Summaries still cover their messages.
func TestOptedOutPersonIsInNoMemory(t *testing.T) {
	var refused []string
	for who, model := range map[string]*llmtest.Model{
		"extractive": nil,
		"worker": {Func: func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
			check.Contains(t, "material", req.Messages[1].Text, `from="Ada" user="u1" memories="none">`)
			check.Contains(t, "system prompt", req.Messages[0].Text, `memories="none"`)
			if last := req.Messages[len(req.Messages)-1]; last.Role == llm.RoleTool {
				refused = append(refused, last.Text)
				return summary("Ada decided to buy parrots."), nil
			}
			return llmtest.Use(llmtest.Call("m", "memory_save", map[string]any{"content": "she buys parrots", "kind": "decision", "messages": []int{1}})), nil
		}},
	} {
		r := newRig(t, 6000, model)
		check.NoError(t, check.ErrorOf(privacy.Of(r.conv).OptOut(t.Context(), "u1", "Ada", true)))
		for len(r.c.Status().Stack) == 0 {
			r.deliverNotes(fmt.Sprintf("I decided to buy %d parrots, my name is Ada. %s", len(r.messages), filler(60)))
			r.waitIdle()
		}
		check.Equal(t, "memories by the "+who, r.count("SELECT count(*) FROM memories"), 0)
		check.Contains(t, "stack", r.c.Status().Stack[0].Text, "parrots")
	}
	check.That(t, len(refused) > 0 && strings.Contains(refused[0], "wants to be in no memory"), "got reply %q", refused)
}
