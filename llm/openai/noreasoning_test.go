package openai_test

import (
	"testing"

	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

func TestAModelThatDoesNotThinkIsAskedWithoutReasoning(t *testing.T) {
	for name, refusal := range map[string]struct {
		status int
		body   string
	}{
		"Ollama":  {400, `{"error":{"message":"\"llama3.2\" does not support thinking","type":"invalid_request_error"}}`},
		"OpenAI":  {400, `{"error":{"message":"Unrecognized request argument supplied: reasoning_effort","type":"invalid_request_error"}}`},
		"Mistral": {422, `{"detail":[{"type":"extra_forbidden","loc":["body","reasoning_effort"],"msg":"Extra inputs are not permitted","input":"low"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			refused := 0
			server := llmtest.NewServer(func(x *llmtest.Exchange) {
				if x.Request.Body["reasoning_effort"] != nil {
					refused++
					x.Refuse(refusal.status, "", refusal.body)
					return
				}
				x.Say("yes")
			})
			defer server.Close()
			model := connect(t, server, openai.Options{})
			for range 2 {
				req := hello
				req.Reasoning = "low"
				resp, err := model.Generate(t.Context(), req, nil)
				if err != nil || resp.Message.Text != "yes" {
					t.Fatalf("%+v, %v", resp, err)
				}
			}
			if refused != 1 {
				t.Errorf("it was refused %d times", refused)
			}
		})
	}
}
