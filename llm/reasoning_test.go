package llm_test

import (
	"testing"

	"cairn/llm"
)

func TestDemandsForReasoningAreRecognised(t *testing.T) {
	for text, want := range map[string]bool{
		"The `reasoning_content` in the thinking mode must be passed back to the API.":                                                             true,
		"Missing `reasoning_content` field in the assistant message at message index 2. For more information, please refer to https://example.org": true,
		"thinking is enabled but reasoning_content is missing in assistant tool call message at index 3":                                           true,
		"Unknown field: reasoning_content":                                 false,
		"Extra inputs are not permitted: messages.2.reasoning_content":     false,
		"Unsupported value: 'reasoning_effort' does not support 'minimal'": false,
	} {
		if got := llm.WantsReasoning(llm.Refused(400, nil, []byte(text))); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
	if llm.WantsReasoning(llm.Refused(503, nil, []byte("reasoning_content is missing"))) || llm.WantsReasoning(nil) {
		t.Error("what is no refusal counts as one")
	}
}

func TestRefusalsOfForcedToolsAreRecognised(t *testing.T) {
	for text, want := range map[string]bool{
		"Thinking mode does not support this tool_choice":                                             true,
		"The tool_choice parameter does not support being set to required or object in thinking mode": true,
		"tool_choice: type tool is not supported for this model":                                      true,
		"messages.2: tool results are missing":                                                        false,
		"this model does not support tools":                                                           false,
		"tools[0].function.parameters is not a schema":                                                false,
	} {
		if got := llm.RefusesForced(llm.Refused(400, nil, []byte(text))); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
	if llm.RefusesForced(llm.Refused(500, nil, []byte("tool_choice crashed"))) {
		t.Error("what may pass counts as a refusal")
	}
}
