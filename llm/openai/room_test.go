package openai_test

import (
	"cmp"
	"encoding/json"
	"fmt"
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
		bounds  []int // of the answers, by request
	}{
		"on chat once the model has reasoned": {openai.Options{}, llm.Request{}, true, []int{100, 100 + 8192}},
		"no more than the window has":         {openai.Options{}, llm.Request{Spare: 50, Reasoning: "high"}, false, []int{150, 150}},
		"none without reasoning":              {onResponses, llm.Request{Reasoning: "none"}, false, []int{100, 100}},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.Serve(t, func(x *llmtest.Exchange) {
				if c.thinks {
					x.Think("so")
				}
				x.Say("ok")
			})
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
