// A strict model server on loopback that a script can make misbehave, and its wires: each has a
// strict parser of requests, and the events of its responses.

package llmtest

import (
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"cairn/llm"
	"cairn/llm/provider"
	"cairn/testkit/loopback"
)

// Server is a model server on 127.0.0.1 that speaks every wire. It rejects what a strict provider
// rejects, and passes each valid request to the script.
type Server struct {
	URL string // the base URL, including /v1

	http   *httptest.Server
	script func(*Exchange)

	mu sync.Mutex // guards the fields below
	past
	wires    []string // nil: all
	facts    map[string]string
	requests []Request
	refusals []string
	asked    []string
	n        int
}

// NewServer starts a server that calls script for each valid request, concurrently if requests are concurrent. It must be closed.
func NewServer(script func(*Exchange)) *Server {
	s := &Server{
		script: script, past: past{reasoning: map[string]string{}, preceding: map[string][]part{}, caches: map[string]*cache{}, last: map[string][]part{}},
		facts: map[string]string{"/v1/models": `{"object":"list","data":[{"id":"test-model","object":"model"}]}`},
	}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL + "/v1"
	return s
}

// Serve is NewServer for a test; the server is closed at the end of the test.
func Serve(t interface{ Cleanup(func()) }, script func(*Exchange)) *Server {
	s := NewServer(script)
	t.Cleanup(s.Close)
	return s
}

// Options returns o for a client of the server: without a model test-model, and, unless set, without retries. With an
// address of another server it answers in that one's place.
func (s *Server) Options(o provider.Options) provider.Options {
	if o.BaseURL != "" {
		o.HTTPClient = InMemory(s)
	}
	o.BaseURL, o.Model = cmp.Or(o.BaseURL, s.URL), cmp.Or(o.Model, "test-model")
	o.MaxRetries = cmp.Or(o.MaxRetries, -1)
	o.RetryDelay = time.Millisecond
	return o
}

// Close closes open connections and waits for their scripts.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Speak restricts the server to these wires: on others it responds 404.
func (s *Server) Speak(wires ...string) { s.change(func() { s.wires = wires }) }

// Tell sets the JSON response to GET path: "/v1/models", "/api/ps", "/props". Initially there is
// only /v1/models, with the model test-model.
func (s *Server) Tell(path, json string) { s.change(func() { s.facts[path] = json }) }

func (s *Server) change(set func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set()
}

// Requests returns the valid requests so far, oldest first.
func (s *Server) Requests() []Request { return copied(s, &s.requests) }

// Refusals returns why requests were rejected as invalid; tests of what a bot sends expect none.
func (s *Server) Refusals() []string { return copied(s, &s.refusals) }

// Asked returns the paths of the GET requests so far.
func (s *Server) Asked() []string { return copied(s, &s.asked) }

func copied[T any](s *Server, list *[]T) []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(*list)
}

// ServeHTTP handles a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d, asks := dialects[r.URL.Path]
	s.mu.Lock()
	fact, known := s.facts[r.URL.Path]
	speaks := s.wires == nil || slices.Contains(s.wires, d.wire)
	if r.Method == http.MethodGet {
		s.asked = append(s.asked, r.URL.Path)
	}
	s.mu.Unlock()
	switch {
	case r.Method == http.MethodGet && known:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, fact) // the client may have disconnected
	case r.Method == http.MethodPost && asks && speaks:
		s.ask(w, r, d)
	default:
		http.NotFound(w, r)
	}
}

// ask handles a request on the wire of its path.
func (s *Server) ask(w http.ResponseWriter, r *http.Request, d dialect) {
	x := &Exchange{server: s, writer: w, http: r, dialect: d}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client disconnected during the request, perhaps killed
	}
	rejected := readRequest(&x.Request, d, body)
	x.Request.Header = r.Header.Clone()
	s.mu.Lock()
	if rejected == nil {
		rejected = s.visit(x)
	}
	s.n++
	x.N = s.n
	if rejected == nil {
		s.requests = append(s.requests, x.Request)
	} else {
		s.refusals = append(s.refusals, rejected.message)
	}
	s.mu.Unlock()
	if rejected != nil {
		x.Reject(rejected.status, rejected.code, rejected.message)
		return
	}
	s.script(x)
}

// dialect is one wire.
type dialect struct {
	wire    string
	fields  []string                          // allowed in a request
	read    func(r *reader)                   // parses everything but the model, and checks fields
	events  events                            // of the response
	refusal func(code, message string) string // returns the body of an error
}

// dialects are the wires, by the path of their requests.
var dialects = map[string]dialect{
	"/v1/chat/completions": {llm.WireChat, chatFields, readChat, chatEvents, errorBody},
	"/v1/responses":        {llm.WireResponses, responsesFields, readResponses, responsesEvents, errorBody},
	"/v1/messages":         {llm.WireMessages, messagesFields, readMessages, messagesEvents, refuseMessages},
}

// errorBody returns the body of an error on OpenAI's wires.
func errorBody(code, message string) string {
	return encode(map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "code": code}})
}

func encode(v any) string { return string(loopback.Encode(v)) }
