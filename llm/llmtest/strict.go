// What a strict provider demands of a chat request.

package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"cairn/llm"
)

// Request is a chat request as it came.
type Request struct {
	Model         string    `json:"model"`
	Messages      []Message `json:"messages"`
	Tools         []Tool    `json:"tools"`
	MaxTokens     int       `json:"max_tokens"`
	Stream        bool      `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`

	Body   map[string]json.RawMessage `json:"-"` // all of it
	Header http.Header                `json:"-"`
}

// Message is one of a request's messages.
type Message struct {
	Role       llm.Role    `json:"role"`
	Content    *string     `json:"-"` // nil: the field was missing or null; of parts, their text
	Images     []llm.Image `json:"-"` // of parts: type and data
	ToolCallID string      `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string  `json:"name"`
			Arguments *string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`

	Body map[string]json.RawMessage `json:"-"` // all of it
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
	return m.readContent(m.Body["content"])
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
	size, images := len(r.Body["messages"])+len(r.Body["tools"]), 0
	for _, m := range r.Messages {
		for _, image := range m.Images {
			size -= base64.StdEncoding.EncodedLen(len(image.Data))
			images++
		}
	}
	return size/4 + images*imageTokens
}

// parseRequest reads a request, as far as it can, and says what is wrong with it.
func parseRequest(body []byte) (Request, error) {
	var r Request
	if err := errors.Join(json.Unmarshal(body, &r), json.Unmarshal(body, &r.Body)); err != nil {
		return r, fmt.Errorf("the body is not what the protocol says: %w", err)
	}
	if r.Model == "" {
		return r, errors.New("model is missing")
	}
	if err := checkTools(r.Tools); err != nil {
		return r, err
	}
	return r, checkMessages(r.Messages)
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
