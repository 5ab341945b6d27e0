package openai_test

import (
	"encoding/json"
	"testing"

	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

// TestReasoningGetsRoomBeyondTheAnswer: providers count it as answer.
func TestReasoningGetsRoomBeyondTheAnswer(t *testing.T) {
	bound := func(t *testing.T, r llmtest.Request) int {
		t.Helper()
		for _, name := range []string{"max_tokens", "max_output_tokens"} {
			var n int
			if json.Unmarshal(r.Body[name], &n) == nil {
				return n
			}
		}
		t.Fatal("the answer has no bound")
		return 0
	}
	req := hello
	req.MaxTokens = 100
	t.Run("on chat once the model has reasoned", func(t *testing.T) {
		server := serve(t, func(x *llmtest.Exchange) { x.Think("so"); x.Say("ok") })
		model := connect(t, server, openai.Options{})
		for range 2 {
			if _, err := model.Generate(t.Context(), req, nil); err != nil {
				t.Fatal(err)
			}
		}
		if first, second := bound(t, server.Requests()[0]), bound(t, server.Requests()[1]); first != 100 || second != 100+8192 {
			t.Errorf("the bounds are %d and %d", first, second)
		}
	})
	t.Run("no more than the window has", func(t *testing.T) {
		server := serve(t, func(x *llmtest.Exchange) { x.Say("ok") })
		small := req
		small.Spare, small.Reasoning = 50, "high"
		if _, err := connect(t, server, openai.Options{}).Generate(t.Context(), small, nil); err != nil {
			t.Fatal(err)
		}
		if got := bound(t, server.Requests()[0]); got != 150 {
			t.Errorf("the bound is %d", got)
		}
	})
	t.Run("and none where the server finds that too long", func(t *testing.T) {
		server := serve(t, func(x *llmtest.Exchange) { x.Say("ok") })
		server.SetWindow(2000)
		resp, err := connect(t, server, onResponses).Generate(t.Context(), req, nil)
		if err != nil || resp.Message.Text != "ok" {
			t.Fatal(resp, err)
		}
		if got := bound(t, server.Requests()[1]); got != 100 {
			t.Errorf("the bound is %d", got)
		}
	})
	t.Run("none without reasoning", func(t *testing.T) {
		server := serve(t, func(x *llmtest.Exchange) { x.Say("ok") })
		none := req
		none.Reasoning = "none"
		if _, err := connect(t, server, onResponses).Generate(t.Context(), none, nil); err != nil {
			t.Fatal(err)
		}
		if got := bound(t, server.Requests()[0]); got != 100 {
			t.Errorf("the bound is %d", got)
		}
	})
}
