package openai_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

func field(t *testing.T, body map[string]json.RawMessage, name, want string) {
	t.Helper()
	check.Equal(t, name, string(body[name]), want)
}

func TestRequestIncludesFieldsTheLibraryOmits(t *testing.T) {
	_, got := send(t, openai.Options{APIKey: "secret"}, llm.Request{
		Messages: []llm.Message{
			{Role: llm.RoleSystem, Text: "be kind"},
			{Role: llm.RoleUser, Text: "one"},
			{Role: llm.RoleUser, Text: "two <b>"},
			{Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "a", Name: "f", Arguments: ""}, {ID: "b", Name: "f", Arguments: `{"broken":`}}},
			{Role: llm.RoleTool, CallID: "a", Tool: "f", Text: ""},
			{Role: llm.RoleTool, CallID: "b", Tool: "f", Text: "Error: …"},
		},
		Tools:     []llm.Tool{{Name: "f", Description: "does f"}, {Name: "g", Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}}}`)}},
		ForceTool: "g",
		MaxTokens: 300,
	})
	field(t, got.Body, "max_tokens", "300")
	field(t, got.Body, "stream", "true")
	field(t, got.Body, "stream_options", `{"include_usage":true}`)
	field(t, got.Body, "tool_choice", `{"type":"function","function":{"name":"g"}}`)
	if len(got.Messages) != 5 || got.Messages[1].Text() != "one\n\ntwo <b>" {
		t.Fatalf("adjacent user messages were not joined: %+v", got.Messages)
	}
	field(t, got.Messages[2].Body, "content", `""`)
	field(t, got.Messages[3].Body, "content", `""`)
	check.Equal(t, "arguments", got.Messages[2].ToolCalls[0].Arguments, "{}")
	check.Equal(t, "arguments", got.Messages[2].ToolCalls[1].Arguments, `{"invalid":"{\"broken\":"}`)
	check.Equal(t, "schema", string(got.Tools[1].Function.Parameters), `{"type":"object","properties":{"x":{"type":"string"}}}`)
	check.Equal(t, "key", got.Header.Get("Authorization"), "Bearer secret")
}

func TestToolCallsAreAssembledFromAnyFragments(t *testing.T) {
	type fragments []string
	type calls = []llm.Call
	for name, c := range map[string]struct {
		sent fragments
		want calls
	}{
		"by index": {
			fragments{
				`{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}`,
				`{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{\"y\""}}`,
				`{"index":0,"function":{"arguments":"{\"x\":1}"}}`, `{"index":1,"function":{"arguments":":2}"}}`,
			},
			calls{{ID: "a", Name: "f", Arguments: `{"x":1}`}, {ID: "b", Name: "g", Arguments: `{"y":2}`}},
		},
		"without an index": {
			fragments{
				`{"id":"a","function":{"name":"f","arguments":"{"}}`, `{"function":{"arguments":"}"}}`,
				`{"id":"b","function":{"name":"g","arguments":"{"}}`, `{"id":"b","function":{"arguments":"}"}}`,
			},
			calls{{ID: "a", Name: "f", Arguments: "{}"}, {ID: "b", Name: "g", Arguments: "{}"}},
		},
		"without either": {
			fragments{`{"function":{"name":"f","arguments":"{"}}`, `{"function":{"arguments":"}"}}`, `{"function":{"name":"g","arguments":"{}"}}`},
			calls{{ID: "call_0", Name: "f", Arguments: "{}"}, {ID: "call_1", Name: "g", Arguments: "{}"}},
		},
		"all at index 0": {
			fragments{`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`, `{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}`},
			calls{{ID: "a", Name: "f", Arguments: "{}"}, {ID: "b", Name: "g", Arguments: "{}"}},
		},
		"all at index 0, without ids": { // Gemini
			fragments{`{"index":0,"id":"","function":{"name":"f","arguments":"{\"x\":1}"}}`, `{"index":0,"id":"","function":{"name":"f","arguments":"{\"x\""}}`, `{"index":0,"function":{"arguments":":2}"}}`},
			calls{{ID: "call_0", Name: "f", Arguments: `{"x":1}`}, {ID: "call_1", Name: "f", Arguments: `{"x":2}`}},
		},
		"the name again in each": {
			fragments{`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}`, `{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}`},
			calls{{ID: "a", Name: "f", Arguments: "{}"}},
		},
		"the name again in each, without ids": {
			fragments{`{"index":0,"function":{"name":"f","arguments":"{"}}`, `{"index":0,"function":{"name":"f","arguments":"\"x\":1"}}`, `{"index":0,"function":{"name":"f","arguments":"}"}}`},
			calls{{ID: "call_0", Name: "f", Arguments: `{"x":1}`}},
		},
		"another id in each": { // vLLM, older
			fragments{`{"index":0,"id":"a","function":{"name":"f"}}`, `{"index":0,"id":"b","function":{"arguments":"{"}}`, `{"index":0,"id":"c","function":{"arguments":"}"}}`},
			calls{{ID: "a", Name: "f", Arguments: "{}"}},
		},
	} {
		resp := check.Must(ask(t, openai.Options{}, func(x *llmtest.Exchange) {
			for _, fragment := range c.sent {
				x.Chunk(`{"choices":[{"index":0,"delta":{"tool_calls":[%s]}}]}`, fragment)
			}
			x.Done()
		}))(t)
		check.EqualAll(t, name, resp.Message.Calls, c.want)
		check.Equal(t, name+": finish reason", resp.FinishReason, llm.FinishToolCalls)
	}
	resp := check.Must(ask(t, openai.Options{}, func(x *llmtest.Exchange) {
		x.Refuse(http.StatusOK, "", `{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)
	}))(t)
	check.EqualAll(t, "in an answer of one piece", resp.Message.Calls, calls{{ID: "a", Name: "f", Arguments: "{}"}, {ID: "b", Name: "g", Arguments: "{}"}})
}

// TestFailedAttemptsReportTheirUsage: the provider bills them.
func TestFailedAttemptsReportTheirUsage(t *testing.T) {
	ask := func(t *testing.T, answer func(*llmtest.Exchange)) (reported []llm.Usage, resp llm.Response, err error) {
		req := hello
		req.Failed = func(u llm.Usage) { reported = append(reported, u) }
		resp, err = connect(t, llmtest.Serve(t, answer), openai.Options{MaxRetries: 3}).Generate(t.Context(), req, nil)
		return reported, resp, err
	}
	usage := func(x *llmtest.Exchange, prompt int) {
		x.Chunk(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}`, prompt)
	}
	reported, resp, err := ask(t, func(x *llmtest.Exchange) { // before one that succeeds, whose usage is the response's alone
		usage(x, 10*x.N)
		if x.N < 3 {
			x.Write("data: {broken\n\n")
			return
		}
		x.Piece("fine")
		x.Finish("stop")
		usage(x, 30)
		x.Done()
	})
	check.That(t, err == nil && resp.Usage.Prompt == 30, "response %+v, %v", resp.Usage, err)
	check.EqualAll(t, "reported", reported, []llm.Usage{{Prompt: 10, Completion: 2, Cached: 4}, {Prompt: 20, Completion: 2, Cached: 4}})
	reported, _, err = ask(t, func(x *llmtest.Exchange) { // also the last one
		usage(x, 10)
		x.Chunk(`{"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`)
	})
	check.That(t, err != nil && len(reported) == 4, "reported %+v, %v", reported, err)
	reported, _, err = ask(t, func(x *llmtest.Exchange) { x.Refuse(400, "", "no") }) // without the server's count
	check.That(t, err != nil && len(reported) == 0, "reported %+v, %v", reported, err)
}
