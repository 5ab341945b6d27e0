// Requests that are changed because a server refuses their form, on every protocol.

package llm_test

import (
	"errors"
	"testing"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

const noForced = "This model does not support the tool_choice."

// forcing is a request with a field that a server may refuse.
func forcing() llm.Request {
	req := hello
	req.Tools, req.ForceTool = []llm.Tool{look}, look.Name
	return req
}

func TestEachAttemptIsCharged(t *testing.T) {
	spent := errors.New("all spent")
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for name, c := range map[string]struct {
			refuse           func(*llmtest.Exchange)
			budget, requests int
			kind             llm.Kind // "": the error is spent
		}{
			"no call without budget":       {func(x *llmtest.Exchange) { x.Say("fine") }, 0, 0, ""},
			"no retry without budget":      {func(x *llmtest.Exchange) { x.Refuse(503, "", "busy") }, 2, 2, llm.KindOverloaded},
			"no other form without budget": {func(x *llmtest.Exchange) { x.Reject(400, "invalid_request_error", noForced) }, 1, 1, llm.KindBadRequest},
			"none after text was shown": {func(x *llmtest.Exchange) {
				x.Piece("half ")
				x.Chunk(`{"type":"error","error":{"code":400,"message":%q}}`, noForced)
			}, 9, 1, llm.KindBadRequest},
		} {
			t.Run(name, func(t *testing.T) {
				server, req := w.open(t, c.refuse), forcing()
				req.Spend = func() error {
					if c.budget--; c.budget < 0 {
						return spent
					}
					return nil
				}
				_, err := w.model(t, server, openai.Options{MaxRetries: 3}).Generate(t.Context(), req, func(string) {})
				check.Equal(t, "error kind", llm.KindOf(err), c.kind)
				check.Equal(t, "the budget is the error", errors.Is(err, spent), c.kind == "")
				check.Len(t, "requests", server.Requests(), c.requests)
			})
		}
	})
}

func TestLongestAnswerIsLearned(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for name, refusal := range map[string]string{
			"OpenAI":    "max_tokens is too large: 16484. This model supports at most 8192 completion tokens, whereas you provided 16484.",
			"Responses": "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 8192, but got 16484 instead.",
			"Anthropic": "max_tokens: 16484 > 8192, which is the maximum allowed number of output tokens for m",
		} {
			t.Run(name, func(t *testing.T) {
				var bounds []int
				server := w.open(t, func(x *llmtest.Exchange) {
					if bounds = append(bounds, x.Request.MaxTokens); x.Request.MaxTokens > 8192 {
						x.Reject(400, "invalid_request_error", refusal)
						return
					}
					x.Say("ok")
				})
				model := w.model(t, server, openai.Options{})
				req := hello
				req.MaxTokens, req.Reasoning = 100, "high"
				for range 2 {
					check.NoError(t, check.ErrorOf(model.Generate(t.Context(), req, nil)))
				}
				check.EqualAll(t, "bounds", bounds, []int{16484, 8192, 8192})
			})
		}
	})
}
