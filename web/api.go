// The HTTP API: one table of routes, from which they are registered, documented and checked.
package web

import (
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
	body         any         // zero value of the request body; nil: none
	answers      map[int]any // zero value of the response body, by status; nil: a stream
	handle       handler
	stream       bool // no time limit: a stream, or a handler that may be slow
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
			method: "GET", path: "/api/events", summary: "Events as they happen, as server-sent events", handle: s.watch, stream: true,
			query: []param{{"conversation", "only those of this one, by name"}, {"kinds", "only these, separated by commas: " + strings.Join(allKinds, ", ")}},
		},
		{method: "GET", path: "/api/openapi.json", summary: "This description", handle: s.openAPI, answers: map[int]any{200: map[string]any{}}},
	})
}

// apiRoutes registers the routes of the API.
func (s *Server) apiRoutes() {
	for _, r := range s.routes() {
		checked := func(w http.ResponseWriter, req *http.Request) error {
			if err := r.checkQuery(req); err != nil {
				return err
			}
			return r.handle(w, req)
		}
		if r.stream {
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
func decode(r *http.Request, into any) error {
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

// params is the query of a request. err is the first mistake in what was read of it.
type params struct {
	url.Values
	err error
}

func paramsOf(r *http.Request) *params { return &params{Values: r.URL.Query()} }

func (p *params) wrong(format string, args ...any) {
	if p.err == nil {
		p.err = bad(format, args...)
	}
}

// number reads an integer from low to high.
func (p *params) number(name string, defaultValue, low, high int) int {
	text := p.Get(name)
	if text == "" {
		return defaultValue
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		p.wrong("%s = %q: must be a whole number from %d to %d.", name, text, low, high)
	}
	return n
}

const (
	maxSeq    = 1<<32 - 1
	maxOffset = 1_000_000_000
)

// seq reads the number of a message.
func (p *params) seq(name string, defaultValue int) int64 {
	return int64(p.number(name, defaultValue, 1, maxSeq))
}

// page reads limit and offset.
func (p *params) page() (limit, offset int) {
	return p.number("limit", pageSize, 1, 200), p.number("offset", 0, 0, maxOffset)
}

// oneOf reads one of several words.
func (p *params) oneOf(name, defaultValue string, known []string) string {
	text := p.Get(name)
	if text == "" {
		return defaultValue
	}
	if !slices.Contains(known, text) {
		p.wrong("%s = %q: must be one of %s.", name, text, strings.Join(known, ", "))
	}
	return text
}

// someOf reads several words, separated by commas; by default all.
func (p *params) someOf(name string, known []string) []string {
	if p.Get(name) == "" {
		return known
	}
	words := strings.Split(p.Get(name), ",")
	for _, word := range words {
		if !slices.Contains(known, word) {
			p.wrong("%s = %q: must be one or more of %s, separated by commas.", name, p.Get(name), strings.Join(known, ", "))
		}
	}
	return words
}

// since reads the time since; zero: all time.
func (p *params) since() (at time.Time) {
	if text := p.Get("since"); text != "" {
		var err error
		if at, err = memory.Ago(text, time.Now()); err != nil {
			p.wrong("since: %v.", err)
		}
	}
	return at
}

// Parameters of lists that are usually short: without them the whole list is returned.
var cutParams = []param{{"limit", "at most this many (all)"}, offsetParam}

// cut returns the page of list that limit and offset select.
func cut[T any](p *params, list []T) []T {
	limit, from := p.number("limit", max(len(list), 1), 1, maxOffset), min(p.number("offset", 0, 0, maxOffset), len(list))
	if p.err != nil {
		return nil
	}
	return append([]T{}, list[from:min(from+limit, len(list))]...)
}

// in looks up the conversation in the path, and passes it to do.
func (s *Server) in(do func(http.ResponseWriter, *http.Request, *store.Conversation) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		c, err := s.find(r, r.PathValue("name"))
		if err != nil {
			return err
		}
		return do(w, r, c)
	}
}

func (s *Server) find(r *http.Request, name string) (*store.Conversation, error) {
	if name == "" {
		return nil, problem(http.StatusUnprocessableEntity, "Name a conversation, such as terminal:general.")
	}
	c, err := s.o.Store.Find(r.Context(), name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, problem(http.StatusNotFound, "There is no conversation %q.", name)
	}
	return c, err
}
