package compactor_test

import (
	"context"
	"fmt"
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

// texts returns the texts of all requests to a worker.
func textsOf(worker *llmtest.Model) (all string) {
	for _, req := range worker.Requests() {
		for _, m := range req.Messages {
			all += m.Text + "\n"
		}
	}
	return all
}

// TestWorkerRequestsUseConversationLanguage makes the worker need every text of the prompts.
func TestWorkerRequestsUseConversationLanguage(t *testing.T) {
	for _, language := range prompts.Languages {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			texts := prompts.In(language)
			before := func(text string) string { text, _, _ = strings.Cut(text, "%"); return text }
			worker := &llmtest.Model{Func: func(ctx context.Context, n int, req llm.Request) (llm.Response, error) {
				if n <= 2 { // text without the call, which the reminder answers; then one that is refused
					return llmtest.Say("Hm."), nil
				}
				return goodSummary(ctx, n, req)
			}}
			r := tuned(t, 100_000, worker, inLanguage(language))
			r.chat(30)
			if e := r.compact("the prices"); e.State != compactor.EventApplied {
				t.Fatalf("got outcome %s: %s", e.State, e.Error)
			}
			check.Equal(t, "system prompt", worker.Requests()[0].Messages[0].Text, texts.Worker)
			asked := textsOf(worker)
			for what, want := range map[string]string{"what to do": before(texts.Ask), "the focus": before(texts.AskFocus) + "the prices", "a second attempt": before(texts.AskAgain), "a reminder": texts.Reminder} {
				check.Contains(t, fmt.Sprintf("requests lack %s", what), asked, want)
			}
			r.verify()
		})
	}
}
