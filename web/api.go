// The HTTP API: one table of routes, from which they are registered, documented and checked.

package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/memory"
	"cairn/store"
)

// route is one route of the API.
type route struct {
	method, path string
	summary      string
	query        []param
	body         any                         // zero value of the request body; nil: none
	answers      map[int]any                 // zero value of the response body, by status; nil: a stream
	handle       func(*request) (any, error) // returns the response body; nil: 204
	events       handler                     // handles the request instead, with a stream
	slow         bool                        // no time limit
}

func (r route) pattern() string { return r.method + " " + r.path }

// param is a query parameter.
type param struct{ name, text string }

// Parameters of several routes.
var (
	limitParam  = param{"limit", "at most this many, 1 to 200 (50)"}
	offsetParam = param{"offset", "skip this many"}
	sinceParam  = param{"since", "2026-05-08, 2026-05-08T15:00Z, 36h, 7d, 2w (all time)"}
	beforeParam = param{"before", "only messages with a smaller seq"}
)

// routes returns all routes of the API.
func (s *Server) routes() []route {
	return slices.Concat(s.conversationRoutes(), s.messageRoutes(), s.actionRoutes(), s.memoryRoutes(), s.simulateRoutes(), []route{
		{
			method: "GET", path: "/api/recall", summary: "Search memories and messages, best first, without a model", handle: s.recall,
			query: []param{
				{"q", "a question or words; required"},
				{"conversation", "its name; required"},
				{"as", "name of the person who asks, whom \"I\" means"},
				sinceParam, limitParam,
			}, answers: map[int]any{200: recalled{}},
		},
		{
			method: "GET", path: "/api/usage", summary: "What models were used for, and what it cost", handle: s.usage,
			query: append([]param{{"by", "day, conversation or model (day)"}, sinceParam}, cutParams...), answers: map[int]any{200: usageAnswer{}},
		},
		{
			method: "GET", path: "/api/events", summary: "Events as they happen, as server-sent events", events: s.watch,
			query: []param{{"conversation", "only those of this one, by name"}, {"kinds", "only these, separated by commas: " + strings.Join(allKinds, ", ")}},
		},
		{method: "GET", path: "/api/openapi.json", summary: "This description", handle: s.openAPI, answers: map[int]any{200: map[string]any{}}},
	})
}

// answered is a response with another status than 200.
type answered struct {
	status int
	body   any
}

// apiRoutes registers the routes of the API.
func (s *Server) apiRoutes() {
	for _, r := range s.routes() {
		checked := func(w http.ResponseWriter, req *http.Request) error {
			if err := r.checkQuery(req); err != nil {
				return err
			}
			if r.events != nil {
				return r.events(w, req)
			}
			q := requestOf(req)
			v, err := r.handle(q)
			if err := cmp.Or(q.wrong, err); err != nil {
				return err
			}
			a, other := v.(answered)
			switch {
			case other:
				writeJSON(w, a.status, "application/json", a.body)
			case v == nil:
				w.WriteHeader(http.StatusNoContent)
			default:
				writeJSON(w, http.StatusOK, "application/json", v)
			}
			return nil
		}
		if r.slow || r.events != nil {
			s.stream(r.pattern(), checked)
		} else {
			s.handle(r.pattern(), checked)
		}
	}
}

// checkQuery rejects unknown parameters, so that a typo is not ignored.
func (r route) checkQuery(req *http.Request) error {
	for name := range req.URL.Query() {
		if !slices.ContainsFunc(r.query, func(p param) bool { return p.name == name }) {
			return bad("There is no parameter %q here: correct its name, or leave it out.", name)
		}
	}
	return nil
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
		return bad("The body cannot be read: a value of type %s is not accepted for %q; GET /api/openapi.json has the types.", wrong.Value, wrong.Field)
	}
	return bad("The body cannot be read: %s.", strings.TrimPrefix(err.Error(), "json: "))
}

// request is a request to the API, with its query. wrong is the first mistake in what was read of it;
// what is wrong counts as missing.
type request struct {
	*http.Request
	url.Values
	wrong error
}

func requestOf(r *http.Request) *request { return &request{Request: r, Values: r.URL.Query()} }

func (r *request) reject(format string, args ...any) { r.wrong = cmp.Or(r.wrong, bad(format, args...)) }

// number reads an integer from low to high.
func (r *request) number(name string, defaultValue, low, high int) int {
	text := r.Get(name)
	if text == "" {
		return defaultValue
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		r.reject("%s = %q: must be a whole number from %d to %d.", name, text, low, high)
		return defaultValue
	}
	return n
}

const (
	maxSeq    = 1<<32 - 1
	maxOffset = 1_000_000_000
)

// seq reads the number of a message.
func (r *request) seq(name string, defaultValue int) int64 {
	return int64(r.number(name, defaultValue, 1, maxSeq))
}

// page reads limit and offset.
func (r *request) page() (limit, offset int) {
	return r.number("limit", pageSize, 1, 200), r.number("offset", 0, 0, maxOffset)
}

// oneOf reads one of several words.
func (r *request) oneOf(name, defaultValue string, known []string) string {
	text := r.Get(name)
	if text == "" {
		return defaultValue
	}
	if !slices.Contains(known, text) {
		r.reject("%s = %q: must be one of %s.", name, text, strings.Join(known, ", "))
	}
	return text
}

// someOf reads several words, separated by commas; by default all.
func (r *request) someOf(name string, known []string) []string {
	if r.Get(name) == "" {
		return known
	}
	words := strings.Split(r.Get(name), ",")
	for _, word := range words {
		if !slices.Contains(known, word) {
			r.reject("%s = %q: must be one or more of %s, separated by commas.", name, r.Get(name), strings.Join(known, ", "))
		}
	}
	return words
}

// since reads the time since; zero: all time.
func (r *request) since() (at time.Time) {
	if text := r.Get("since"); text != "" {
		var err error
		if at, err = memory.Ago(text, time.Now()); err != nil {
			r.reject("since: %v.", err)
		}
	}
	return at
}

// Parameters of lists that are usually short: without them the whole list is returned.
var cutParams = []param{{"limit", "at most this many (all)"}, offsetParam}

// cut returns the page of list that limit and offset select.
func cut[T any](r *request, list []T) []T {
	limit, from := r.number("limit", max(len(list), 1), 1, maxOffset), min(r.number("offset", 0, 0, maxOffset), len(list))
	return append([]T{}, list[from:min(from+limit, len(list))]...)
}

// in looks up the conversation in the path, and passes it to do.
func (s *Server) in(do func(*request, *store.Conversation) (any, error)) func(*request) (any, error) {
	return func(r *request) (any, error) {
		c, err := s.find(r.Context(), r.PathValue("name"))
		if err != nil {
			return nil, err
		}
		return do(r, c)
	}
}

func (s *Server) find(ctx context.Context, name string) (*store.Conversation, error) {
	if name == "" {
		return nil, problem(http.StatusUnprocessableEntity, "Name a conversation, such as terminal:general.")
	}
	c, err := s.o.Store.Find(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, problem(http.StatusNotFound, "There is no conversation %q.", name)
	}
	return c, err
}
