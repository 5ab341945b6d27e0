// A strict OpenAI-compatible server on loopback, which a script may make misbehave.

package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// Server is an OpenAI-compatible server on 127.0.0.1. It refuses what a strict
// provider refuses, and leaves each valid chat request to the script.
type Server struct {
	URL string // the base URL, up to and including /v1

	http   *httptest.Server
	script func(*Exchange)

	mu       sync.Mutex // guards the fields below
	window   int
	facts    map[string]string
	requests []Request
	refusals []string
	asked    []string
	n        int
}

// NewServer starts a server whose chat requests are answered by script, at the
// same time if they come at the same time. It must be closed.
func NewServer(script func(*Exchange)) *Server {
	s := &Server{script: script, facts: map[string]string{
		"/v1/models": `{"object":"list","data":[{"id":"test-model","object":"model"}]}`,
	}}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL + "/v1"
	return s
}

// Close cuts the connections that are still open and waits for their scripts.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// SetWindow makes the server refuse prompts whose estimate, the answer's
// max_tokens included, exceeds so many tokens. 0 takes everything.
func (s *Server) SetWindow(tokens int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.window = tokens
}

// Tell sets the JSON that GET path answers: "/v1/models", "/api/ps", "/props".
// Only /v1/models is there from the start, with one model, test-model.
func (s *Server) Tell(path, json string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.facts[path] = json
}

// Requests returns the valid chat requests so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Refusals says why requests were refused as invalid; a test of what a bot sends
// wants it empty.
func (s *Server) Refusals() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refusals)
}

// Asked returns the paths of the GET requests so far.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodGet:
		s.mu.Lock()
		s.asked = append(s.asked, r.URL.Path)
		fact, ok := s.facts[r.URL.Path]
		s.mu.Unlock()
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, fact) // a client that left is no matter
	case r.Method == http.MethodPost && r.URL.Path == "/v1/chat/completions":
		s.chat(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	x := &Exchange{writer: w, http: r}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		x.Request, err = parseRequest(body)
	}
	x.Request.Header = r.Header.Clone()
	s.mu.Lock()
	s.n++
	x.N = s.n
	if err == nil {
		s.requests = append(s.requests, x.Request)
	} else {
		s.refusals = append(s.refusals, err.Error())
	}
	window := s.window
	s.mu.Unlock()

	size := x.Request.Tokens() + x.Request.MaxTokens
	switch {
	case err != nil:
		x.Refuse(http.StatusBadRequest, "", errorBody("invalid_request_error", err.Error()))
	case window > 0 && size > window:
		x.Refuse(http.StatusBadRequest, "", errorBody("context_length_exceeded", fmt.Sprintf(
			"This model's maximum context length is %d tokens. However, you requested %d tokens.", window, size)))
	default:
		s.script(x)
	}
}

func errorBody(code, message string) string {
	body, err := json.Marshal(map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "code": code}})
	if err != nil { // strings always have a JSON form
		return err.Error()
	}
	return string(body)
}

// Exchange is one chat request and the script's means to answer it, well or badly.
// A method that writes cannot fail the script: the client may have left.
type Exchange struct {
	N       int // of the chat request, from 1, refused ones counted
	Request Request

	writer  http.ResponseWriter
	http    *http.Request
	started bool
}

// Say streams a whole answer in pieces.
func (x *Exchange) Say(pieces ...string) {
	for _, piece := range pieces {
		x.Piece(piece)
	}
	x.Finish("stop")
	x.Done()
}

// Use streams a whole answer that calls one tool, its arguments in two pieces.
func (x *Exchange) Use(id, tool, arguments string) {
	half := len(arguments) / 2
	x.Chunk(`{"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}]}}]}`,
		quote(id), quote(tool), quote(arguments[:half]))
	x.Chunk(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":%s}}]}}]}`, quote(arguments[half:]))
	x.Finish("tool_calls")
	x.Done()
}

// Piece streams a piece of text.
func (x *Exchange) Piece(text string) {
	x.Chunk(`{"id":"c","object":"chat.completion.chunk","created":1,"model":"test-model","choices":[{"index":0,"delta":{"content":%s},"finish_reason":null}]}`, quote(text))
}

// Finish streams the finish_reason, and what was counted if the request asks for it.
func (x *Exchange) Finish(reason string) {
	x.Chunk(`{"choices":[{"index":0,"delta":{},"finish_reason":%s}]}`, quote(reason))
	if x.Request.StreamOptions.IncludeUsage {
		x.Chunk(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":7,"total_tokens":%d}}`,
			x.Request.Tokens(), x.Request.Tokens()+7)
	}
}

// Done ends the stream as the protocol wants it.
func (x *Exchange) Done() { x.Write("data: [DONE]\n\n") }

// Chunk streams one chunk, given as JSON with fmt's verbs.
func (x *Exchange) Chunk(format string, args ...any) {
	x.Write("data: " + fmt.Sprintf(format, args...) + "\n\n")
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

func quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil { // strings always have a JSON form
		return `""`
	}
	return string(quoted)
}

// Header is that of the answer, while none of it was sent.
func (x *Exchange) Header() http.Header { return x.writer.Header() }
