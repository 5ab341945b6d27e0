// One request to the server, in a form that is the same for all wires, and the methods with which a
// script responds, correctly or not.

package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"cairn/internal/loopback"
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

// Marked returns the texts of the parts of the prompt that a cache mark or breakpoint follows.
func (r Request) Marked() (texts []string) {
	for _, p := range layout(r, true) {
		if p.marked {
			texts = append(texts, p.text)
		}
	}
	return texts
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

// Exchange is one request, and the methods with which a script responds on the request's wire.
// Writes never fail, because the client may have disconnected.
type Exchange struct {
	N       int // number of the request, from 1; rejected ones count too
	Request Request
	Counted llm.Usage // the reported usage; zero: Request.Tokens and 7

	writer  http.ResponseWriter
	http    *http.Request
	dialect dialect
	visit   *visit
	out     *writer // nil until the response starts
}

// Say streams a complete response in pieces.
func (x *Exchange) Say(pieces ...string) {
	for _, piece := range pieces {
		x.Piece(piece)
	}
	x.Finish(llm.FinishStop)
	x.Done()
}

// Use streams a complete response that calls one tool.
func (x *Exchange) Use(id, tool, arguments string) {
	x.UseAll(llm.Call{ID: id, Name: tool, Arguments: arguments})
}

// UseAll streams a complete response that calls several tools, with the arguments of each in two
// pieces.
func (x *Exchange) UseAll(calls ...llm.Call) {
	x.answer().calls(calls...)
	x.visit.called = append(x.visit.called, calls...)
	x.Finish(llm.FinishToolCalls)
	x.Done()
}

// Piece streams a piece of text.
func (x *Exchange) Piece(text string) {
	x.answer().piece(text)
	x.visit.text.WriteString(text)
}

// Think streams reasoning; it must precede text and calls.
func (x *Exchange) Think(text string) {
	x.answer().think(text)
	x.visit.thought.WriteString(text)
}

// Finish streams the finish reason, and the usage if the request asks for it.
func (x *Exchange) Finish(reason string) { x.answer().finish(reason) }

// Done ends the stream as the wire requires.
func (x *Exchange) Done() {
	x.visit.end() // first, because the client may send its next request immediately
	x.answer().done()
}

// Fail streams a server error in the middle of the response.
func (x *Exchange) Fail(message string) {
	w := x.answer()
	w.emit(w.events.fail, "{text}", encode(message))
}

func (x *Exchange) answer() *writer {
	if x.out != nil {
		return x.out
	}
	x.out = &writer{events: x.dialect.events, x: x}
	x.out.emit(x.dialect.events.begin)
	if p := x.visit.profile; p != nil && p.Thought != "" && p.thinks != nil && p.thinks(x.Request) {
		x.Think(p.Thought)
	}
	return x.out
}

// Usage returns the usage that the response reports, so far.
func (x *Exchange) Usage() llm.Usage {
	switch {
	case x.Counted != llm.Usage{}:
		return x.Counted
	case x.visit.profile != nil:
		return x.visit.counted()
	}
	return llm.Usage{Prompt: x.Request.Tokens(), Completion: 7}
}

// Chunk streams one unnamed event, with JSON formatted as by fmt.Sprintf.
func (x *Exchange) Chunk(format string, args ...any) {
	x.Write("data: " + fmt.Sprintf(format, args...) + "\n\n")
}

// Event streams one named event, with JSON formatted as by fmt.Sprintf.
func (x *Exchange) Event(name, format string, args ...any) {
	x.Write("event: " + name + "\ndata: " + fmt.Sprintf(format, args...) + "\n\n")
}

// Write immediately sends text, unchanged, as part of an event stream.
func (x *Exchange) Write(text string) {
	if x.Header().Get("Content-Type") == "" {
		x.Header().Set("Content-Type", "text/event-stream")
	}
	_, _ = io.WriteString(x.writer, text)
	x.writer.(http.Flusher).Flush()
}

// Refuse responds with a status and a body. retryAfter is the header; "" for none.
func (x *Exchange) Refuse(status int, retryAfter, body string) {
	if retryAfter != "" {
		x.writer.Header().Set("Retry-After", retryAfter)
	}
	if strings.HasPrefix(body, "{") || strings.HasPrefix(body, "[") {
		x.writer.Header().Set("Content-Type", "application/json")
	}
	x.writer.WriteHeader(status)
	_, _ = io.WriteString(x.writer, body)
}

// Reject responds with a status and an error in the wire's format.
func (x *Exchange) Reject(status int, code, message string) {
	x.Refuse(status, "", x.dialect.refusal(code, message))
}

// Differs describes where the request differs from the previous one with the same model and cache
// key, or system prompt if there is no key; "" if it extends it. Roles and parts are compared,
// without reasoning.
func (x *Exchange) Differs() string { return x.visit.differs }

// Wait waits, at most until the client disconnects, and reports whether it is still connected.
func (x *Exchange) Wait(d time.Duration) bool {
	return loopback.Sleep(x.http.Context(), nil, d) && x.http.Context().Err() == nil
}

// Cut closes the connection in the middle of the stream.
func (x *Exchange) Cut() { panic(http.ErrAbortHandler) }

// Reset closes the connection with a TCP reset.
func (x *Exchange) Reset() {
	connection, _, err := http.NewResponseController(x.writer).Hijack()
	if err != nil {
		panic(err)
	}
	_ = connection.(*net.TCPConn).SetLinger(0) // makes Close send a reset
	_ = connection.Close()
}

// Header returns the header of the response; changes apply until something is sent.
func (x *Exchange) Header() http.Header { return x.writer.Header() }
