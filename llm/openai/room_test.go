package openai_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

// TestReasoningHasExtraTokens: providers count it as answer.
func TestReasoningHasExtraTokens(t *testing.T) {
	for name, c := range map[string]struct {
		options openai.Options
		req     llm.Request
		thinks  bool
		window  int
		bounds  []int // of the answers, by request
	}{
		"on chat once the model has reasoned":           {openai.Options{}, llm.Request{}, true, 0, []int{100, 100 + 8192}},
		"no more than the window has":                   {openai.Options{}, llm.Request{Spare: 50, Reasoning: "high"}, false, 0, []int{150, 150}},
		"and none where the server finds that too long": {onResponses, llm.Request{}, false, 2000, []int{100 + 8192, 100, 100 + 8192, 100}},
		"none without reasoning":                        {onResponses, llm.Request{Reasoning: "none"}, false, 0, []int{100, 100}},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.Serve(t, func(x *llmtest.Exchange) {
				if c.thinks {
					x.Think("so")
				}
				x.Say("ok")
			})
			server.SetWindow(c.window)
			model := connect(t, server, c.options)
			c.req.Messages, c.req.MaxTokens = hello.Messages, 100
			for range 2 {
				if resp, err := model.Generate(t.Context(), c.req, nil); err != nil || resp.Message.Text != "ok" {
					t.Fatal(resp, err)
				}
			}
			for i, r := range server.Requests() {
				var bound int
				check.NoError(t, json.Unmarshal([]byte(cmp.Or(string(r.Body["max_tokens"]), string(r.Body["max_output_tokens"]))), &bound))
				check.Equal(t, fmt.Sprintf("the bound of request %d", i), bound, c.bounds[i])
			}
			check.Equal(t, "requests", len(server.Requests()), len(c.bounds))
		})
	}
}

func TestLongestAnswerIsLearned(t *testing.T) {
	for name, refusal := range map[string]string{
		"OpenAI":    "max_tokens is too large: 16484. This model supports at most 8192 completion tokens, whereas you provided 16484.",
		"DeepSeek":  "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
		"DashScope": "Range of max_tokens should be [1, 8192]",
		"Groq":      "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model",
		"Responses": "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 8192, but got 16484 instead.",
	} {
		t.Run(name, func(t *testing.T) {
			var bounds []int
			server := llmtest.Serve(t, func(x *llmtest.Exchange) {
				if bounds = append(bounds, x.Request.MaxTokens); x.Request.MaxTokens > 8192 {
					x.Reject(http.StatusBadRequest, "invalid_request_error", refusal)
					return
				}
				x.Say("ok")
			})
			options := openai.Options{}
			if name == "Responses" {
				options = onResponses
			}
			model := connect(t, server, options)
			req := hello
			req.MaxTokens, req.Reasoning = 100, "high"
			for range 2 {
				check.NoError(t, check.ErrorOf(model.Generate(t.Context(), req, nil)))
			}
			check.EqualAll(t, "bounds", bounds, []int{16484, 8192, 8192})
		})
	}
}
