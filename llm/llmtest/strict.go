// A request as the doubles show it on every wire, and what strict providers demand of it.

package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"cairn/llm"
)

// Request is a request as it came, shown alike on every wire.
type Request struct {
	Wire                string    `json:"-"` // one of llm's Wire constants
	Model               string    `json:"model"`
	Messages            []Message `json:"messages"` // the system prompt is the first, wherever the wire puts it
	Tools               []Tool    `json:"tools"`
	Forced              string    `json:"-"` // the tool that must be called
	MaxTokens           int       `json:"max_tokens"`
	MaxCompletionTokens int       `json:"max_completion_tokens"`
	Stream              bool      `json:"stream"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`

	Body   map[string]json.RawMessage `json:"-"` // all of it
	Raw    []byte                     `json:"-"` // all of it, as it came
	Header http.Header                `json:"-"`

	size int // bytes of messages and tools
}

// Message is one of a request's messages.
type Message struct {
	Role       llm.Role    `json:"role"`
	Content    *string     `json:"-"` // nil: the field was missing or null; of parts, their text
	Parts      []string    `json:"-"` // the texts of the parts; one for a string
	Images     []llm.Image `json:"-"` // of parts: type and data
	ToolCallID string      `json:"tool_call_id"`
	ToolCalls  []ToolCall  `json:"tool_calls"`

	Reasoning []json.RawMessage          `json:"-"` // on Responses and Messages: the items or blocks of reasoning
	Body      map[string]json.RawMessage `json:"-"` // all of it; nil for an assistant's on Responses
}

// ToolCall is a call in a message of the assistant.
type ToolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string  `json:"name"`
		Arguments *string `json:"arguments"`
	} `json:"function"`
}

// Text is the content, empty when there is none.
func (m Message) Text() string {
	if m.Content == nil {
		return ""
	}
	return *m.Content
}

// UnmarshalJSON keeps the whole message beside the fields that are known.
func (m *Message) UnmarshalJSON(raw []byte) error {
	type plain Message // without this method
	if err := json.Unmarshal(raw, (*plain)(m)); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &m.Body); err != nil {
		return err
	}
	return m.readParts(m.Body["content"], "text", "image_url")
}

// Tool is one of a request's tools.
type Tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// Last is the last message; the zero Message when there is none.
func (r Request) Last() Message {
	if len(r.Messages) == 0 {
		return Message{}
	}
	return r.Messages[len(r.Messages)-1]
}

// Tokens estimates what messages and tools cost: a token for four bytes of JSON,
// and imageTokens for a picture.
func (r Request) Tokens() int {
	size, images := r.size, 0
	for _, m := range r.Messages {
		for _, image := range m.Images {
			size -= base64.StdEncoding.EncodedLen(len(image.Data))
			images++
		}
	}
	return size/4 + images*imageTokens
}

func checkTools(tools []Tool) error {
	seen := map[string]bool{}
	for i, tool := range tools {
		name := tool.Function.Name
		var schema struct{ Type string }
		switch {
		case tool.Type != "function" || name == "":
			return fmt.Errorf("tools[%d] is no function with a name", i)
		case seen[name]:
			return fmt.Errorf("tools[%d]: there are two named %s", i, name)
		case json.Unmarshal(tool.Function.Parameters, &schema) != nil || schema.Type != "object":
			return fmt.Errorf("tools[%d]: the parameters of %s are no schema of an object: %s", i, name, tool.Function.Parameters)
		}
		seen[name] = true
	}
	return nil
}

// checkForced wants the tool that must be called to be there.
func checkForced(r Request) error {
	if r.Forced != "" && !slices.ContainsFunc(r.Tools, func(t Tool) bool { return t.Function.Name == r.Forced }) {
		return fmt.Errorf("tool_choice: there is no tool %s", r.Forced)
	}
	return nil
}

// checkMessages walks through the conversation, owed holding the calls that still
// want their result.
func checkMessages(messages []Message) error {
	owed := map[string]bool{}
	for i, m := range messages {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("messages[%d] (%s): %s", i, m.Role, fmt.Sprintf(format, args...))
		}
		if m.Content == nil {
			return fail("content is missing")
		}
		if len(m.Images) > 0 && m.Role != llm.RoleUser {
			return fail("only a user may show pictures")
		}
		if m.Role != llm.RoleTool && len(owed) > 0 {
			return fail("%d calls before it have no result", len(owed))
		}
		switch m.Role {
		case llm.RoleSystem:
			if i > 0 {
				return fail("only the first message may be of the system")
			}
			if *m.Content == "" {
				return fail("it is empty")
			}
		case llm.RoleUser:
			if *m.Content == "" && len(m.Images) == 0 {
				return fail("it is empty")
			}
			if i > 0 && messages[i-1].Role == llm.RoleUser {
				return fail("two in a row")
			}
		case llm.RoleAssistant:
			if *m.Content == "" && len(m.ToolCalls) == 0 {
				return fail("it is empty")
			}
			if i == 0 || messages[i-1].Role == llm.RoleSystem || messages[i-1].Role == llm.RoleAssistant {
				return fail("roles must alternate user and assistant, the user first")
			}
			for _, call := range m.ToolCalls {
				if call.ID == "" || owed[call.ID] {
					return fail("the id %q of a call is missing or there twice", call.ID)
				}
				if call.Type != "function" || call.Function.Name == "" || call.Function.Arguments == nil ||
					!json.Valid([]byte(*call.Function.Arguments)) {
					return fail("the call %s is no function with a name and JSON arguments", call.ID)
				}
				owed[call.ID] = true
			}
		case llm.RoleTool:
			if !owed[m.ToolCallID] {
				return fail("no call before it has the id %q, or it was answered", m.ToolCallID)
			}
			delete(owed, m.ToolCallID)
		default:
			return fail("there is no such role")
		}
	}
	if len(messages) == 0 {
		return errors.New("messages is empty")
	}
	if last := messages[len(messages)-1].Role; last != llm.RoleUser && last != llm.RoleTool {
		return fmt.Errorf("the last message is of the %s: there is nothing to answer", last)
	}
	return nil
}
