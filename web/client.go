// Who asks the API: the pages within the process, MCP clients, and a command beside the bot.
package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
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
			return nil, &silence{err}
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswered))
		if err != nil {
			return nil, &silence{err}
		}
		return answerOf(resp.StatusCode, text)
	}
}

// silence is why a bot gave no answer.
type silence struct{ error }

func (s *silence) Unwrap() error { return s.error }

// sent reports whether the request may have reached the bot.
func (s *silence) sent() bool {
	var op *net.OpError
	return !errors.As(s.error, &op) || op.Op != "dial"
}

// How long a bot may take to answer, and how long it is left alone after it refused
// who asks: each wrong token brings it nearer to refusing everybody at this address.
const (
	answerTime = 10 * time.Second
	refusal    = time.Minute
)

// BotFirst makes calls of a running bot. While it does not answer, or refuses who asks, what only
// reads comes from the database, and a change is refused. at is its address, for errors.
func BotFirst(bot, database API, at string) API {
	var again atomic.Int64 // when to ask the bot again, in Unix nanoseconds
	return func(ctx context.Context, method, path string, query url.Values, body any) (json.RawMessage, error) {
		if method != http.MethodGet && path != simulatePath {
			text, err := inTime(ctx, bot, method, path, query, body)
			return text, changeProblem(err, at)
		}
		if time.Now().UnixNano() >= again.Load() {
			text, err := inTime(ctx, bot, method, path, query, body)
			if err == nil || ctx.Err() != nil {
				return text, err
			}
			switch status := statusOf(err); status {
			case http.StatusUnauthorized, http.StatusForbidden, http.StatusMisdirectedRequest, http.StatusTooManyRequests:
				again.Store(time.Now().Add(refusal).UnixNano())
			case http.StatusServiceUnavailable, 0:
			default:
				return nil, err
			}
		}
		return database(ctx, method, path, query, body)
	}
}

// inTime makes a call of a bot that may hang. A simulation takes as long as it takes.
func inTime(ctx context.Context, bot API, method, path string, query url.Values, body any) (json.RawMessage, error) {
	if path != simulatePath {
		limited, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		ctx = limited
	}
	return bot(ctx, method, path, query, body)
}

// statusOf returns the status of a *Problem; 0 for other errors.
func statusOf(err error) int {
	var p *Problem
	if errors.As(err, &p) {
		return p.Status
	}
	return 0
}

// changeProblem says what to do if a bot did not make a change.
func changeProblem(err error, at string) error {
	var gone *silence
	switch {
	case errors.As(err, &gone) && !gone.sent():
		return fmt.Errorf("nothing was changed: no bot answers at %s; start it with \"cairn run\" and call again (reading works without it)", at)
	case errors.As(err, &gone):
		return fmt.Errorf("the bot at %s gave no answer: look whether the change was made before you call again", at)
	case statusOf(err) == http.StatusUnauthorized:
		return fmt.Errorf("nothing was changed: the bot at %s refuses the token; set CAIRN_WEB_TOKEN, or token under [web], to the one the bot has, and restart this server", at)
	}
	return err
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
