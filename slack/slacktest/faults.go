// Faults: how tests make HTTP requests fail.

package slacktest

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"cairn/internal/loopback"
)

// Fault is a fault of matching requests. RetryAfter, Status, Error, Body and Cut replace the
// response; a Fault with only a Delay sends the normal response late.
type Fault struct {
	Method string // as in Call; empty: all
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
func (s *Server) Heal() { s.do(func() { s.faults = nil }) }

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
		return rateLimited(f.RetryAfter)
	case f.Error != "":
		return refusal(http.StatusOK, f.Error, nil)
	}
	r := newReply(cmp.Or(f.Status, http.StatusOK), "text/plain", []byte(f.Body))
	if r.Cut = f.Cut; strings.HasPrefix(f.Body, "<") {
		r.Header.Set("Content-Type", "text/html; charset=utf-8")
	}
	return r
}

// reply is one HTTP response.
type reply struct{ loopback.Reply }

func newReply(status int, contentType string, body []byte) reply {
	return reply{loopback.Reply{Status: status, Header: http.Header{"Content-Type": {contentType}}, Body: body}}
}

// serve responds to one request, with the Fault that applies to it.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, method string, args map[string]string, respond func() reply) {
	call := Call{At: time.Now(), Method: method, Args: args}
	f := s.faultFor(method)
	waiting := f.TakesEffect || s.sleep(r.Context(), f.Delay) || f.Late && s.sleep(context.Background(), f.Delay) // whether the client is still connected
	var a reply
	if waiting && (f.TakesEffect || !f.spoils()) {
		if r, refused := loopback.Catch[reply](func() { a = respond() }); refused {
			a = r
		}
		waiting = !f.TakesEffect || s.sleep(r.Context(), f.Delay)
	}
	if f.spoils() {
		a = f.reply()
	}
	s.do(func() { s.calls = append(s.calls, call) })
	if !waiting {
		panic(http.ErrAbortHandler) // net/http's way to cut a connection
	}
	a.Write(w)
}
