package worker_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/compactor/worker"
	"cairn/prompts"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/transcript"
)

// TestQuestionAsksForMemoriesWhereTheyCanBeSaved: a model that is asked to call a tool it does not have, or may not call, writes
// the call as text.
func TestQuestionAsksForMemoriesWhereTheyCanBeSaved(t *testing.T) {
	for name, c := range map[string]struct {
		model  *llmtest.Model
		change func(*worker.Assignment)
		asks   bool
	}{
		"it asks for them, last":                    {&llmtest.Model{Func: answers(summary(whatAdaWrote), nil)}, func(*worker.Assignment) {}, true},
		"not where none may be saved":               {&llmtest.Model{Func: answers(summary(whatAdaWrote), nil)}, func(a *worker.Assignment) { a.Memories = 0 }, false},
		"not in a last call, which is the summary":  {&llmtest.Model{Func: answers(summary(whatAdaWrote), nil)}, func(a *worker.Assignment) { a.MaxCalls = 1 }, false},
		"not a model whose server refuses tools":    {&llmtest.Model{Func: withoutTools(whatAdaWrote)}, func(*worker.Assignment) {}, false},
		"after a focus, which is a person's choice": {&llmtest.Model{Func: answers(summary(whatAdaWrote), nil)}, func(a *worker.Assignment) { a.Row.Focus = "the prices" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, c.model)
			c.change(&r.assign)
			r.chat(30)
			check.NoError(t, check.ErrorOf(r.summarize()))
			requests := c.model.Requests()
			asked := requests[len(requests)-1].Messages[1].Text
			check.Equal(t, "asks for memories", strings.HasSuffix(asked, "\n"+prompts.In(prompts.English).AskSave), c.asks)
			check.Equal(t, "names the tool", strings.Contains(asked, "memory_save"), c.asks)
		})
	}
	t.Run("not of a fold: the memories of its summaries are saved", func(t *testing.T) {
		r := newRig(t, &llmtest.Model{Func: answers(summary(whatAdaWrote), nil)})
		r.chat(30)
		r.assign.Row.Kind = transcript.Rollup
		r.assign.Children = []transcript.Summary{{Kind: transcript.Leaf, By: transcript.Worker, Span: transcript.Span{From: 1, To: 30}, Text: whatAdaWrote}}
		check.NoError(t, check.ErrorOf(r.summarize()))
		req := r.asked()[0]
		check.Contains(t, "system prompt", req.Messages[0].Text, prompts.In(prompts.English).Fold)
		check.Lacks(t, "question", req.Messages[1].Text, "memory_save")
	})
}

// TestShortSummaryNeedsNoHeadings: six headings would take the place of what a short summary has to say.
func TestShortSummaryNeedsNoHeadings(t *testing.T) {
	for _, messages := range []int{12, 60} {
		t.Run(fmt.Sprintf("of %d messages", messages), func(t *testing.T) {
			r := newRig(t, &llmtest.Model{Func: answers(summary("- Ada took notes, word by word (#1)."), nil)})
			r.chat(messages)
			made, err := r.summarize()
			check.NoError(t, err)
			check.Contains(t, "summary", made.Text, "Ada took notes, word by word")
			asked := r.asked()[0].Messages[1].Text
			about := 0
			_, err = fmt.Sscanf(asked[strings.LastIndex(asked, "in about "):], "in about %d tokens", &about)
			check.NoError(t, err)
			check.Equal(t, fmt.Sprintf("asks for no headings, in %d tokens", about), strings.Contains(asked, prompts.In(prompts.English).AskShort), about < 350)
			check.Equal(t, "the target is short", about < 350, messages == 12)
		})
	}
	r := newRig(t, &llmtest.Model{Func: answers(summary("Ada took notes."), nil)})
	r.chat(12)
	check.NoError(t, check.ErrorOf(r.summarize()))
	tool := ""
	for _, offered := range r.asked()[0].Tools {
		tool += fmt.Sprintf("%s: %s\n", offered.Description, offered.Parameters)
	}
	check.Lacks(t, "the tools' descriptions", tool, "heading")
}
