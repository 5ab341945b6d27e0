package compactor_test

import (
	"context"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/prompts"
)

// inLanguage returns a rig whose worker summarizes in a language.
func inLanguage(language string) func(*compactor.Options) {
	return func(o *compactor.Options) { o.Language, o.System = language, prompts.In(language).System }
}

// TestWorkerRequestsUseConversationLanguage makes the worker need every text of the prompts.
func TestWorkerRequestsUseConversationLanguage(t *testing.T) {
	for _, language := range prompts.Languages {
		texts := prompts.In(language)
		before := func(text string) string { text, _, _ = strings.Cut(text, "%"); return text }
		r := tuned(t, 100_000, &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
			if n <= 2 { // text without the call, which the reminder answers; then one that is refused
				return llmtest.Say("Hm."), nil
			}
			return goodSummary(ctx, n, req)
		}}, inLanguage(language))
		r.chat(30)
		check.Equal(t, "outcome", r.compact("the prices").State, compactor.EventApplied)
		check.Equal(t, "system prompt", r.worker.Requests()[0].Messages[0].Text, texts.Worker)
		asked := ""
		for _, req := range r.worker.Requests() {
			asked += inLines(req.Messages)
		}
		check.Contains(t, language+": requests", asked, before(texts.Ask), before(texts.AskFocus)+"the prices", before(texts.AskAgain), texts.Reminder)
		r.verify()
	}
}
