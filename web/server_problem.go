// Problems: errors in the format of RFC 9457.

package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"cairn/channel"
	"cairn/memory"
	"cairn/store"
)

// Problem is the error of a rejected request (RFC 9457). Its type is "about:blank": the status is
// all that a program needs.
type Problem struct {
	Title  string `json:"title"` // text of the status
	Status int    `json:"status"`
	Detail string `json:"detail"` // what happened, and what to do

	retry time.Duration // when to try again; 0: any time
}

func (p *Problem) Error() string { return p.Detail }

func problem(status int, format string, args ...any) *Problem {
	return &Problem{Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...)}
}

// bad returns a Problem with status 400: the request cannot be understood.
func bad(format string, args ...any) *Problem { return problem(http.StatusBadRequest, format, args...) }

// invalid returns a Problem with status 422: a value cannot be accepted.
func invalid(format string, args ...any) *Problem {
	return problem(http.StatusUnprocessableEntity, format, args...)
}

func tooMany(wait time.Duration) *Problem {
	p := problem(http.StatusTooManyRequests, "Too many requests. Ask again in %v.", wait)
	p.retry = wait
	return p
}

// problemOf returns the part of an error that concerns the client; internal details stay in the log.
func (s *Server) problemOf(r *http.Request, err error) *Problem {
	var p *Problem
	var large *http.MaxBytesError
	var wrong *memory.ContentError
	var out *memory.OptedOutError
	var state *memory.StateError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &large):
		return problem(http.StatusRequestEntityTooLarge, "The body is larger than %d bytes: send less.", large.Limit)
	case errors.Is(err, store.ErrNotFound):
		return problem(http.StatusNotFound, "There is nothing with that name or number.")
	case errors.Is(err, channel.ErrClosed):
		return problem(http.StatusServiceUnavailable, "The bot is stopping. Try again once it runs.")
	case errors.Is(err, store.ErrFull):
		return problem(http.StatusInsufficientStorage, "The disk is full: nothing was changed. Make room and try again.")
	case errors.As(err, &wrong), errors.As(err, &out):
		return invalid("It cannot be remembered: %v.", err)
	case errors.As(err, &state):
		return problem(http.StatusConflict, "The memory is %s, so it cannot be changed this way.", state.State)
	case errors.Is(err, memory.ErrSaid):
		return problem(http.StatusConflict, "Another memory now says the same.")
	case errors.Is(err, context.DeadlineExceeded):
		return problem(http.StatusServiceUnavailable, "The answer took too long. Try again, or ask for less.")
	}
	if words, ok := channel.Words(err); ok {
		return invalid("%s", words)
	}
	s.o.Log.Warn("web_request_failed", "route", r.Pattern, "error", err)
	return problem(http.StatusInternalServerError, "The request failed; the log says why.")
}

// fail responds with a problem, or with nothing if the client is gone.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return
	}
	p := s.problemOf(r, err)
	if p.Status == http.StatusUnauthorized {
		if wantsPage(r) {
			http.Redirect(w, r, "/login?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="cairn"`)
	}
	if p.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(p.retry.Seconds())))
	}
	if !wantsPage(r) {
		writeJSON(w, p.Status, "application/problem+json", p)
		return
	}
	_ = writePage(w, p.Status, s.frame("This did not work", section(r), // only rendering can fail
		heading("This did not work"), h.P(g.Text(p.Detail)), h.P(h.A(h.Href("/"), g.Text("Conversations"))),
	))
}

func writeJSON(w http.ResponseWriter, status int, kind string, v any) {
	text, err := json.Marshal(v)
	if err != nil { // a programming error: our own type cannot be encoded
		panic(err)
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may be gone
}
