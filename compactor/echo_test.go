package compactor_test

import (
	"context"
	"testing"

	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/prompts"
)

// TestEchoIsRejected: the worker's instructions are as long as a summary, but say nothing about the
// conversation.
func TestEchoIsRejected(t *testing.T) {
	for name, echo := range map[string]func(llm.Request) string{
		"of its own prompt": func(llm.Request) string { return prompts.In(prompts.English).Worker },
		"of it with a preface": func(llm.Request) string {
			return "Here is the summary you asked for.\n\n" + prompts.In(prompts.English).Worker
		},
		"of the chat's prompt": func(llm.Request) string { return prompts.In(prompts.English).System },
	} {
		t.Run(name, func(t *testing.T) {
			r := tuned(t, 100_000, &llmtest.Model{Func: func(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
				return summary(echo(req)), nil
			}}, func(o *compactor.Options) { o.System = prompts.In(prompts.English).System })
			r.chat(150)
			if e := r.compact(""); e.State != compactor.EventFailed {
				t.Errorf("got outcome %s: %s", e.State, e.Summary)
			}
			r.verify()
		})
	}
}
