// A request to the API, and what its query says.

package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/memory"
	"cairn/store"
)

// request is a request to the API, with its query.
type request struct {
	*http.Request
	url.Values
	conversation *store.Conversation // the one in the path
	wrong        error               // the first mistake in what was read; what is wrong counts as missing
	status       int                 // of the answer; 0: the usual one
}

func requestOf(r *http.Request) *request { return &request{Request: r, Values: r.URL.Query()} }

func (r *request) reject(p *Problem) { r.wrong = cmp.Or(r.wrong, error(p)) }

func (r *request) number(name string, defaultValue, low, high int) int {
	text := r.Get(name)
	if text == "" {
		return defaultValue
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		r.reject(bad("%s = %q: must be a whole number from %d to %d.", name, text, low, high))
		return defaultValue
	}
	return n
}

const (
	maxSeq    = 1<<32 - 1
	maxOffset = 1_000_000_000
)

func (r *request) seq(name string, defaultValue int) int64 {
	return int64(r.number(name, defaultValue, 1, maxSeq))
}

// id returns the {id} in the path; 0, which nothing has, if it is none.
func (r *request) id() int64 {
	n, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || n < 1 {
		r.reject(problem(http.StatusNotFound, "There is no %q here: an id is a whole number.", r.PathValue("id")))
		return 0
	}
	return n
}

func (r *request) page() (limit, offset int) {
	return r.number("limit", pageSize, 1, 200), r.number("offset", 0, 0, maxOffset)
}

func (r *request) oneOf(name, defaultValue string, known []string) string {
	text := cmp.Or(r.Get(name), defaultValue)
	if text != defaultValue && !slices.Contains(known, text) {
		r.reject(bad("%s = %q: must be one of %s.", name, text, strings.Join(known, ", ")))
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
			r.reject(bad("%s = %q: must be one or more of %s, separated by commas.", name, r.Get(name), strings.Join(known, ", ")))
		}
	}
	return words
}

// since reads the time since; zero: all time.
func (r *request) since() (at time.Time) {
	if text := r.Get("since"); text != "" {
		var err error
		if at, err = memory.Ago(text, time.Now()); err != nil {
			r.reject(bad("since: %v.", err))
		}
	}
	return at
}

// cut returns the page of a list, which is usually short, that limit and offset select; by default all.
func cut[T any](r *request, list []T) []T {
	limit, from := r.number("limit", max(len(list), 1), 1, maxOffset), min(r.number("offset", 0, 0, maxOffset), len(list))
	return list[from:min(from+limit, len(list))]
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
