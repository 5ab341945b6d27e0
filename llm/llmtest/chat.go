// Chat completions: what a strict provider accepts, and how it responds.

package llmtest

import (
	"cmp"
	"encoding/json"
	"fmt"

	"cairn/llm"
)

// chatFields are the fields of a request: OpenAI's, and those that OpenRouter, llama.cpp and vLLM
// add.
var chatFields = []string{
	"model", "messages", "tools", "tool_choice", "max_tokens", "max_completion_tokens", "stream", "stream_options",
	"temperature", "top_p", "seed", "stop", "user", "parallel_tool_calls", "reasoning_effort", "prompt_cache_key",
	"prompt_cache_retention", "top_k", "cache_control", "reasoning", "provider", "chat_template_kwargs",
}

// chatMessageFields are the fields of a message, including those that providers add to responses
// and accept back.
var chatMessageFields = []string{
	"role", "content", "name", "tool_calls", "tool_call_id", "reasoning", "reasoning_content", "reasoning_details", "extra_content",
}

func readChat(r *reader) {
	r.MaxTokens = cmp.Or(get[int](r, r.Body, "max_tokens"), get[int](r, r.Body, "max_completion_tokens"))
	r.usage = get[struct {
		Include bool `json:"include_usage"`
	}](r, r.Body, "stream_options").Include
	for _, tool := range get[[]object](r, r.Body, "tools") {
		r.addTool(get[string](r, tool, "type"), get[object](r, tool, "function"), "parameters")
	}
	var choice struct{ Function struct{ Name string } }
	if json.Unmarshal(r.Body["tool_choice"], &choice) == nil { // a word such as "auto" forces no tool
		r.Forced = choice.Function.Name
	}
	for i, o := range get[[]object](r, r.Body, "messages") {
		r.where = fmt.Sprintf("messages[%d]: ", i)
		r.checkFields(o, chatMessageFields)
		m := Message{Role: get[llm.Role](r, o, "role"), ToolCallID: get[string](r, o, "tool_call_id"), Body: o}
		m.think(get[string](r, o, "reasoning_content"), nil)
		r.content(&m, o["content"], "text", "image_url")
		for _, call := range get[[]struct {
			ID, Type string
			Function struct{ Name, Arguments string }
		}](r, o, "tool_calls") {
			r.refuse(claim{call.Type != "function", "the call " + call.ID + " is no function"})
			m.call(llm.Call{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments}, false)
		}
		r.Messages = append(r.Messages, m)
	}
}

type chatWriter struct{ x *Exchange }

func (w chatWriter) piece(text string) {
	w.x.Chunk(`{"id":"c","object":"chat.completion.chunk","created":1,"model":"test-model","choices":[{"index":0,"delta":{"content":%s},"finish_reason":null}]}`, quote(text))
}

func (w chatWriter) think(text string) {
	w.x.Chunk(`{"choices":[{"index":0,"delta":{"reasoning_content":%s},"finish_reason":null}]}`, quote(text))
}

func (w chatWriter) calls(calls ...llm.Call) {
	for i, call := range calls {
		half := len(call.Arguments) / 2
		w.x.Chunk(`{"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}]}}]}`,
			i, quote(call.ID), quote(call.Name), quote(call.Arguments[:half]))
		w.x.Chunk(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}}]}`, i, quote(call.Arguments[half:]))
	}
}

func (w chatWriter) finish(reason string) {
	w.x.Chunk(`{"choices":[{"index":0,"delta":{},"finish_reason":%s}]}`, quote(reason))
	if !w.x.Request.usage {
		return
	}
	u := w.x.Usage()
	details := ""
	if u.Cached+u.Written > 0 {
		details = fmt.Sprintf(`,"prompt_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d}`, u.Cached, u.Written)
	}
	w.x.Chunk(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d%s}}`,
		u.Prompt, u.Completion, u.Prompt+u.Completion, details)
}

func (w chatWriter) done() { w.x.Write("data: [DONE]\n\n") }

func (w chatWriter) fail(message string) {
	w.x.Chunk(`{"error":{"message":%s,"type":"server_error","code":502}}`, quote(message))
}
