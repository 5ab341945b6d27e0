// Clients of the API: the pages within the process, MCP clients, and commands beside the bot.

package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// API makes a call to the HTTP API and returns the response body. Rejections are returned as
// *Problem. A nil body is not sent.
type API func(ctx context.Context, method, path string, query url.Values, body any) (json.RawMessage, error)

// trusted marks the context of a call that has full access: one within the process, or through the bot's socket.
type trusted struct{}

// API returns the API for calls within the process, with full access.
func (s *Server) API() API { return s.Client().call }

// Client reaches the server within the process, with full access.
func (s *Server) Client() Client {
	return Client{Transport: inProcess{s.router.mux}, Base: "http://localhost"}
}

// inProcess answers requests within the process.
type inProcess struct{ mux http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := &reply{header: http.Header{}, status: http.StatusOK}
	p.mux.ServeHTTP(answer, r.WithContext(context.WithValue(r.Context(), trusted{}, true)))
	if answer.body.Len() == 0 && r.Context().Err() != nil { // fail wrote nothing, because nobody waits any more
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: answer.status, Header: answer.header, Body: io.NopCloser(&answer.body)}, nil
}

// maxResponse limits a response, in bytes.
const maxResponse = 64 << 20

// Client reaches a running bot at a base address, such as "http://127.0.0.1:8090".
type Client struct {
	Transport http.RoundTripper
	Base      string
	Token     string // "": none is needed
}

// Remote returns the API of a running bot.
func Remote(transport http.RoundTripper, base, token string) API {
	return Client{transport, base, token}.call
}

func (c Client) call(ctx context.Context, method, path string, query url.Values, body any) (json.RawMessage, error) {
	resp, err := c.send(ctx, method, path, query, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(io.LimitReader(resp.Body, maxResponse))
}

// send returns the response to a request, unless that was rejected. headers are names and values.
func (c Client) send(ctx context.Context, method, path string, query url.Values, body any, headers ...string) (*http.Response, error) {
	var sent bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&sent).Encode(body); err != nil {
			return nil, fmt.Errorf("write the request: %w", err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, c.Base+path+"?"+query.Encode(), &sent)
	if err != nil {
		return nil, bad("%v", err)
	}
	r.Header.Set("Content-Type", "application/json")
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	resp, err := c.Transport.RoundTrip(r) // which follows no redirects
	if err != nil || resp.StatusCode < 300 {
		return resp, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	p := &Problem{}
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode < 400: // a redirect: the path is not clean
		return nil, problem(http.StatusNotFound, "There is nothing with that name or number.")
	case json.Unmarshal(text, p) != nil || p.Detail == "":
		return nil, errors.New(http.StatusText(resp.StatusCode))
	}
	return nil, p
}

const botTimeout = 10 * time.Second

// WithChangesTo returns an API that reads from the database and makes changes through a running bot.
// at is the bot's address, for errors.
func WithChangesTo(bot, database API, at string) API {
	return func(ctx context.Context, method, path string, query url.Values, body any) (json.RawMessage, error) {
		if method == http.MethodGet || path == simulatePath {
			return database(ctx, method, path, query, body)
		}
		ctx, cancel := context.WithTimeout(ctx, botTimeout)
		defer cancel()
		text, err := bot(ctx, method, path, query, body)
		if err != nil && statusOf(err) == 0 {
			const remedy = `start it with "cairn run", and check whether the change was made before you try again`
			return nil, fmt.Errorf("the bot at %s gave no answer: %s (reading works without the bot)", at, remedy)
		}
		return text, err
	}
}

// statusOf returns the status of a *Problem; 0 for other errors.
func statusOf(err error) int {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p.Status
	}
	return 0
}

// reply records a response within the process.
type reply struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *reply) Header() http.Header            { return r.header }
func (r *reply) WriteHeader(status int)         { r.status = status }
func (r *reply) Write(text []byte) (int, error) { return r.body.Write(text) }
