// Messages: the blocks of a request.

package llmtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cairn/llm"
)

// blockReader makes messages of blocks.
type blockReader struct {
	request *Request
	marks   int // blocks with cache_control
}

// blockFields are the fields of the blocks by type.
var blockFields = map[string][]string{
	"text":              {"type", "text", "cache_control"},
	"image":             {"type", "source", "cache_control"},
	"tool_use":          {"type", "id", "name", "input", "cache_control"},
	"tool_result":       {"type", "tool_use_id", "content", "is_error", "cache_control"},
	"thinking":          {"type", "thinking", "signature"},
	"redacted_thinking": {"type", "data"},
}

// messageBlock is what is read of a block.
type messageBlock struct {
	Type      string
	Text      string
	ID        string
	Name      string
	Input     json.RawMessage
	ToolUseID string `json:"tool_use_id"`
	Content   json.RawMessage
	Thinking  string
	Signature string
	Source    struct {
		Type, Data string
		MediaType  string `json:"media_type"`
	}
	fields map[string]json.RawMessage
}

// signature is what the double puts under a thinking text, and wants back under it.
func signature(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func (r *blockReader) mark(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var control struct{ Type, TTL string }
	if json.Unmarshal(raw, &control) != nil || control.Type != "ephemeral" || !slices.Contains([]string{"", "5m", "1h"}, control.TTL) {
		return fmt.Errorf("cache_control: %s is none", raw)
	}
	r.marks++
	return nil
}

func (r *blockReader) readTools(tools []map[string]json.RawMessage) error {
	for i, fields := range tools {
		where := fmt.Sprintf("tools.%d.", i)
		if err := errors.Join(unknownField(fields, where, []string{"name", "description", "input_schema", "cache_control"}), r.mark(fields["cache_control"])); err != nil {
			return err
		}
		tool := Tool{Type: "function"}
		tool.Function.Parameters = fields["input_schema"]
		_ = json.Unmarshal(fields["name"], &tool.Function.Name) // checkTools wants a name
		_ = json.Unmarshal(fields["description"], &tool.Function.Description)
		r.request.Tools = append(r.request.Tools, tool)
	}
	return nil
}

func (r *blockReader) readSystem(blocks []map[string]json.RawMessage) error {
	if len(blocks) == 0 {
		return nil
	}
	m := Message{Role: llm.RoleSystem}
	for i, fields := range blocks {
		b, err := r.read(fields)
		switch {
		case err != nil:
			return fmt.Errorf("system.%d: %w", i, err)
		case b.Type != "text":
			return fmt.Errorf("system.%d: type %s", i, b.Type)
		}
		m.Parts = append(m.Parts, b.Text)
	}
	r.append(m)
	return nil
}

// read checks one block by itself.
func (r *blockReader) read(fields map[string]json.RawMessage) (messageBlock, error) {
	raw, err := json.Marshal(fields)
	if err != nil {
		return messageBlock{}, err
	}
	b := messageBlock{fields: fields}
	if err := json.Unmarshal(raw, &b); err != nil {
		return b, err
	}
	known, ok := blockFields[b.Type]
	if !ok {
		return b, fmt.Errorf("type: %q is no type of a block", b.Type)
	}
	if err := errors.Join(unknownField(fields, "", known), r.mark(fields["cache_control"])); err != nil {
		return b, err
	}
	switch {
	case b.Type == "text" && strings.TrimSpace(b.Text) == "":
		return b, errors.New("text content blocks must contain non-whitespace text")
	case b.Type == "thinking" && b.Signature != signature(b.Thinking):
		return b, errors.New("invalid `signature` in `thinking` block")
	case b.Type == "tool_use" && (b.ID == "" || b.Name == "" || len(b.Input) == 0 || b.Input[0] != '{'):
		return b, errors.New("a tool_use block wants an id, a name and an object as input")
	}
	return b, nil
}

// readMessage makes the messages of one message's blocks: a result of a tool is one of its own.
func (r *blockReader) readMessage(role llm.Role, content json.RawMessage) error {
	var blocks []map[string]json.RawMessage
	if json.Unmarshal(content, &blocks) != nil || len(blocks) == 0 {
		return errors.New("content: want a list of blocks that is not empty")
	}
	m := Message{Role: role, Body: map[string]json.RawMessage{"content": content}}
	for i, fields := range blocks {
		b, err := r.read(fields)
		if err == nil && role == llm.RoleUser {
			err = r.addUser(&m, b)
		} else if err == nil {
			err = addAssistant(&m, b)
		}
		if err != nil {
			return fmt.Errorf("content.%d: %w", i, err)
		}
	}
	if role == llm.RoleAssistant || len(m.Parts) > 0 || len(m.Images) > 0 {
		r.append(m)
	}
	return nil
}

func (r *blockReader) addUser(m *Message, b messageBlock) error {
	switch b.Type {
	case "text":
		m.Parts = append(m.Parts, b.Text)
	case "image":
		if b.Source.Type != "base64" {
			return fmt.Errorf("source.type: %q", b.Source.Type)
		}
		image, err := readDataURL("data:" + b.Source.MediaType + ";base64," + b.Source.Data)
		if err != nil {
			return err
		}
		m.Images = append(m.Images, image)
	case "tool_result":
		if len(m.Parts) > 0 || len(m.Images) > 0 {
			return errors.New("tool_result blocks must come before other content")
		}
		result := Message{Role: llm.RoleTool, ToolCallID: b.ToolUseID, Body: b.fields}
		var text string
		if len(b.Content) > 0 && json.Unmarshal(b.Content, &text) != nil {
			return errors.New("content: want a string")
		}
		result.Parts = []string{text}
		r.append(result)
	default:
		return fmt.Errorf("type: a user has no %s", b.Type)
	}
	return nil
}

func addAssistant(m *Message, b messageBlock) error {
	switch b.Type {
	case "text":
		m.Parts = append(m.Parts, b.Text)
	case "tool_use":
		var call ToolCall
		arguments := string(b.Input)
		call.ID, call.Type, call.Function.Name, call.Function.Arguments = b.ID, "function", b.Name, &arguments
		m.ToolCalls = append(m.ToolCalls, call)
	case "thinking", "redacted_thinking":
		raw, err := json.Marshal(b.fields)
		if err != nil {
			return err
		}
		m.Reasoning = append(m.Reasoning, raw)
	default:
		return fmt.Errorf("type: an assistant has no %s", b.Type)
	}
	return nil
}

// append adds a message with its parts as content.
func (r *blockReader) append(m Message) {
	whole := strings.Join(m.Parts, "\n")
	m.Content = &whole
	r.request.Messages = append(r.request.Messages, m)
}
