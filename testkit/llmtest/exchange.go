// One request to the server, and the methods with which a script responds, correctly or not: the events of each wire are data.

package llmtest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"cairn/llm"
	"cairn/testkit/loopback"
)

// events are the events of one wire, by what they tell. Each line is one: its name, "-" for none, and the fields of its
// JSON object, with placeholders.
type events struct {
	begin, open, piece, close string // of a response, and of a text
	think                     string // a complete piece of reasoning
	call                      string // a tool call, its arguments in two pieces
	finish, usage, done, fail string // usage: if the request asks for it

	common string                       // fields of every named event
	reason func(reason string) []string // placeholders for a finish reason in llm's terms
}

// Exchange is one request, and the methods with which a script responds on the request's wire. Writes never fail, because
// the client may have disconnected.
type Exchange struct {
	N       int // number of the request, from 1; rejected ones count too
	Request Request
	Counted llm.Usage // the reported usage; zero: Request.Tokens and 7

	server  *Server
	writer  http.ResponseWriter
	http    *http.Request
	dialect dialect

	profile       *Profile // nil: the server has none
	parts         []part   // of the request
	usage         llm.Usage
	differs       string // see Differs
	thought, said strings.Builder
	called        []llm.Call
	done          bool

	started bool
	n       int             // events so far
	index   int             // texts, thoughts and calls so far
	text    strings.Builder // of the open text
	opened  bool            // a text is open
	ended   string          // finish reason
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

// UseAll streams a complete response that calls several tools, with the arguments of each in two pieces.
func (x *Exchange) UseAll(calls ...llm.Call) {
	x.begin()
	x.close()
	for i, call := range calls {
		first, second := halves(call.Arguments)
		x.emit(x.dialect.events.call, "{i}", fmt.Sprint(i), "{id}", encode(call.ID), "{name}", encode(call.Name),
			"{arguments}", encode(call.Arguments), "{first}", encode(first), "{second}", encode(second))
		x.index++
	}
	x.called = append(x.called, calls...)
	x.Finish(llm.FinishToolCalls)
	x.Done()
}

// Piece streams a piece of text.
func (x *Exchange) Piece(text string) {
	x.begin()
	if !x.opened {
		x.opened = true
		x.emit(x.dialect.events.open)
	}
	x.text.WriteString(text)
	x.said.WriteString(text)
	x.emit(x.dialect.events.piece, "{text}", encode(text))
}

// Think streams reasoning; it must precede text and calls.
func (x *Exchange) Think(text string) {
	x.begin()
	x.close()
	first, second := halves(text)
	x.emit(x.dialect.events.think, "{text}", encode(text), "{first}", encode(first), "{second}", encode(second),
		"{signature}", encode(signature(text)), "{encrypted}", encode("encrypted: "+text))
	x.index++
	x.thought.WriteString(text)
}

// Finish streams the finish reason, and the usage if the request asks for it.
func (x *Exchange) Finish(reason string) {
	x.begin()
	x.close()
	x.ended = reason
	x.emit(x.dialect.events.finish, x.dialect.events.reason(reason)...)
	if x.Request.usage {
		x.emit(x.dialect.events.usage)
	}
}

// Done ends the stream as the wire requires.
func (x *Exchange) Done() {
	x.server.remember(x) // first, because the client may send its next request immediately
	x.begin()
	x.emit(x.dialect.events.done, x.dialect.events.reason(x.ended)...)
}

// Fail streams a server error in the middle of the response.
func (x *Exchange) Fail(message string) {
	x.begin()
	x.emit(x.dialect.events.fail, "{text}", encode(message))
}

// begin begins the response, with the reasoning of a model that thinks.
func (x *Exchange) begin() {
	if x.started {
		return
	}
	x.started = true
	x.emit(x.dialect.events.begin)
	if p := x.profile; p != nil && p.Thought != "" && p.thinks(x.Request) {
		x.Think(p.Thought)
	}
}

// close ends an open text.
func (x *Exchange) close() {
	if x.opened {
		x.emit(x.dialect.events.close)
		x.opened = false
		x.text.Reset()
		x.index++
	}
}

func halves(text string) (first, second string) {
	runes := []rune(text)
	return string(runes[:len(runes)/2]), string(runes[len(runes)/2:])
}

// emit writes events with these placeholders, of which the values are JSON, and the common ones.
func (x *Exchange) emit(lines string, pairs ...string) {
	pairs = append(pairs, "{N}", fmt.Sprint(x.N), "{index}", fmt.Sprint(x.index), "{item}", fmt.Sprintf("%d_%d", x.N, x.index),
		"{model}", encode(x.Request.Model), "{whole}", encode(x.text.String()))
	if strings.Contains(lines, "{output}") || strings.Contains(lines, "{written}") {
		u := x.Usage()
		for name, n := range map[string]int{
			"{prompt}": u.Prompt, "{cached}": u.Cached, "{written}": u.Written, "{output}": u.Completion,
			"{uncached}": u.Prompt - u.Cached - u.Written, "{total}": u.Prompt + u.Completion,
		} {
			pairs = append(pairs, name, fmt.Sprint(n))
		}
	}
	for line := range strings.Lines(lines) {
		name, fields, _ := strings.Cut(strings.NewReplacer(append(pairs, "{n}", fmt.Sprint(x.n))...).Replace(strings.TrimSpace(line)), " ")
		head := strings.ReplaceAll(`"type":"`+name+`"`+x.dialect.events.common, "{n}", fmt.Sprint(x.n))
		switch {
		case name == "-":
			x.Chunk("{%s}", fields)
		case name == "[DONE]":
			x.Chunk("%s", name)
		default:
			x.Event(name, "{%s}", strings.TrimSuffix(head+","+fields, ","))
		}
		x.n++
	}
}

// Usage returns the usage that the response reports, so far.
func (x *Exchange) Usage() (u llm.Usage) {
	switch {
	case x.Counted != llm.Usage{}:
		return x.Counted
	case x.profile != nil:
		u = x.usage
		u.Completion = tokensOf(x.answer())
		return u
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

// Refusing says ok, but refuses the requests for which has is true.
func Refusing(text string, has func(Request) bool) func(*Exchange) {
	return func(x *Exchange) {
		if has(x.Request) {
			x.Reject(http.StatusBadRequest, "invalid_request_error", text)
			return
		}
		x.Say("ok")
	}
}

// Once answers the first request so, and says done to later ones.
func Once(answer func(*Exchange)) func(*Exchange) {
	return func(x *Exchange) {
		if x.N > 1 {
			x.Say("done")
			return
		}
		answer(x)
	}
}

// Differs describes where the request differs from the previous one with the same model and cache key, or system
// prompt if there is no key; "" if it extends it. Roles and parts are compared, without reasoning.
func (x *Exchange) Differs() string { return x.differs }

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
