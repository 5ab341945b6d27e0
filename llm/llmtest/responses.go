// Responses: what a strict provider accepts.

package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cairn/llm"
)

type responsesDialect struct{}

var _ dialect = responsesDialect{}

var responsesFields = []string{
	"model", "input", "instructions", "tools", "tool_choice", "max_output_tokens", "stream", "store", "include", "temperature",
	"top_p", "reasoning", "parallel_tool_calls", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options",
	"text", "truncation", "user", "safety_identifier", "service_tier", "metadata",
}

// responsesBody are the fields of a request that are checked or shown in a Request.
type responsesBody struct {
	Model        string
	Instructions *string
	Input        []map[string]json.RawMessage
	Tools        []struct {
		Type        string
		Name        string
		Description string
		Parameters  json.RawMessage
		Strict      *bool
	}
	ToolChoice json.RawMessage `json:"tool_choice"`
	MaxTokens  *int            `json:"max_output_tokens"`
	Stream     bool
	Store      *bool
	Include    []string
	CacheKey   string                      `json:"prompt_cache_key"`
	Retention  string                      `json:"prompt_cache_retention"`
	Options    *struct{ Mode, TTL string } `json:"prompt_cache_options"`
}

func (responsesDialect) parse(body []byte) (Request, error) {
	r := Request{Wire: llm.WireResponses}
	var b responsesBody
	if err := errors.Join(json.Unmarshal(body, &b), json.Unmarshal(body, &r.Body)); err != nil {
		return r, fmt.Errorf("the body is not what the protocol says: %w", err)
	}
	r.Model, r.Stream, r.StreamOptions.IncludeUsage = b.Model, b.Stream, true
	r.size = len(r.Body["input"]) + len(r.Body["instructions"]) + len(r.Body["tools"])
	if b.MaxTokens != nil {
		r.MaxTokens = *b.MaxTokens
	}
	if err := errors.Join(unknownField(r.Body, "", responsesFields), b.check()); err != nil {
		return r, err
	}
	for _, t := range b.Tools {
		tool := Tool{Type: t.Type}
		tool.Function.Name, tool.Function.Description, tool.Function.Parameters = t.Name, t.Description, t.Parameters
		r.Tools = append(r.Tools, tool)
	}
	if err := checkTools(r.Tools); err != nil {
		return r, err
	}
	var choice struct{ Type, Name string }
	// A word as "auto" forces no tool.
	if json.Unmarshal(b.ToolChoice, &choice) == nil {
		if choice.Type != "function" || choice.Name == "" {
			return r, fmt.Errorf("tool_choice %s is no function with a name", b.ToolChoice)
		}
		r.Forced = choice.Name
	}
	if err := checkForced(r); err != nil {
		return r, err
	}
	if b.Instructions != nil {
		r.Messages = append(r.Messages, Message{Role: llm.RoleSystem, Content: b.Instructions, Parts: []string{*b.Instructions}})
	}
	reader := itemReader{messages: r.Messages, stored: b.Store == nil || *b.Store}
	for i, item := range b.Input {
		if err := reader.add(item); err != nil {
			return r, fmt.Errorf("input[%d]: %w", i, err)
		}
	}
	r.Messages = reader.messages
	if reader.reasoned {
		return r, errors.New("a reasoning item was provided without its required following item")
	}
	return r, checkMessages(r.Messages)
}

// check is about the fields beside messages and tools.
func (b responsesBody) check() error {
	switch {
	case b.Model == "":
		return errors.New("model is missing")
	case b.Input == nil:
		return errors.New("input is missing")
	case b.MaxTokens != nil && *b.MaxTokens < 16:
		return fmt.Errorf("max_output_tokens is %d: expected a value >= 16", *b.MaxTokens)
	case len(b.CacheKey) > 64:
		return errors.New("prompt_cache_key is longer than 64 characters")
	case b.Retention != "" && b.Options != nil && b.Options.TTL != "":
		return errors.New("prompt_cache_retention and prompt_cache_options.ttl exclude each other")
	}
	for i, t := range b.Tools {
		if t.Strict == nil || *t.Strict {
			return fmt.Errorf("tools[%d]: a strict schema needs additionalProperties false and all properties required", i)
		}
	}
	if slices.Contains(b.Include, "reasoning.encrypted_content") && (b.Store == nil || *b.Store) {
		return errors.New("encrypted reasoning is for requests with store false")
	}
	return nil
}

// itemReader makes messages of input items.
type itemReader struct {
	messages []Message
	stored   bool // items may be referred to by id
	reasoned bool // the last item was reasoning, which wants an item behind it
}

var itemFields = map[string][]string{
	"message":              {"type", "role", "content", "id", "status", "phase"},
	"function_call":        {"type", "call_id", "name", "arguments", "id", "status"},
	"function_call_output": {"type", "call_id", "output", "id", "status"},
	"reasoning":            {"type", "id", "summary", "encrypted_content", "content", "status"},
}

func (r *itemReader) add(item map[string]json.RawMessage) error {
	var it struct {
		Type, Role, Name, ID string
		CallID               string `json:"call_id"`
		Arguments            *string
		Encrypted            string `json:"encrypted_content"`
	}
	raw, err := json.Marshal(item)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &it); err != nil {
		return err
	}
	if it.Type == "" {
		it.Type = "message"
	}
	fields, known := itemFields[it.Type]
	if !known {
		return fmt.Errorf("unknown type %q", it.Type)
	}
	if err := unknownField(item, "", fields); err != nil {
		return err
	}
	byAssistant := it.Type == "reasoning" || it.Type == "function_call" || it.Role == string(llm.RoleAssistant)
	if r.reasoned && !byAssistant {
		return errors.New("the reasoning item before it was provided without its required following item")
	}
	r.reasoned = it.Type == "reasoning"
	switch it.Type {
	case "reasoning":
		if it.Encrypted == "" && !r.stored {
			return fmt.Errorf("the item %q was not found: items are not persisted when store is false", it.ID)
		}
		m := r.assistant()
		m.Reasoning = append(m.Reasoning, raw)
	case "function_call":
		m := r.assistant()
		var call ToolCall
		call.ID, call.Type, call.Function.Name, call.Function.Arguments = it.CallID, "function", it.Name, it.Arguments
		m.ToolCalls = append(m.ToolCalls, call)
	case "function_call_output":
		m := Message{Role: llm.RoleTool, ToolCallID: it.CallID, Body: item}
		if err := m.readParts(item["output"], "input_text", "input_image"); err != nil {
			return err
		}
		r.messages = append(r.messages, m)
	default:
		return r.addMessage(llm.Role(it.Role), item)
	}
	return nil
}

func (r *itemReader) addMessage(role llm.Role, item map[string]json.RawMessage) error {
	if role == llm.RoleAssistant {
		m := r.assistant()
		if len(m.ToolCalls) > 0 {
			return errors.New("text of an assistant behind its calls")
		}
		texts, _, err := readParts(item["content"], "output_text", "")
		m.Parts = append(m.Parts, texts...)
		*m.Content = strings.Join(m.Parts, "\n")
		return err
	}
	m := Message{Role: role, Body: item}
	if err := m.readParts(item["content"], "input_text", "input_image"); err != nil {
		return err
	}
	r.messages = append(r.messages, m)
	return nil
}

// assistant is the running message of the assistant, which may be of several items.
func (r *itemReader) assistant() *Message {
	last := len(r.messages) - 1
	if last < 0 || r.messages[last].Role != llm.RoleAssistant {
		empty := ""
		r.messages = append(r.messages, Message{Role: llm.RoleAssistant, Content: &empty})
		last++
	}
	return &r.messages[last]
}
