package mcp

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"cairn/mcp/builtin"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxAnswer = 4 << 20 // bytes of a response over HTTP
	maxLog    = 4 << 10 // bytes of what a program writes to standard error at once
)

// transport starts the program or the built-in server, or returns a transport to the address. stop
// ends the program; it may be called more than once.
func (c *connection) transport(ctx context.Context) (t sdk.Transport, stop func(), err error) {
	if c.Builtin != "" {
		server, err := builtin.New(c.Builtin, c.Folder)
		if err != nil {
			return nil, nil, err
		}
		ours, its := sdk.NewInMemoryTransports()
		_, err = server.Connect(ctx, its, nil) // its session ends with ours
		return ours, func() {}, err
	}
	if c.URL != "" {
		return &sdk.StreamableClientTransport{
			Endpoint: c.URL, MaxRetries: 2, MaxEventSize: maxAnswer,
			HTTPClient: &http.Client{
				Transport: &limitedTransport{c.Headers, http.DefaultTransport},
				CheckRedirect: func(*http.Request, []*http.Request) error { // headers may contain keys, which a redirect must not receive
					return http.ErrUseLastResponse
				},
			},
		}, func() {}, nil
	}
	p, err := startProgram(c.Command, environment(c.Env), errorLog{c.log})
	if err != nil {
		return nil, nil, err
	}
	return &sdk.IOTransport{Reader: p, Writer: p}, func() { _ = p.Close() }, nil
}

// environment returns the environment of a program, without the bot's own secrets.
func environment(own map[string]string) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "LANG", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok && own[name] == "" {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range own {
		env = append(env, name+"="+value)
	}
	return env
}

// limitedTransport adds headers and limits the size of responses, so that a huge one cannot exhaust
// memory.
type limitedTransport struct {
	headers map[string]string
	next    http.RoundTripper
}

func (b *limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range b.headers {
		r.Header.Set(name, value)
	}
	resp, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") { // event streams are limited per event
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	}
	return resp, nil
}

// errorLog logs a program's standard error at debug level, because it may contain anything.
type errorLog struct{ log *slog.Logger }

func (l errorLog) Write(p []byte) (int, error) {
	l.log.Debug("tool_server_said", "line", string(bytes.TrimSpace(p[:min(len(p), maxLog)])))
	return len(p), nil
}
