// One request to the server, and the script's means to answer it, well or badly.

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

// Exchange is one request and the script's means to answer it on the wire it came on.
// A method that writes cannot fail the script: the client may have left.
type Exchange struct {
	N       int // of the request, from 1, refused ones counted
	Request Request
	Counted llm.Usage // what the answer says was counted; the zero value: Request.Tokens and 7

	writer  http.ResponseWriter
	http    *http.Request
	dialect dialect
	visit   *visit
	out     writer // nil until the answer begins
	started bool
}

// Say streams a whole answer in pieces.
func (x *Exchange) Say(pieces ...string) {
	for _, piece := range pieces {
		x.Piece(piece)
	}
	x.Finish(llm.FinishStop)
	x.Done()
}

// Use streams a whole answer that calls one tool.
func (x *Exchange) Use(id, tool, arguments string) {
	x.UseAll(llm.Call{ID: id, Name: tool, Arguments: arguments})
}

// UseAll streams a whole answer that calls several tools, the arguments of each in two
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

// Think streams reasoning, before text and calls.
func (x *Exchange) Think(text string) {
	x.answer().think(text)
	x.visit.thought.WriteString(text)
}

// Finish streams why the answer stopped, and what was counted if the request asks for it.
func (x *Exchange) Finish(reason string) { x.answer().finish(reason) }

// Done ends the stream as the wire demands.
func (x *Exchange) Done() {
	x.visit.end() // first: the client may send its next request at once
	x.answer().done()
}

// Fail streams an error of the server in the middle of the stream.
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

// counted is the usage the answer reports.
func (x *Exchange) counted() llm.Usage {
	if x.Counted == (llm.Usage{}) && x.visit.profile != nil {
		return x.visit.counted()
	}
	if x.Counted == (llm.Usage{}) {
		return llm.Usage{Prompt: x.Request.Tokens(), Completion: 7}
	}
	return x.Counted
}

// Chunk streams one event of data, given as JSON with fmt's verbs.
func (x *Exchange) Chunk(format string, args ...any) {
	x.Write("data: " + fmt.Sprintf(format, args...) + "\n\n")
}

// Event streams one named event, given as JSON with fmt's verbs.
func (x *Exchange) Event(name, format string, args ...any) {
	x.Write("event: " + name + "\ndata: " + fmt.Sprintf(format, args...) + "\n\n")
}

// Write sends text at once, as it is, as a part of an event stream.
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

// Refuse answers with a status and a body. retryAfter is the header, empty for none.
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

// Reject answers with a status and an error in the wire's own form.
func (x *Exchange) Reject(status int, code, message string) {
	x.Refuse(status, "", x.dialect.refusal(code, message))
}

// Usage is what the model's profile has counted of the request, and of the answer as far
// as it was written; the zero value without a profile.
func (x *Exchange) Usage() llm.Usage {
	if x.visit.profile == nil {
		return llm.Usage{}
	}
	return x.visit.counted()
}

// Differs says where the request differs from the one before it of the same model and cache key, or
// system prompt where there is no key; empty if it extends that one. Roles and parts are compared,
// without reasoning.
func (x *Exchange) Differs() string { return x.visit.differs }

// Wait lets time pass, less if the client leaves, and tells whether it is still there.
func (x *Exchange) Wait(d time.Duration) bool {
	return wait(x.http.Context(), d) == nil
}

// Cut ends the connection in the middle of the stream.
func (x *Exchange) Cut() { panic(http.ErrAbortHandler) }

// Reset ends the connection the hard way, with a TCP reset.
func (x *Exchange) Reset() {
	connection, _, err := http.NewResponseController(x.writer).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // makes the close below a reset
	}
	_ = connection.Close()
}

// Header is that of the answer, while none of it was sent.
func (x *Exchange) Header() http.Header { return x.writer.Header() }
