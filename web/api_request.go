// A request to the API, and what its query says.

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
			return nil, bad("There is no parameter %q here: correct its name, or leave it out.", name)
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
		return bad("The body cannot be read: a value of type %s is not accepted for %q; GET /api/openapi.json has the types.", wrong.Value, wrong.Field)
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
