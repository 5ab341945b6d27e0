// Chat completions: what a strict provider accepts and how it answers.

package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"

	"cairn/llm"
)

type chatDialect struct{}

var _ dialect = chatDialect{}

// chatFields are the fields of a request: OpenAI's, and what OpenRouter, llama.cpp and
// vLLM add.
var chatFields = []string{
	"model", "messages", "tools", "tool_choice", "max_tokens", "max_completion_tokens", "stream", "stream_options",
	"temperature", "top_p", "seed", "stop", "user", "parallel_tool_calls", "reasoning_effort", "prompt_cache_key",
	"prompt_cache_retention", "top_k", "cache_control", "reasoning", "provider", "chat_template_kwargs",
}

// chatMessageFields are the fields of a message, with what providers add to their answers
// and accept back.
var chatMessageFields = []string{
	"role", "content", "name", "tool_calls", "tool_call_id", "reasoning", "reasoning_content", "reasoning_details", "extra_content",
}

func (chatDialect) parse(body []byte) (Request, error) {
	r := Request{Wire: llm.WireChat}
	if err := errors.Join(json.Unmarshal(body, &r), json.Unmarshal(body, &r.Body)); err != nil {
		return r, fmt.Errorf("the body is not what the protocol says: %w", err)
	}
	r.size = len(r.Body["messages"]) + len(r.Body["tools"])
	if r.MaxTokens == 0 {
		r.MaxTokens = r.MaxCompletionTokens
	}
	if r.Model == "" {
		return r, errors.New("model is missing")
	}
	if err := unknownField(r.Body, "", chatFields); err != nil {
		return r, err
	}
	for i, m := range r.Messages {
		if err := unknownField(m.Body, fmt.Sprintf("messages[%d].", i), chatMessageFields); err != nil {
			return r, err
		}
	}
	if err := checkTools(r.Tools); err != nil {
		return r, err
	}
	var choice struct {
		Function struct{ Name string }
	}
	// A word as "auto" forces no tool.
	if json.Unmarshal(r.Body["tool_choice"], &choice) == nil {
		r.Forced = choice.Function.Name
	}
	if err := checkForced(r); err != nil {
		return r, err
	}
	return r, checkMessages(r.Messages)
}

func (chatDialect) refusal(code, message string) string { return errorBody(code, message) }

func (chatDialect) answer(x *Exchange) writer { return chatWriter{x} }

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
	if !w.x.Request.StreamOptions.IncludeUsage {
		return
	}
	u := w.x.counted()
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
