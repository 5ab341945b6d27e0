package mcp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"cairn/mcp/builtin"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxAnswer = 4 << 20 // bytes of an answer over HTTP
	maxLog    = 4 << 10 // bytes of a line of a program's standard error
)

// transport starts the program or the built-in server, or leads to the address. stop ends a program;
// it may be called more than once.
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
				Transport: &bounded{c.Headers, http.DefaultTransport},
				CheckRedirect: func(*http.Request, []*http.Request) error { // the headers hold keys
					return http.ErrUseLastResponse
				},
			},
		}, func() {}, nil
	}
	p, err := startProgram(c.Command, environment(c.Env), &lineLog{log: c.log})
	if err != nil {
		return nil, nil, err
	}
	return &sdk.IOTransport{Reader: p, Writer: p}, func() { _ = p.Close() }, nil
}

// environment is what a program gets: no secret of the bot's own is among it.
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

// bounded adds headers, and bounds answers: one of 100 MB must not fill the memory.
type bounded struct {
	headers map[string]string
	next    http.RoundTripper
}

func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range b.headers {
		r.Header.Set(name, value)
	}
	resp, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") { // whose events are bounded one by one
		resp.Body = &boundedBody{resp.Body, maxAnswer}
	}
	return resp, nil
}

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the answer is larger than %d bytes", maxAnswer)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// lineLog logs a program's standard error line by line, at debug level: it may hold anything.
type lineLog struct {
	log  *slog.Logger
	line []byte
}

func (l *lineLog) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n, line, err := bufio.ScanLines(rest, false)
		if err != nil || n == 0 {
			l.line = append(l.line, rest[:min(len(rest), max(0, maxLog-len(l.line)))]...)
			break
		}
		l.line = append(l.line, line[:min(len(line), max(0, maxLog-len(l.line)))]...)
		l.log.Debug("tool_server_said", "line", string(l.line))
		l.line, rest = l.line[:0], rest[n:]
	}
	return len(p), nil
}
