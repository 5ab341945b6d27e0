package compactor_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/prompts"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// TestQuestionAsksForMemoriesWhereTheyCanBeSaved: a model that is asked to call a tool it does not have, or may not call, writes
// the call as text.
func TestQuestionAsksForMemoriesWhereTheyCanBeSaved(t *testing.T) {
	for name, c := range map[string]struct {
		worker *llmtest.Model
		change func(*compactor.Policy)
		asks   bool
	}{
		"it asks for them, last":                    {&llmtest.Model{Func: goodSummary}, func(*compactor.Policy) {}, true},
		"not where memories are not extracted":      {&llmtest.Model{Func: goodSummary}, func(p *compactor.Policy) { p.ExtractMemories = false }, false},
		"not in a last call, which is the summary":  {&llmtest.Model{Func: goodSummary}, func(p *compactor.Policy) { p.MaxTurns = 1 }, false},
		"not a model whose server refuses tools":    {&llmtest.Model{Func: withoutTools(whatAdaTold)}, func(*compactor.Policy) {}, false},
		"not where the most memories are saved":     {&llmtest.Model{Func: goodSummary}, func(p *compactor.Policy) { p.MaxMemories = 0 }, false},
		"after a focus, which is a person's choice": {&llmtest.Model{Func: goodSummary}, func(p *compactor.Policy) { p.Focus = "the prices" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 100_000, c.worker)
			r.set(c.change)
			r.chat(30)
			r.compact("")
			requests := c.worker.Requests()
			asked := requests[len(requests)-1].Messages[1].Text
			check.Equal(t, "asks for memories", strings.HasSuffix(asked, "\n"+prompts.In(prompts.English).AskSave), c.asks)
			check.Equal(t, "names the tool", strings.Contains(asked, "memory_save"), c.asks)
		})
	}
	t.Run("not of a fold: the memories of its summaries are saved", func(t *testing.T) {
		r := newRig(t, 100_000, wordyWorker(filler(80)))
		r.resize(4000)
		folds := 0
		for range 12 {
			r.chat(12)
			r.c.Compact(compactor.OnManual, "")
			r.waitIdle()
		}
		for _, req := range r.worker.Requests() {
			fold := strings.Contains(req.Messages[0].Text, prompts.In(prompts.English).Fold)
			check.Equal(t, "asks for memories", strings.Contains(req.Messages[1].Text, "memory_save"), !fold)
			if fold {
				folds++
			}
		}
		check.That(t, folds > 0, "there was no fold")
	})
}

// TestShortSummaryNeedsNoHeadings: six headings would take the place of what a short summary has to say.
func TestShortSummaryNeedsNoHeadings(t *testing.T) {
	for _, messages := range []int{12, 60} {
		t.Run(fmt.Sprintf("of %d messages", messages), func(t *testing.T) {
			r := newRig(t, 100_000, &llmtest.Model{Func: answers(summary("- Ada took notes, word by word (#1)."), nil)})
			r.chat(messages)
			e := r.compact("")
			check.Require(t, e.State == compactor.EventApplied, "got %+v", e)
			check.Contains(t, "summary", e.Summary, "Ada took notes, word by word")
			asked := r.worker.Requests()[0].Messages[1].Text
			about := 0
			_, err := fmt.Sscanf(asked[strings.LastIndex(asked, "in about "):], "in about %d tokens", &about)
			check.NoError(t, err)
			check.Equal(t, fmt.Sprintf("asks for no headings, in %d tokens", about), strings.Contains(asked, prompts.In(prompts.English).AskShort), about < 350)
			check.Equal(t, "the target is short", about < 350, messages == 12)
		})
	}
	tool := ""
	r := newRig(t, 100_000, &llmtest.Model{Func: answers(summary("Ada took notes."), nil)})
	r.chat(12)
	r.compact("")
	for _, offered := range r.worker.Requests()[0].Tools {
		tool += fmt.Sprintf("%s: %s\n", offered.Description, offered.Parameters)
	}
	check.Lacks(t, "the tools' descriptions", tool, "heading")
}
