package openai_test

import (
	"encoding/json"
	"testing"

	"cairn/internal/check"

	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

func TestProviderFieldsReturnOnlyToProvider(t *testing.T) {
	answer := func(x *llmtest.Exchange) {
		if x.N > 1 {
			x.Say("done")
			return
		}
		x.Chunk(`{"choices":[{"delta":{"reasoning":"let me ","reasoning_content":"so","reasoning_details":[{"type":"reasoning.text","index":0,"text":"let me "}]}}]}`)
		x.Chunk(`{"choices":[{"delta":{"reasoning":"see","reasoning_details":[{"type":"reasoning.text","index":0,"text":"see","signature":null}]}}]}`)
		x.Chunk(`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","index":0,"signature":"sig"},{"type":"reasoning.encrypted","index":1,"data":"xyz"}]}}]}`)
		x.Chunk(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"deep"}}},{"index":1,"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}}]}`)
		x.Finish("tool_calls")
		x.Done()
	}
	here := llmtest.Serve(t, answer)
	model := connect(t, here, openai.Options{})
	resp := check.Must(model.Generate(t.Context(), hello, nil))(t)
	stored, err := json.Marshal(resp.Message) // the transcript stores it between two requests
	check.NoError(t, err)
	var again llm.Message
	check.NoError(t, json.Unmarshal(stored, &again))
	next := llm.Request{Messages: []llm.Message{
		hello.Messages[0], again,
		{Role: llm.RoleTool, CallID: "a", Text: "1"},
		{Role: llm.RoleTool, CallID: "b", Text: "2"},
	}}

	t.Run("unchanged, to the same provider", func(t *testing.T) {
		if _, err := model.Generate(t.Context(), next, nil); err != nil {
			t.Fatal(err, here.Refusals())
		}
		message := here.Requests()[1].Messages[1].Body
		field(t, message, "reasoning", `"let me see"`)
		field(t, message, "reasoning_content", `"so"`)
		field(t, message, "reasoning_details", `[{"index":0,"signature":"sig","text":"let me see","type":"reasoning.text"},{"data":"xyz","index":1,"type":"reasoning.encrypted"}]`)
		var calls []map[string]json.RawMessage
		check.NoError(t, json.Unmarshal(message["tool_calls"], &calls))
		field(t, calls[0], "extra_content", `{"google":{"thought_signature":"deep"}}`)
		if raw, ok := calls[1]["extra_content"]; ok {
			t.Errorf("got %s in the second call", raw)
		}
	})
	t.Run("nothing is stored if the provider added nothing", func(t *testing.T) {
		resp, err := ask(t, func(x *llmtest.Exchange) { x.Say("plain") })
		if err != nil || resp.Message.Native != nil {
			t.Errorf("got %s, %v", resp.Message.Native, err)
		}
	})
}
