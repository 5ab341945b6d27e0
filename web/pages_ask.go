package web

import (
	"encoding/json"
	"net/http"
	"net/url"
)

// The pages show what the API answers and do what it does: a page, whose visitor has shown the
// token, asks it within the process.

// ask makes a call of the API. What the API refuses is returned as its Problem.
func (v *visit) ask(method, path string, query url.Values, body, into any) error {
	text, err := v.s.API()(v.Context(), method, path, query, body)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// get is ask for something to show.
func (v *visit) get(path string, query url.Values, into any) error {
	return v.ask(http.MethodGet, path, query, nil, into)
}

// apiOf returns the path of a conversation in the API.
func apiOf(name string) string { return "/api/conversations/" + url.PathEscape(name) }

// bad returns an error about the request.
func bad(format string, args ...any) error { return problem(http.StatusBadRequest, format, args...) }
