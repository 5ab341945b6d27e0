// Who asks the API: the pages within the process, MCP clients, and a command beside the bot.
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
)

// API makes a call of the HTTP API and returns its answer. What the API refuses is a *Problem.
// A body that is nil is not sent.
type API func(ctx context.Context, method, path string, query url.Values, body any) (json.RawMessage, error)

// trusted marks the context of a call within the process, by who may see everything.
type trusted struct{}

// API makes calls within the process. Whoever gets it may see and change everything.
func (s *Server) API() API {
	return func(ctx context.Context, method, path string, query url.Values, body any) (json.RawMessage, error) {
		r, err := newCall(context.WithValue(ctx, trusted{}, true), method, path, query, body)
		if err != nil {
			return nil, bad("%v", err)
		}
		reply := &reply{header: http.Header{}, status: http.StatusOK}
		s.mux.ServeHTTP(reply, r)
		return answerOf(reply.status, reply.body.Bytes())
	}
}

// mostAnswered bounds an answer that is read over the network, in bytes.
const mostAnswered = 64 << 20

// Remote makes calls of the API of a running bot at base, "http://127.0.0.1:8090".
func Remote(client *http.Client, base, token string) API {
	return func(ctx context.Context, method, path string, query url.Values, body any) (json.RawMessage, error) {
		r, err := newCall(ctx, method, base+path, query, body)
		if err != nil {
			return nil, err
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := client.Do(r)
		if err != nil {
			return nil, fmt.Errorf("the bot does not answer: %w", err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswered))
		if err != nil {
			return nil, fmt.Errorf("read the bot's answer: %w", err)
		}
		return answerOf(resp.StatusCode, text)
	}
}

func newCall(ctx context.Context, method, path string, query url.Values, body any) (*http.Request, error) {
	var sent bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&sent).Encode(body); err != nil {
			return nil, fmt.Errorf("write the request: %w", err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, path+"?"+query.Encode(), &sent)
	if err == nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, err
}

func answerOf(status int, text []byte) (json.RawMessage, error) {
	if status < 300 {
		return text, nil
	}
	p := &Problem{}
	switch err := json.Unmarshal(text, p); {
	case status < 400: // a path that is not clean
		return nil, problem(http.StatusNotFound, "There is nothing of that name.")
	case err != nil || p.Detail == "":
		return nil, errors.New(http.StatusText(status))
	}
	return nil, p
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
