// One request to the server, and the methods with which a script responds, correctly or not.

package llmtest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"cairn/llm"
)

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
	out     writer // nil until the response starts
	started bool
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
func (x *Exchange) Fail(message string) { x.answer().fail(message) }

func (x *Exchange) answer() writer {
	if x.out != nil {
		return x.out
	}
	x.out = x.dialect.answer(x)
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
	if !x.started {
		x.started = true
		if x.writer.Header().Get("Content-Type") == "" {
			x.writer.Header().Set("Content-Type", "text/event-stream")
		}
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
	return wait(x.http.Context(), d) == nil
}

// Cut closes the connection in the middle of the stream.
func (x *Exchange) Cut() { panic(http.ErrAbortHandler) }

// Reset closes the connection with a TCP reset.
func (x *Exchange) Reset() {
	connection, _, err := http.NewResponseController(x.writer).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // makes Close send a reset
	}
	_ = connection.Close()
}

// Header returns the header of the response; changes apply until something is sent.
func (x *Exchange) Header() http.Header { return x.writer.Header() }
