// Package loopback is what the doubles of platforms and models share: HTTP responses and WebSockets
// that fail on demand. It imports nothing of Cairn.
package loopback

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"sync"
	"time"
)

// Reply is an HTTP response.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
	Cut    bool // the connection ends in the middle of the body, or without a response if there is none
}

// Write sends the response.
func (a Reply) Write(w http.ResponseWriter) {
	if a.Cut && len(a.Body) == 0 {
		panic(http.ErrAbortHandler) // net/http's way to end a connection without a response
	}
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	if !a.Cut {
		w.WriteHeader(a.Status)
		_, _ = w.Write(a.Body) // the client may have disconnected
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.Body)))
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body[:len(a.Body)/2])
	_ = http.NewResponseController(w).Flush() // otherwise the abort would discard the first half
	panic(http.ErrAbortHandler)
}

// caught returns what respond returns, or the Reply with which it panicked.
func caught(respond func() Reply) (a Reply) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case Reply:
			a = p
		default:
			panic(p)
		}
	}()
	return respond()
}

// Sleep waits and returns true, or returns false if ctx ends or done is closed before that.
func Sleep(ctx context.Context, done <-chan struct{}, d time.Duration) bool {
	if d <= 0 { // a request takes effect even if its client has gone
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-done:
	}
	return false
}

// Must returns what a test names by its id. It panics if there is none.
func Must[T any](m map[string]*T, id, what string) *T {
	if v, ok := m[id]; ok {
		return v
	}
	panic(fmt.Sprintf("the test names a %s that does not exist: %q", what, id))
}

// Encode returns v as JSON. It panics if v cannot be encoded, which is a mistake in a test.
func Encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return raw
}

// Fault is how requests fail, or are late. Without Status, RetryAfter, Error, Body and Cut it only delays a response, or cuts it.
type Fault struct {
	Of    string // the requests, as the double names them, as in path.Match; empty: all
	Skip  int    // how many of them succeed first
	Times int    // how many then fail; 0: one, -1: all until Clear

	Delay      time.Duration // before the response; the client may disconnect earlier
	Status     int           // HTTP status, sent with Body
	RetryAfter time.Duration // of a 429
	Global     bool          // the 429 applies to all routes; only of Discord
	Code       int           // error code of Discord in the body
	Error      string        // error code of Slack in the body
	Body       string        // the exact body; an HTML page if it starts with "<"
	Cut        bool          // the connection ends: in the middle of Body, or before any byte
	CutBody    bool          // the connection ends in the middle of the body; alone, the request takes effect
	Done       bool          // the request takes effect at once; only its response is late or replaced
	Late       bool          // it takes effect after Delay even if the client has disconnected by then
}

func (f Fault) replaces() bool {
	return f.Status != 0 || f.RetryAfter > 0 || f.Error != "" || f.Body != "" || f.Cut
}

// Faults are those of a server. Their methods are safe for concurrent use.
type Faults struct {
	mu  sync.Mutex // guards all
	all []*Fault
}

// Fail adds faults. If several match a request, the oldest that is not used up applies.
func (s *Faults) Fail(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		f.Times = cmp.Or(f.Times, 1)
		s.all = append(s.all, &f)
	}
}

// Clear removes all faults.
func (s *Faults) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = nil
}

// of counts a request and returns the fault that applies to it; the zero Fault if none does.
func (s *Faults) of(request string) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.all {
		switch {
		case f.Times == 0 || !Matches(request, f.Of):
		case f.Skip > 0:
			f.Skip--
		default:
			if f.Times > 0 {
				f.Times--
			}
			return *f
		}
	}
	return Fault{}
}

// Matches reports whether a request is of those that a pattern names, as in Fault.Of.
func Matches(request, pattern string) bool {
	ok, err := path.Match(pattern, request)
	if err != nil {
		panic(err) // a mistake in the test
	}
	return ok || pattern == ""
}

// Exchange is a request, and how it is answered.
type Exchange struct {
	Request  string            // as Fault.Of names it
	Done     <-chan struct{}   // ends its waits
	Respond  func() Reply      // may panic with a Reply
	Refuse   func(Fault) Reply // called if a fault takes the place of the response
	Answered func()            // called before the response is written
}

// Answer responds to a request, or as a fault demands.
func (s *Faults) Answer(w http.ResponseWriter, r *http.Request, x Exchange) {
	f := s.of(x.Request)
	connected := f.Done || Sleep(r.Context(), x.Done, f.Delay) || f.Late && Sleep(context.Background(), x.Done, f.Delay)
	var a Reply
	if connected && (f.Done || !f.replaces()) {
		a = caught(x.Respond)
		connected = !f.Done || Sleep(r.Context(), x.Done, f.Delay)
	}
	if f.replaces() {
		a = x.Refuse(f)
	}
	x.Answered()
	if !connected {
		panic(http.ErrAbortHandler) // net/http's way to cut a connection
	}
	a.Cut = a.Cut || f.CutBody
	a.Write(w)
}
