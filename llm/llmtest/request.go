// Request is the common form of requests on all wires.

package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"cairn/llm"
)

// Request is a request, in a form that is the same for all wires.
type Request struct {
	Wire      string // one of llm's Wire constants
	Model     string
	Messages  []Message // the system prompt comes first, wherever the wire puts it
	Tools     []Tool
	Forced    string // the tool that must be called; "": none
	MaxTokens int

	Body   map[string]json.RawMessage // the whole request
	Raw    []byte                     // the whole request, as received
	Header http.Header

	usage bool // the response must report the usage
}

// Message is one of a request's messages.
type Message struct {
	Role       llm.Role
	Content    *string     // nil: missing or null; if there are parts, their joined text
	Parts      []string    // texts of the parts; a single one for a string
	Images     []llm.Image // from the parts: type and data
	ToolCallID string
	ToolCalls  []llm.Call

	Reasoning []json.RawMessage          // Responses and Messages: the reasoning items or blocks
	Body      map[string]json.RawMessage // all fields; nil for assistant messages on Responses

	pieces []part // parts for caching and counting
}

// Tool is one of a request's tools.
type Tool struct {
	Type     string
	Function struct {
		Name, Description string
		Parameters        json.RawMessage
	}
}

// Text returns the content; "" if there is none.
func (m Message) Text() string {
	if m.Content == nil {
		return ""
	}
	return *m.Content
}

// say adds a text part.
func (m *Message) say(text string, marked bool) {
	m.Parts = append(m.Parts, text)
	whole := strings.Join(m.Parts, "\n")
	m.Content = &whole
	m.pieces = append(m.pieces, part{role: string(m.Role), text: text, marked: marked})
}

// think adds reasoning; raw is nil if it is a field of the message.
func (m *Message) think(text string, raw json.RawMessage) {
	if raw != nil {
		m.Reasoning = append(m.Reasoning, raw)
	}
	if text != "" {
		m.pieces = append(m.pieces, part{role: "assistant", text: text, reasoning: true})
	}
}

func (m *Message) call(call llm.Call, marked bool) {
	m.ToolCalls = append(m.ToolCalls, call)
	m.pieces = append(m.pieces, callPart(call, marked))
}

// Last returns the last message; the zero Message if there is none.
func (r Request) Last() Message {
	if len(r.Messages) == 0 {
		return Message{}
	}
	return r.Messages[len(r.Messages)-1]
}

// Tokens estimates the size of messages and tools: one token per four bytes of JSON, and
// imageTokens per picture.
func (r Request) Tokens() int {
	size, images := 0, 0
	for _, name := range []string{"messages", "input", "system", "instructions", "tools"} {
		size += len(r.Body[name])
	}
	for _, m := range r.Messages {
		for _, image := range m.Images {
			size -= base64.StdEncoding.EncodedLen(len(image.Data))
			images++
		}
	}
	return size/4 + images*imageTokens
}
