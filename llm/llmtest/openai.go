// OpenAI's wires, chat completions and Responses: what a strict provider accepts, and how it responds.

package llmtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

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
			r.refuse(call.Type != "function", "the call %s is no function", call.ID)
			m.call(llm.Call{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments}, false)
		}
		r.Messages = append(r.Messages, m)
	}
}

type chatWriter struct{ x *Exchange }

func (w chatWriter) piece(text string) {
	w.x.Chunk(`{"id":"c","object":"chat.completion.chunk","created":1,"model":"test-model","choices":[{"index":0,"delta":{"content":%s},"finish_reason":null}]}`, encode(text))
}

func (w chatWriter) think(text string) {
	w.x.Chunk(`{"choices":[{"index":0,"delta":{"reasoning_content":%s},"finish_reason":null}]}`, encode(text))
}

func (w chatWriter) calls(calls ...llm.Call) {
	for i, call := range calls {
		half := len(call.Arguments) / 2
		w.x.Chunk(`{"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}]}}]}`,
			i, encode(call.ID), encode(call.Name), encode(call.Arguments[:half]))
		w.x.Chunk(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}}]}`, i, encode(call.Arguments[half:]))
	}
}

func (w chatWriter) finish(reason string) {
	w.x.Chunk(`{"choices":[{"index":0,"delta":{},"finish_reason":%s}]}`, encode(reason))
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
	w.x.Chunk(`{"error":{"message":%s,"type":"server_error","code":502}}`, encode(message))
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
	kind, role := cmp.Or(get[string](r, o, "type"), "message"), get[llm.Role](r, o, "role")
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

func answerResponses(x *Exchange) writer {
	w := &responsesWriter{x: x}
	w.event("response.created", `"response":{"id":"resp_%d","object":"response","status":"in_progress","output":[]}`, x.N)
	return w
}

// responsesWriter keeps the values that the events repeat.
type responsesWriter struct {
	x      *Exchange
	n      int             // events so far
	output int             // items so far
	text   strings.Builder // of the open message
	open   bool            // a message is open
	reason string
}

// event writes an event; its other fields are JSON formatted as by fmt.Sprintf.
func (w *responsesWriter) event(name, format string, args ...any) {
	w.x.Event(name, `{"type":%s,"sequence_number":%d,%s}`, encode(name), w.n, fmt.Sprintf(format, args...))
	w.n++
}

func (w *responsesWriter) id(kind string) string {
	return encode(fmt.Sprintf("%s_%d_%d", kind, w.x.N, w.output))
}

func (w *responsesWriter) piece(text string) {
	if !w.open {
		w.open = true
		w.event("response.output_item.added", `"output_index":%d,"item":{"id":%s,"type":"message","status":"in_progress","role":"assistant","content":[]}`, w.output, w.id("msg"))
		w.event("response.content_part.added", `"item_id":%s,"output_index":%d,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}`, w.id("msg"), w.output)
	}
	w.text.WriteString(text)
	w.event("response.output_text.delta", `"item_id":%s,"output_index":%d,"content_index":0,"delta":%s`, w.id("msg"), w.output, encode(text))
}

// close ends an open message.
func (w *responsesWriter) close() {
	if !w.open {
		return
	}
	text := encode(w.text.String())
	w.event("response.output_text.done", `"item_id":%s,"output_index":%d,"content_index":0,"text":%s`, w.id("msg"), w.output, text)
	w.event("response.output_item.done", `"output_index":%d,"item":{"id":%s,"type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":%s,"annotations":[]}]}`, w.output, w.id("msg"), text)
	w.open = false
	w.text.Reset()
	w.output++
}

// think writes a reasoning item. Its text is in the summary, and also represents the encrypted
// content.
func (w *responsesWriter) think(text string) {
	w.close()
	w.event("response.output_item.added", `"output_index":%d,"item":{"id":%s,"type":"reasoning","summary":[],"encrypted_content":""}`, w.output, w.id("rs"))
	w.event("response.reasoning_summary_text.delta", `"item_id":%s,"output_index":%d,"summary_index":0,"delta":%s`, w.id("rs"), w.output, encode(text))
	w.event("response.output_item.done", `"output_index":%d,"item":{"id":%s,"type":"reasoning","summary":[{"type":"summary_text","text":%s}],"encrypted_content":%s}`,
		w.output, w.id("rs"), encode(text), encode("encrypted: "+text))
	w.output++
}

func (w *responsesWriter) calls(calls ...llm.Call) {
	w.close()
	for _, call := range calls {
		half := len(call.Arguments) / 2
		item := func(status, arguments string) string {
			return fmt.Sprintf(`{"id":%s,"type":"function_call","status":%s,"call_id":%s,"name":%s,"arguments":%s}`,
				w.id("fc"), encode(status), encode(call.ID), encode(call.Name), encode(arguments))
		}
		w.event("response.output_item.added", `"output_index":%d,"item":%s`, w.output, item("in_progress", ""))
		for _, piece := range []string{call.Arguments[:half], call.Arguments[half:]} {
			w.event("response.function_call_arguments.delta", `"item_id":%s,"output_index":%d,"delta":%s`, w.id("fc"), w.output, encode(piece))
		}
		w.event("response.function_call_arguments.done", `"item_id":%s,"output_index":%d,"arguments":%s`, w.id("fc"), w.output, encode(call.Arguments))
		w.event("response.output_item.done", `"output_index":%d,"item":%s`, w.output, item("completed", call.Arguments))
		w.output++
	}
}

func (w *responsesWriter) finish(reason string) {
	w.close()
	w.reason = reason
}

func (w *responsesWriter) done() {
	u := w.x.Usage()
	usage := fmt.Sprintf(`{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":%d}`,
		u.Prompt, u.Cached, u.Written, u.Completion, u.Prompt+u.Completion)
	status := "incomplete"
	details := map[string]string{llm.FinishLength: `{"reason":"max_output_tokens"}`, llm.FinishFilter: `{"reason":"content_filter"}`}[w.reason]
	if details == "" {
		status, details = "completed", "null"
	}
	w.event("response."+status, `"response":{"id":"resp_%d","object":"response","status":%s,"error":null,"incomplete_details":%s,"usage":%s}`,
		w.x.N, encode(status), details, usage)
}

func (w *responsesWriter) fail(message string) {
	w.event("response.failed", `"response":{"id":"resp_%d","object":"response","status":"failed","error":{"code":"server_error","message":%s}}`, w.x.N, encode(message))
}
