// A request as the doubles show it on every wire.

package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"cairn/llm"
)

// Request is a request as it came, shown alike on every wire.
type Request struct {
	Wire      string // one of llm's Wire constants
	Model     string
	Messages  []Message // the system prompt is the first, wherever the wire puts it
	Tools     []Tool
	Forced    string // the tool that must be called
	MaxTokens int

	Body   map[string]json.RawMessage // all of it
	Raw    []byte                     // all of it, as it came
	Header http.Header

	usage bool // the answer says what was counted
}

// Message is one of a request's messages.
type Message struct {
	Role       llm.Role
	Content    *string     // nil: the field was missing or null; of parts, their text
	Parts      []string    // the texts of the parts; one for a string
	Images     []llm.Image // of parts: type and data
	ToolCallID string
	ToolCalls  []llm.Call

	Reasoning []json.RawMessage          // on Responses and Messages: the items or blocks of reasoning
	Body      map[string]json.RawMessage // all of it; nil for an assistant's on Responses

	pieces []part // what providers cache and count of it
}

// Tool is one of a request's tools.
type Tool struct {
	Type     string
	Function struct {
		Name, Description string
		Parameters        json.RawMessage
	}
}

// Text is the content, empty when there is none.
func (m Message) Text() string {
	if m.Content == nil {
		return ""
	}
	return *m.Content
}

// say adds a part of the text.
func (m *Message) say(text string, marked bool) {
	m.Parts = append(m.Parts, text)
	whole := strings.Join(m.Parts, "\n")
	m.Content = &whole
	m.pieces = append(m.pieces, part{role: string(m.Role), text: text, marked: marked})
}

// think adds reasoning; raw is nil where it is a field of the message.
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
