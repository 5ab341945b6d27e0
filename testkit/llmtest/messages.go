// Messages: what a strict provider accepts, and how it responds.

package llmtest

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cairn/llm"
)

var messagesFields = []string{
	"model", "messages", "max_tokens", "system", "tools", "tool_choice", "stream", "temperature", "top_k", "top_p",
	"stop_sequences", "thinking", "output_config", "metadata", "service_tier", "cache_control",
}

// blockFields are the fields of a block, by type.
var blockFields = map[string][]string{
	"text":              {"type", "text", "cache_control"},
	"image":             {"type", "source", "cache_control"},
	"tool_use":          {"type", "id", "name", "input", "cache_control"},
	"tool_result":       {"type", "tool_use_id", "content", "is_error", "cache_control"},
	"thinking":          {"type", "thinking", "signature"},
	"redacted_thinking": {"type", "data"},
}

// messagesOptions are the validated fields of a request other than messages and tools.
type messagesOptions struct {
	MaxTokens  int                          `json:"max_tokens"`
	ToolChoice *struct{ Type, Name string } `json:"tool_choice"`
	Thinking   struct {
		Type   string
		Budget int `json:"budget_tokens"`
	}
	Output *struct{ Effort string } `json:"output_config"`
}

func readMessages(r *reader) {
	var b messagesOptions
	if err := json.Unmarshal(r.Raw, &b); err != nil {
		r.fail("the body is not what the protocol says: %v", err)
	}
	r.usage = true
	r.MaxTokens = b.MaxTokens
	if b.ToolChoice != nil && b.ToolChoice.Type == "tool" {
		r.Forced = b.ToolChoice.Name
	}
	r.checkOptions(b)
	for i, tool := range get[[]object](r, r.Body, "tools") {
		r.where = fmt.Sprintf("tools.%d: ", i)
		r.checkFields(tool, []string{"name", "description", "input_schema", "cache_control"})
		r.marked(tool)
		r.addTool("function", tool, "input_schema")
	}
	if blocks := get[[]object](r, r.Body, "system"); len(blocks) > 0 {
		r.where = "system: "
		m := Message{Role: llm.RoleSystem}
		for _, o := range blocks {
			r.block(&m, o)
		}
		r.Messages = append(r.Messages, m)
	}
	for i, o := range get[[]object](r, r.Body, "messages") {
		r.where = fmt.Sprintf("messages.%d: ", i)
		m := Message{Role: get[llm.Role](r, o, "role"), Body: object{"content": o["content"]}}
		want := []llm.Role{llm.RoleUser, llm.RoleAssistant}[i%2]
		blocks := get[[]object](r, o, "content")
		r.refuse(m.Role != want, "role is %q, want %q: roles must alternate between user and assistant, the user first", m.Role, want)
		r.refuse(len(blocks) == 0, "content: want a list of blocks that is not empty")
		for _, block := range blocks {
			r.block(&m, block)
		}
		if m.Role == llm.RoleAssistant || len(m.Parts) > 0 || len(m.Images) > 0 {
			whole := m.Text()
			m.Content = &whole
			r.Messages = append(r.Messages, m)
		}
	}
	r.where = ""
	r.refuse(r.marks > 4, "a maximum of 4 blocks with cache_control may be provided. Found %d", r.marks)
}

// signature returns the signature that the double adds to a thinking text, and expects back.
func signature(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// marked reports whether a block has a cache mark.
func (r *reader) marked(o object) bool {
	if o["cache_control"] == nil {
		return false
	}
	control := get[struct{ Type, TTL string }](r, o, "cache_control")
	r.refuse(control.Type != "ephemeral" || !slices.Contains([]string{"", "5m", "1h"}, control.TTL), "cache_control: %s is none", o["cache_control"])
	r.marks++
	return true
}

// block adds a block to its message; a tool result becomes a message of its own.
func (r *reader) block(m *Message, o object) {
	kind := get[string](r, o, "type")
	text := get[string](r, o, "text")
	input := string(o["input"])
	fields, known := blockFields[kind]
	r.refuse(!known, "type: %q is no type of a block", kind)
	r.checkFields(o, fields)
	marked := r.marked(o)
	switch of := string(m.Role) + " " + kind; of {
	case "system text", "user text", "assistant text":
		r.refuse(strings.TrimSpace(text) == "", "text content blocks must contain non-whitespace text")
		m.say(text, marked)
	case "user image":
		source := get[struct {
			Type, Data string
			MediaType  string `json:"media_type"`
		}](r, o, "source")
		r.refuse(source.Type != "base64", "source.type: %q", source.Type)
		r.image(m, "data:"+source.MediaType+";base64,"+source.Data, marked)
	case "user tool_result":
		r.refuse(len(m.Parts) > 0 || len(m.Images) > 0, "tool_result blocks must come before other content")
		result := Message{Role: llm.RoleTool, ToolCallID: get[string](r, o, "tool_use_id"), Body: o}
		r.result(&result, o["content"])
		result.asResult(marked)
		r.Messages = append(r.Messages, result)
	case "assistant tool_use":
		call := llm.Call{ID: get[string](r, o, "id"), Name: get[string](r, o, "name"), Arguments: input}
		r.refuse(call.ID == "" || call.Name == "" || !strings.HasPrefix(input, "{"), "a tool_use block wants an id, a name and an object as input")
		m.call(call, marked)
	case "assistant thinking", "assistant redacted_thinking":
		thought := get[string](r, o, "thinking")
		r.refuse(kind == "thinking" && get[string](r, o, "signature") != signature(thought), "invalid `signature` in `thinking` block")
		m.think(thought+get[string](r, o, "data"), json.RawMessage(encode(o)))
	default:
		r.fail("type: a message of the %s has no %s", m.Role, kind)
	}
}

// result reads the content of a tool_result: "a string … or a list of nested content blocks …: text, image, document"
// (https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use). Cairn sends the first two.
func (r *reader) result(m *Message, content json.RawMessage) {
	if len(content) == 0 || content[0] != '[' {
		m.say(get[string](r, object{"content": content}, "content"), false)
		return
	}
	inside := Message{Role: llm.RoleUser}
	for _, block := range get[[]object](r, object{"content": content}, "content") {
		kind := get[string](r, block, "type")
		r.refuse(kind != "text" && kind != "image", "tool_result: %q is no type of a nested block", kind)
		r.block(&inside, block)
	}
	m.say(strings.Join(inside.Parts, "\n"), false)
	m.Images = inside.Images
}

// Prefixes of model names: which options those models do not support.
var (
	withoutEnabled  = []string{"claude-opus-4-7", "claude-opus-4-8", "claude-opus-5", "claude-sonnet-5", "claude-haiku-5", "claude-fable", "claude-mythos"}
	withoutForced   = []string{"claude-opus-5-5", "claude-fable-5-1"}
	withoutAdaptive = []string{"claude-haiku-4", "claude-sonnet-4-5", "claude-opus-4-5"}
	withoutDisabled = []string{"claude-fable", "claude-mythos"}
)

// checkOptions checks the fields other than messages and tools.
func (r *reader) checkOptions(b messagesOptions) {
	is := func(prefixes []string) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(r.Model, prefix) })
	}
	kind := b.Thinking.Type
	thinks := kind != "" && kind != "disabled"
	forced := b.ToolChoice != nil && (b.ToolChoice.Type == "tool" || b.ToolChoice.Type == "any")
	r.refuse(b.MaxTokens < 1, "max_tokens: Field required")
	r.refuse(b.ToolChoice != nil && !slices.Contains([]string{"auto", "any", "tool", "none"}, b.ToolChoice.Type), "tool_choice: unknown type")
	r.refuse(forced && thinks, "thinking may not be enabled when tool_choice forces tool use")
	r.refuse(forced && is(withoutForced), "tool_choice: type tool is not supported for this model")
	r.refuse(b.Output != nil && is(withoutAdaptive), "this model does not support the effort parameter")
	r.refuse(b.Output != nil && !slices.Contains([]string{"low", "medium", "high", "xhigh", "max"}, b.Output.Effort),
		"output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
	r.refuse(!slices.Contains([]string{"", "adaptive", "enabled", "disabled"}, kind), "thinking.type: unknown value")
	r.refuse(kind == "adaptive" && is(withoutAdaptive), "adaptive thinking is not supported on this model")
	r.refuse(kind == "enabled" && (b.Thinking.Budget < 1024 || b.Thinking.Budget >= b.MaxTokens),
		"`max_tokens` must be greater than `thinking.budget_tokens`, which must be at least 1024")
	r.refuse(kind == "enabled" && is(withoutEnabled),
		"thinking.type.enabled is not supported for this model. Use thinking.type.adaptive and output_config.effort")
	r.refuse(kind == "disabled" && is(withoutDisabled), "thinking.type.disabled is not supported for this model")
}

// refuseMessages returns the body of an error; the code is mapped to one of the provider's types.
func refuseMessages(code, message string) string {
	kind := code
	switch {
	case code == "context_length_exceeded":
		kind = "invalid_request_error"
	case !strings.HasSuffix(code, "_error") && code != "request_too_large":
		kind = "api_error"
	}
	return encode(map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}})
}

var messagesEvents = events{
	begin: `message_start "message":{"id":"msg_{N}","type":"message","role":"assistant","model":{model},"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":{uncached},"cache_creation_input_tokens":{written},"cache_read_input_tokens":{cached},"output_tokens":1}}
		ping`,
	open:  `content_block_start "index":{index},"content_block":{"type":"text","text":""}`,
	piece: `content_block_delta "index":{index},"delta":{"type":"text_delta","text":{text}}`,
	close: `content_block_stop "index":{index}`,
	think: `content_block_start "index":{index},"content_block":{"type":"thinking","thinking":"","signature":""}
		content_block_delta "index":{index},"delta":{"type":"thinking_delta","thinking":{first}}
		content_block_delta "index":{index},"delta":{"type":"thinking_delta","thinking":{second}}
		content_block_delta "index":{index},"delta":{"type":"signature_delta","signature":{signature}}
		content_block_stop "index":{index}`,
	call: `content_block_start "index":{index},"content_block":{"type":"tool_use","id":{id},"name":{name},"input":{}}
		content_block_delta "index":{index},"delta":{"type":"input_json_delta","partial_json":""}
		content_block_delta "index":{index},"delta":{"type":"input_json_delta","partial_json":{first}}
		content_block_delta "index":{index},"delta":{"type":"input_json_delta","partial_json":{second}}
		content_block_stop "index":{index}`,
	finish: `message_delta "delta":{"stop_reason":{reason},"stop_sequence":null},"usage":{"output_tokens":{output}}`,
	done:   `message_stop`,
	fail:   `error "error":{"type":"api_error","message":{text}}`,
	reason: func(reason string) []string {
		known := map[string]string{llm.FinishStop: "end_turn", llm.FinishLength: "max_tokens", llm.FinishToolCalls: "tool_use", llm.FinishFilter: "refusal"}
		return []string{"{reason}", encode(cmp.Or(known[reason], reason))}
	},
}
