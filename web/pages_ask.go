package web

import (
	"encoding/json"
	"net/http"
	"net/url"
)

// The pages show what the API returns and change things through it. They call it within the
// process, after the visitor has authenticated.

// ask makes a call to the API. Rejections are returned as *Problem.
func (v *visit) ask(method, path string, query url.Values, body, into any) error {
	text, err := v.s.API()(v.Context(), method, path, query, body)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// get is ask for reads.
func (v *visit) get(path string, query url.Values, into any) error {
	return v.ask(http.MethodGet, path, query, nil, into)
}

// apiOf returns the API path of a conversation.
func apiOf(name string) string { return "/api/conversations/" + url.PathEscape(name) }

// bad returns a Problem with status 400.
func bad(format string, args ...any) error { return problem(http.StatusBadRequest, format, args...) }
