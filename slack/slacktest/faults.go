// Faults: how tests make HTTP requests fail.

package slacktest

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"cairn/internal/loopback"
)

// Fault is a fault of the requests of a method, as in Call.
type Fault = loopback.Fault

func refused(f Fault) loopback.Reply {
	switch {
	case f.RetryAfter > 0:
		return rateLimited(f.RetryAfter).Reply
	case f.Error != "":
		return refusal(http.StatusOK, f.Error, nil).Reply
	}
	r := newReply(cmp.Or(f.Status, http.StatusOK), "text/plain", []byte(f.Body))
	if r.Cut = f.Cut; strings.HasPrefix(f.Body, "<") {
		r.Header.Set("Content-Type", "text/html; charset=utf-8")
	}
	return r.Reply
}

// reply is one HTTP response.
type reply struct{ loopback.Reply }

func newReply(status int, contentType string, body []byte) reply {
	return reply{loopback.Reply{Status: status, Header: http.Header{"Content-Type": {contentType}}, Body: body}}
}

// serve responds to one request, with the Fault that applies to it.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, method string, args map[string]string, respond func() reply) {
	call := Call{At: time.Now(), Method: method, Args: args}
	s.do(func() { s.seen[method]++ })
	s.Exchange(w, r, method, s.life.Done(), func() loopback.Reply {
		var a reply
		if refusal, refused := loopback.Catch[reply](func() { a = respond() }); refused {
			a = refusal
		}
		return a.Reply
	}, refused, func() { s.do(func() { s.calls = append(s.calls, call) }) })
}
