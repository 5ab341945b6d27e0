// OpenAI's wires, chat completions and Responses: what a strict provider accepts, and how it responds.

package llmtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"cairn/llm"
)

// chatFields are the fields of a request: OpenAI's, and those that OpenRouter, llama.cpp and vLLM add.
var chatFields = []string{
	"model", "messages", "tools", "tool_choice", "max_tokens", "max_completion_tokens", "stream", "stream_options",
	"temperature", "top_p", "seed", "stop", "user", "parallel_tool_calls", "reasoning_effort", "prompt_cache_key",
	"prompt_cache_retention", "top_k", "cache_control", "reasoning", "provider", "chat_template_kwargs",
}

// chatMessageFields are the fields of a message, including those that providers add to responses and accept back.
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
			r.refuse(call.Type != "function", "the call %s is no function", call.ID)
			m.call(llm.Call{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments}, false)
		}
		r.Messages = append(r.Messages, m)
	}
}

var chatEvents = events{
	piece: `- "id":"c","object":"chat.completion.chunk","created":1,"model":"test-model","choices":[{"index":0,"delta":{"content":{text}},"finish_reason":null}]`,
	think: `- "choices":[{"index":0,"delta":{"reasoning_content":{text}},"finish_reason":null}]`,
	call: `- "choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":{i},"id":{id},"type":"function","function":{"name":{name},"arguments":{first}}}]}}]
		- "choices":[{"index":0,"delta":{"tool_calls":[{"index":{i},"function":{"arguments":{second}}}]}}]`,
	finish: `- "choices":[{"index":0,"delta":{},"finish_reason":{reason}}]`,
	usage:  `- "choices":[],"usage":{"prompt_tokens":{prompt},"completion_tokens":{output},"total_tokens":{total},"prompt_tokens_details":{"cached_tokens":{cached},"cache_write_tokens":{written}}}`,
	done:   `[DONE]`,
	fail:   `- "error":{"message":{text},"type":"server_error","code":502}`,
	reason: func(reason string) []string { return []string{"{reason}", encode(reason)} },
}

var responsesFields = []string{
	"model", "input", "instructions", "tools", "tool_choice", "max_output_tokens", "stream", "store", "include", "reasoning",
	"prompt_cache_key", "prompt_cache_retention",
}

var itemFields = map[string][]string{
	"message":              {"type", "role", "content", "id", "status", "phase"},
	"function_call":        {"type", "call_id", "name", "arguments", "id", "status"},
	"function_call_output": {"type", "call_id", "output", "id", "status"},
	"reasoning":            {"type", "id", "summary", "encrypted_content", "content", "status"},
}

func readResponses(r *reader) {
	r.usage, r.MaxTokens = true, get[int](r, r.Body, "max_output_tokens")
	store := get[*bool](r, r.Body, "store")
	r.refuse(r.Body["input"] == nil, "input is missing")
	r.refuse(r.Body["max_output_tokens"] != nil && r.MaxTokens < 16, "max_output_tokens is %d: expected a value >= 16", r.MaxTokens)
	r.refuse(len(get[string](r, r.Body, "prompt_cache_key")) > 64, "prompt_cache_key is longer than 64 characters")
	r.refuse(store == nil || *store, "encrypted reasoning is for requests with store false")
	for i, tool := range get[[]object](r, r.Body, "tools") {
		r.addTool(get[string](r, tool, "type"), tool, "parameters")
		strict := get[*bool](r, tool, "strict")
		r.refuse(strict == nil || *strict, "tools[%d]: a strict schema needs additionalProperties false and all properties required", i)
	}
	var choice struct{ Type, Name string }
	if json.Unmarshal(r.Body["tool_choice"], &choice) == nil { // a word such as "auto" forces no tool
		r.refuse(choice.Type != "function" || choice.Name == "", "tool_choice %s is no function with a name", r.Body["tool_choice"])
		r.Forced = choice.Name
	}
	if r.Body["instructions"] != nil {
		m := Message{Role: llm.RoleSystem}
		m.say(get[string](r, r.Body, "instructions"), false)
		r.Messages = append(r.Messages, m)
	}
	for i, item := range get[[]object](r, r.Body, "input") {
		r.where = fmt.Sprintf("input[%d]: ", i)
		r.item(item)
	}
	r.refuse(r.reasoned, "a reasoning item was provided without its required following item")
}

func (r *reader) item(o object) {
	kind := cmp.Or(get[string](r, o, "type"), "message")
	role := get[llm.Role](r, o, "role")
	fields, known := itemFields[kind]
	r.refuse(!known, "unknown type %q", kind)
	r.checkFields(o, fields)
	byAssistant := kind == "reasoning" || kind == "function_call" || role == llm.RoleAssistant
	r.refuse(r.reasoned && !byAssistant, "the reasoning item before it was provided without its required following item")
	r.reasoned = kind == "reasoning"
	call := llm.Call{ID: get[string](r, o, "call_id"), Name: get[string](r, o, "name"), Arguments: get[string](r, o, "arguments")}
	switch {
	case kind == "reasoning":
		encrypted := get[string](r, o, "encrypted_content")
		r.refuse(encrypted == "", "the item %s was not found: items are not persisted when store is false", o["id"])
		r.assistant().think(strings.TrimPrefix(encrypted, "encrypted: "), json.RawMessage(encode(o)))
	case kind == "function_call":
		r.assistant().call(call, false)
	case kind == "function_call_output":
		m := Message{Role: llm.RoleTool, ToolCallID: call.ID, Body: o}
		r.content(&m, o["output"], "input_text", "input_image")
		r.Messages = append(r.Messages, m)
	case role == llm.RoleAssistant:
		m := r.assistant()
		r.refuse(len(m.ToolCalls) > 0, "text of an assistant behind its calls")
		r.content(m, o["content"], "output_text", "")
	default:
		m := Message{Role: role, Body: o}
		r.content(&m, o["content"], "input_text", "input_image")
		r.Messages = append(r.Messages, m)
	}
}

// assistant returns the current assistant message, which may consist of several items.
func (r *reader) assistant() *Message {
	last := len(r.Messages) - 1
	if last < 0 || r.Messages[last].Role != llm.RoleAssistant {
		empty := ""
		r.Messages = append(r.Messages, Message{Role: llm.RoleAssistant, Content: &empty})
		last++
	}
	return &r.Messages[last]
}

// responsesEvents are those of Responses. The text of reasoning is in the summary, and also represents the encrypted content.
var responsesEvents = events{
	common: `,"sequence_number":{n}`,
	begin:  `response.created "response":{"id":"resp_{N}","object":"response","status":"in_progress","output":[]}`,
	open: `response.output_item.added "output_index":{index},"item":{"id":"msg_{item}","type":"message","status":"in_progress","role":"assistant","content":[]}
		response.content_part.added "item_id":"msg_{item}","output_index":{index},"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}`,
	piece: `response.output_text.delta "item_id":"msg_{item}","output_index":{index},"content_index":0,"delta":{text}`,
	close: `response.output_text.done "item_id":"msg_{item}","output_index":{index},"content_index":0,"text":{whole}
		response.output_item.done "output_index":{index},"item":{"id":"msg_{item}","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":{whole},"annotations":[]}]}`,
	think: `response.output_item.added "output_index":{index},"item":{"id":"rs_{item}","type":"reasoning","summary":[],"encrypted_content":""}
		response.reasoning_summary_text.delta "item_id":"rs_{item}","output_index":{index},"summary_index":0,"delta":{text}
		response.output_item.done "output_index":{index},"item":{"id":"rs_{item}","type":"reasoning","summary":[{"type":"summary_text","text":{text}}],"encrypted_content":{encrypted}}`,
	call: `response.output_item.added "output_index":{index},"item":{"id":"fc_{item}","type":"function_call","status":"in_progress","call_id":{id},"name":{name},"arguments":""}
		response.function_call_arguments.delta "item_id":"fc_{item}","output_index":{index},"delta":{first}
		response.function_call_arguments.delta "item_id":"fc_{item}","output_index":{index},"delta":{second}
		response.function_call_arguments.done "item_id":"fc_{item}","output_index":{index},"arguments":{arguments}
		response.output_item.done "output_index":{index},"item":{"id":"fc_{item}","type":"function_call","status":"completed","call_id":{id},"name":{name},"arguments":{arguments}}`,
	done: `response.{status} "response":{"id":"resp_{N}","object":"response","status":"{status}","error":null,"incomplete_details":{details},"usage":{"input_tokens":{prompt},"input_tokens_details":{"cached_tokens":{cached},"cache_write_tokens":{written}},"output_tokens":{output},"output_tokens_details":{"reasoning_tokens":0},"total_tokens":{total}}}`,
	fail: `response.failed "response":{"id":"resp_{N}","object":"response","status":"failed","error":{"code":"server_error","message":{text}}}`,
	reason: func(reason string) []string {
		details := map[string]string{llm.FinishLength: "max_output_tokens", llm.FinishFilter: "content_filter"}[reason]
		if details == "" {
			return []string{"{status}", "completed", "{details}", "null"}
		}
		return []string{"{status}", "incomplete", "{details}", `{"reason":"` + details + `"}`}
	},
}
