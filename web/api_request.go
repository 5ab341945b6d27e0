// A request to the API, and the problem that rejects it, in the format of RFC 9457.

package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/channel"
	"cairn/channel/sentences"
	"cairn/memory"
	"cairn/store"
)

// request is a request to the API. Its query has been checked.
type request struct {
	*http.Request
	url.Values
	conversation *store.Conversation // the one in the path
	status       int                 // of the answer; 0: the usual one
}

// requestOf returns a request whose query has only these parameters, with valid values.
func requestOf(r *http.Request, params []param) (*request, error) {
	q := &request{Request: r, Values: r.URL.Query()}
	for name := range q.Values { // so that a typo is not ignored
		of := slices.IndexFunc(params, func(p param) bool { return p.name == name && p.in == "" })
		if of < 0 {
			return nil, bad(noParameter+"%q here: correct its name, or leave it out.", name)
		}
		if err := params[of].check(q.Get(name)); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// decode reads a JSON body. An empty body counts as an empty object.
func (r *request) decode(into any) error {
	if r.ContentLength == 0 {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return problem(http.StatusUnsupportedMediaType, "Send the body as application/json.")
	}
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil && decoder.More() {
		err = errors.New("there is text after the object")
	}
	wrong, unfit := errors.AsType[*json.UnmarshalTypeError](err)
	_, large := errors.AsType[*http.MaxBytesError](err)
	switch {
	case err == nil || large:
		return err
	case unfit:
		const types = "GET /api/openapi.json has the types"
		return bad("The body cannot be read: a value of type %s is not accepted for %q; %s.", wrong.Value, wrong.Field, types)
	}
	return bad("The body cannot be read: %s.", strings.TrimPrefix(err.Error(), "json: "))
}

func (r *request) number(name string, byDefault int) int {
	if n, err := strconv.Atoi(r.Get(name)); err == nil {
		return n
	}
	return byDefault
}

// id returns a number in the path; 0, which nothing has, if it is none.
func (r *request) id(name string) int64 {
	n, _ := strconv.ParseInt(r.PathValue(name), 10, 64)
	return max(n, 0)
}

func (r *request) page() (limit, offset int) {
	return r.number("limit", pageSize), r.number("offset", 0)
}

// since returns the time since; zero: all time.
func (r *request) since() (at time.Time) {
	if r.Has("since") {
		at, _ = memory.Ago(r.Get("since"), time.Now())
	}
	return at
}

// until returns the time until; zero: now.
func (r *request) until() (at time.Time) {
	if r.Has("until") {
		at, _ = memory.Until(r.Get("until"), time.Now())
	}
	return at
}

// question returns what the query asks for, without who asks and a limit.
func (r *request) question() memory.Question {
	return memory.Question{Text: r.Get("q"), By: r.Get("by"), Since: r.since(), Until: r.until(), Order: r.Get("order")}
}

// cut returns the page of a list, which is usually short, that limit and offset select; by default all.
func cut[T any](r *request, list []T) []T {
	from := min(r.number("offset", 0), len(list))
	return list[from:min(from+r.number("limit", len(list)), len(list))]
}

// each returns what f makes of a list: a list that is not null in JSON.
func each[T, U any](list []T, f func(T) U) []U {
	all := make([]U, len(list))
	for i, one := range list {
		all[i] = f(one)
	}
	return all
}

// listOf returns a list that is not null in JSON.
func listOf[T any](list []T) []T { return append([]T{}, list...) }

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
func problemOf(log *slog.Logger, r *http.Request, err error) *Problem {
	var p *Problem
	var large *http.MaxBytesError
	var wrong *memory.ContentError
	var out *memory.OptedOutError
	var state *memory.StateError
	var person *memory.PersonError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &large):
		return problem(http.StatusRequestEntityTooLarge, "The body is larger than %d bytes: send less.", large.Limit)
	case errors.Is(err, store.ErrNotFound):
		return problem(http.StatusNotFound, "There is nothing with that name or number.")
	case errors.Is(err, channel.ErrClosed):
		return problem(http.StatusServiceUnavailable, "The bot is stopping. Try again once it runs.")
	case errors.Is(err, store.ErrOwned):
		return problem(http.StatusServiceUnavailable, "No process of the bot answers for this conversation now. Try again in a moment.")
	case errors.Is(err, store.ErrUnknown):
		return problem(http.StatusServiceUnavailable, "The process that works on this conversation did not answer in time, so this may have happened or not: look, and try again if it did not.")
	case errors.Is(err, store.ErrFull):
		return problem(http.StatusInsufficientStorage, "The disk is full: nothing was changed. Make room and try again.")
	case errors.Is(err, store.ErrLive):
		return problem(http.StatusConflict, "People have talked in this conversation: import into another one.")
	case errors.Is(err, store.ErrOtherMessage):
		return invalid("%v.", err)
	case errors.As(err, &wrong), errors.As(err, &out):
		return invalid("The memory cannot be saved: %v.", err)
	case errors.As(err, &person):
		return invalid("by: %v.", person)
	case errors.As(err, &state):
		return problem(http.StatusConflict, "The memory is %s, so it cannot be changed this way.", state.State)
	case errors.Is(err, memory.ErrDuplicate):
		return problem(http.StatusConflict, "Another memory now says the same.")
	case errors.Is(err, context.DeadlineExceeded):
		return problem(http.StatusServiceUnavailable, "The answer took too long. Try again, or ask for less.")
	}
	if p, ok := sentences.ProblemOf(err); ok {
		return invalid("%s", p.Text)
	}
	log.Warn("web_request_failed", "route", r.Pattern, "error", err)
	return problem(http.StatusInternalServerError, "The request failed; the log says why.")
}

func writeJSON(w http.ResponseWriter, status int, kind string, v any) {
	text, err := json.Marshal(v)
	if err != nil { // a programming error: the type cannot be encoded
		panic(err)
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may be gone
}
