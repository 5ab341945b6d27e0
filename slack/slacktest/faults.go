// Faults: how tests make HTTP requests fail.
package slacktest

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"time"
)

// Fault is a fault of matching requests. RetryAfter, Status, Error, Body and Cut replace the
// response; a Fault with only a Delay sends the normal response late.
type Fault struct {
	Method string // as in Call, or "socket" for the WebSocket handshake; empty: all
	Skip   int    // how many matching requests succeed first
	Times  int    // how many requests then fail; 0: one, -1: all until Heal

	Delay       time.Duration // before the response; the client may disconnect earlier
	RetryAfter  time.Duration // 429 with a Retry-After in whole seconds, rounded up (apis/web-api/rate-limits)
	Status      int           // HTTP status, sent with Body
	Error       string        // 200 and {"ok":false,"error":…}
	Body        string        // the exact body; an HTML page if it starts with "<"
	Cut         bool          // the connection is cut: in the middle of Body, or before any byte
	TakesEffect bool          // the request takes effect; only its response is late or replaced
	Late        bool          // it takes effect after Delay even if the client has disconnected by then
}

// Fail adds a fault. If several match a request, the oldest applies.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Times == 0 {
		f.Times = 1
	}
	s.faults = append(s.faults, &f)
}

// Heal removes all faults.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// faultFor counts a request and returns the Fault that applies to it; the zero Fault if none does.
func (s *Server) faultFor(method string) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[method]++
	for _, f := range s.faults {
		switch {
		case f.Method != "" && f.Method != method, f.Times == 0:
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

func (f Fault) spoils() bool {
	return f.RetryAfter > 0 || f.Status != 0 || f.Error != "" || f.Body != "" || f.Cut
}

func (f Fault) reply() reply {
	switch {
	case f.RetryAfter > 0:
		return refusal{code: "ratelimited", status: http.StatusTooManyRequests, retryAfter: f.RetryAfter}.reply()
	case f.Error != "":
		return refusal{code: f.Error}.reply()
	}
	r := reply{status: f.Status, body: []byte(f.Body), kind: "text/plain", cut: f.Cut, code: "fault"}
	if r.status == 0 {
		r.status = http.StatusOK
	}
	if len(f.Body) > 0 && f.Body[0] == '<' {
		r.kind = "text/html; charset=utf-8"
	}
	return r
}

// reply is one HTTP response.
type reply struct {
	status int
	kind   string // Content-Type
	retry  time.Duration
	body   []byte
	cut    bool
	code   string // Slack's error code
	to     string // target of a redirect
}

// serve responds to one request, with the Fault that applies to it.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, method string, args map[string]string, respond func() reply) {
	call := Call{At: time.Now(), Method: method, Args: args}
	f := s.faultFor(method)
	waiting := f.TakesEffect || s.sleep(r.Context(), f.Delay) || f.Late && s.sleep(context.Background(), f.Delay) // whether the client is still connected
	var a reply
	if waiting && (f.TakesEffect || !f.spoils()) {
		a = orRefusal(respond)
		waiting = !f.TakesEffect || s.sleep(r.Context(), f.Delay)
	}
	if f.spoils() {
		a = f.reply()
	}
	if call.Error = a.code; waiting && !a.cut {
		call.Status = a.status
	}
	s.mu.Lock()
	s.calls = append(s.calls, call)
	s.mu.Unlock()
	if !waiting {
		panic(http.ErrAbortHandler) // net/http's way to cut a connection
	}
	a.write(w)
}

func (a reply) write(w http.ResponseWriter) {
	if a.cut && len(a.body) == 0 {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", a.kind)
	if a.to != "" {
		w.Header().Set("Location", a.to)
	}
	if a.retry > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(int(math.Ceil(a.retry.Seconds()))))
	}
	if a.cut {
		w.Header().Set("Content-Length", fmt.Sprint(len(a.body)+1000))
	}
	w.WriteHeader(a.status)
	_, err := w.Write(a.body)
	if a.cut {
		err = http.NewResponseController(w).Flush() // otherwise the abort would discard the body
	}
	if a.cut || err != nil {
		panic(http.ErrAbortHandler)
	}
}
