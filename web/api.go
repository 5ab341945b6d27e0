// Routes of the HTTP API: each is registered, documented and checked from one value.

package web

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/lazy"
	"cairn/memory"
	"cairn/store"
)

type route struct {
	pattern, summary string
	query            []param
	statuses         []int                                     // of its answers; the first one unless its handler sets another
	body, answer     reflect.Type                              // nil: none
	handle           func(*request) (any, error)               // returns the answer
	events           handler                                   // handles the request instead, with a stream
	file             func(http.ResponseWriter, *request) error // the same, about the conversation in the path, with a file
	types            []string                                  // media types of the file
	fresh            bool                                      // the conversation in the path may be new
	slow             bool                                      // no time limit
	owned            bool                                      // with slow: the owner of the conversation handles it
}

// param is a parameter of a route.
type param struct {
	name, text string
	in         string   // path or header; "": the query
	words      []string // one of these; nil: any text
	min        int
	max        int // it is an integer from min to max; 0: a text
}

// maxNumber is the highest seq and offset.
const maxNumber = 1<<32 - 1

func (p param) check(value string) error {
	switch n, err := strconv.Atoi(value); {
	case value == "":
	case p.words != nil && !slices.Contains(p.words, value):
		return bad("%s = %q: must be one of %s.", p.name, value, strings.Join(p.words, ", "))
	case p.max > 0 && (err != nil || n < p.min || n > p.max):
		return bad("%s = %q: must be a whole number from %d to %d.", p.name, value, p.min, p.max)
	case p.name == sinceParam.name, p.name == untilParam.name:
		if _, err := memory.Ago(value, time.Now()); err != nil {
			return bad("%s: %v.", p.name, err)
		}
	}
	return nil
}

func (p param) schema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string", Description: p.text}
	if p.max > 0 {
		s.Type = "integer"
	}
	for _, word := range p.words {
		s.Enum = append(s.Enum, word)
	}
	return s
}

// inPath are the parameters in the paths of routes.
var inPath = map[string]param{
	"conversation": {text: "its full name, as terminal:garden; percent-encoded in a path"},
	"summary":      {text: "its number, as the lists show it", max: maxNumber},
	"id":           {text: "its number, as the lists show it", max: maxNumber},
	"person":       {text: "a platform id, a name or a part of one, percent-encoded"},
	"line":         {text: "its number, as the summary lists it", min: 1, max: maxNumber},
	"code":         {text: "number of the call, as the conversation lists it"},
}

var pathNames = lazy.Pattern(`\{(\w+)\}`)

// params returns the parameters of a route, those in its path first.
func (r route) params() (all []param) {
	for _, match := range pathNames().FindAllStringSubmatch(r.pattern, -1) {
		p := inPath[match[1]]
		p.name = match[1]
		p.in = "path"
		all = append(all, p)
	}
	return append(all, r.query...)
}

// read returns a route that reads a T.
func read[T any](path, summary string, handle func(*request) (T, error), query ...param) route {
	r := act("GET "+path, summary, handle, http.StatusOK)
	r.query = query
	return r
}

// act returns a route that changes something and needs no body.
func act[T any](pattern, summary string, handle func(*request) (T, error), statuses ...int) route {
	return route{
		pattern: pattern, summary: summary, statuses: statuses, answer: reflect.TypeFor[T](),
		handle: func(r *request) (any, error) { return handle(r) },
	}
}

// send returns a route that changes something, with a B as its body.
func send[B, T any](pattern, summary string, handle func(*request, B) (T, error), statuses ...int) route {
	r := act(pattern, summary, func(r *request) (answer T, err error) {
		var body B
		if err := r.decode(&body); err != nil {
			return answer, err
		}
		return handle(r, body)
	}, statuses...)
	r.body = reflect.TypeFor[B]()
	return r
}

var (
	limitParam  = param{name: "limit", text: "at most this many, 1 to 200 (default: 50)", min: 1, max: 200}
	offsetParam = param{name: "offset", text: "skip this many", max: maxNumber}
	sinceParam  = param{name: "since", text: "2026-05-08, 2026-05-08T15:00Z, 36h, 7d, yesterday (default: all time)"}
	untilParam  = param{name: "until", text: "as since; a day or month is included in full (default: now)"}
	beforeParam = param{name: "before", text: "only messages with a smaller seq", min: 1, max: maxNumber}
	afterParam  = param{name: "after", text: "only messages with a greater seq, the oldest first", max: maxNumber}
	allParam    = param{name: "limit", text: "at most this many (default: all; as a tool 50)", min: 1, max: maxNumber} // of lists that are usually short
	searchParam = param{name: "q", text: "search for these words"}
	byParam     = param{name: "by", text: "only messages of this person, by name or id, and memories about them; assistant: the bot's"}
	orderParam  = param{name: "order", text: "in which order (default: best; without q newest)", words: memory.Orders}
)

// findConversation returns the conversation with a name; a Problem if there is none.
func findConversation(ctx context.Context, db *store.Store, name string) (*store.Conversation, error) {
	if name == "" {
		return nil, invalid("Name a conversation, such as terminal:general.")
	}
	c, err := db.Find(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, problem(http.StatusNotFound, "There is no conversation %q.", name)
	}
	return c, err
}
