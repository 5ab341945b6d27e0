// The HTTP API: its routes are registered, documented and checked from one table.

package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"cairn/store"
)

// route is one route of the API.
type route struct {
	pattern, summary string
	query            []param
	statuses         []int                       // of its answers; the first one unless its handler sets another
	body, answer     reflect.Type                // nil: none
	handle           func(*request) (any, error) // returns the answer
	events           handler                     // handles the request instead, with a stream
	fresh            bool                        // the conversation in the path may be new
	slow             bool                        // no time limit
}

// param is a query parameter.
type param struct{ name, text string }

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

// apiRoutes registers the routes of the API.
func (s *Server) apiRoutes() {
	for _, r := range s.routes() {
		serve := s.handle
		if r.slow || r.events != nil {
			serve = s.stream
		}
		serve(r.pattern, func(w http.ResponseWriter, req *http.Request) error {
			q := requestOf(req)
			for name := range q.Values { // so that a typo is not ignored
				if !slices.ContainsFunc(r.query, func(p param) bool { return p.name == name }) {
					return bad("There is no parameter %q here: correct its name, or leave it out.", name)
				}
			}
			if r.events != nil {
				return r.events(w, req)
			}
			if strings.Contains(r.pattern, "{name}") && !r.fresh {
				var err error
				if q.conversation, err = s.find(req.Context(), req.PathValue("name")); err != nil {
					return err
				}
			}
			answer, err := r.handle(q)
			if err := cmp.Or(q.wrong, err); err != nil {
				return err
			}
			if status := cmp.Or(q.status, r.statuses[0]); status == http.StatusNoContent {
				w.WriteHeader(status)
			} else {
				writeJSON(w, status, "application/json", answer)
			}
			return nil
		})
	}
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

func (s *Server) find(ctx context.Context, name string) (*store.Conversation, error) {
	if name == "" {
		return nil, invalid("Name a conversation, such as terminal:general.")
	}
	c, err := s.o.Store.Find(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, problem(http.StatusNotFound, "There is no conversation %q.", name)
	}
	return c, err
}
