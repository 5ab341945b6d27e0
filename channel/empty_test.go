package channel_test

import (
	"context"
	"testing"

	"cairn/internal/check"

	"cairn/llm"
	"cairn/llm/llmtest"
)

// Some models return nothing now and then, most often after tool results.
func TestEmptyAnswerIsAskedForAgain(t *testing.T) {
	lookUp := llmtest.Use(llmtest.Call("1", "recall", map[string]any{"query": "tea"}))
	for name, tt := range map[string]struct {
		answers []llm.Response
		says    string
	}{
		"once":               {[]llm.Response{llmtest.Say(""), llmtest.Say("fine")}, "fine"},
		"after tool results": {[]llm.Response{lookUp, llmtest.Say(" "), llmtest.Say("fine")}, "fine"},
		"silence":            {[]llm.Response{llmtest.Say("NO_REPLY"), llmtest.Say("fine")}, "fine"},
		"always":             {[]llm.Response{llmtest.Say(""), llmtest.Say("")}, "gave no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
				return tt.answers[min(n, len(tt.answers))-1], nil
			})
			r.ask("hello")
			check.Contains(t, "the reply", r.connector.texts()[0], tt.says)
			check.Equal(t, "requests", len(r.model.Requests()), len(tt.answers))
		})
	}
}

// A turn with an empty answer makes no more requests than any other.
func TestEmptyAnswersDoNotAddToMostCalls(t *testing.T) {
	for name, empty := range map[string]func(n int, req llm.Request) bool{
		"in the middle":    func(n int, _ llm.Request) bool { return n == 3 },
		"at the last call": func(_ int, req llm.Request) bool { return len(req.Tools) == 0 },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(_ context.Context, n int, req llm.Request) (llm.Response, error) {
				switch {
				case empty(n, req):
					return llmtest.Say(""), nil
				case len(req.Tools) == 0:
					return llmtest.Say("fine"), nil
				}
				return llmtest.Use(llmtest.Call("1", "recall", map[string]any{"query": "tea"})), nil
			})
			r.ask("hello")
			check.Equal(t, "requests", len(r.model.Requests()), 16)
		})
	}
}
