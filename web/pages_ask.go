package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// The pages show what the API answers and do what it does: a page asks it within the process.

// ask makes a call of the API as the visitor. What the API refuses is returned as its Problem.
func (v *visit) ask(method, path string, query url.Values, body, into any) error {
	var sent bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&sent).Encode(body); err != nil {
			return fmt.Errorf("write the request: %w", err)
		}
	}
	r, err := http.NewRequestWithContext(v.Context(), method, path+"?"+query.Encode(), &sent)
	if err != nil {
		return bad("%v", err)
	}
	r.RemoteAddr = v.RemoteAddr
	r.Header = http.Header{"Content-Type": {"application/json"}, "Cookie": v.Header["Cookie"], "Authorization": v.Header["Authorization"]}
	reply := &reply{header: http.Header{}, status: http.StatusOK}
	v.s.mux.ServeHTTP(reply, r)
	if reply.status >= 400 {
		p := &Problem{}
		if err := json.Unmarshal(reply.body.Bytes(), p); err != nil {
			return fmt.Errorf("%s %s: %d", method, path, reply.status)
		}
		return p
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(reply.body.Bytes(), into)
}

// reply is an answer that stays in the process.
type reply struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *reply) Header() http.Header            { return r.header }
func (r *reply) WriteHeader(status int)         { r.status = status }
func (r *reply) Write(text []byte) (int, error) { return r.body.Write(text) }

// get is ask for something to show.
func (v *visit) get(path string, query url.Values, into any) error {
	return v.ask(http.MethodGet, path, query, nil, into)
}

// apiOf is the path of a conversation in the API.
func apiOf(name string) string { return "/api/conversations/" + url.PathEscape(name) }

// bad is an error about what was sent.
func bad(format string, args ...any) error { return problem(http.StatusBadRequest, format, args...) }
