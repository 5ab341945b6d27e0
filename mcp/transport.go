package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/mcp/builtin"
)

const (
	maxAnswer = 4 << 20 // bytes of a response over HTTP
	maxLog    = 4 << 10 // bytes of what a program writes to standard error in one call
)

// transport starts the program or the built-in server, or returns a transport to the address. stop ends the program;
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
				Transport: &limitedTransport{c.Headers, http.DefaultTransport, c.noteResult},
				CheckRedirect: func(*http.Request, []*http.Request) error { // headers may contain keys, which a redirect must not receive
					return http.ErrUseLastResponse
				},
			},
		}, func() {}, nil
	}
	p, err := startProgram(c.Command, environment(c.Env), errorLog{c.log})
	return notingTransport{&sdk.IOTransport{Reader: p, Writer: p}, c.noteResult}, func() { _ = p.Close() }, err
}

func (c *connection) noteResult(result []byte) { c.tasks.note(result, c.Allow) }

// environment returns the environment of a program, without the bot's secrets.
func environment(settings map[string]string) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "LANG", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok && settings[name] == "" {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range settings {
		env = append(env, name+"="+value)
	}
	return env
}

// firstEvent begins the id of the event put before each stream of notifications, with the milliseconds to the next stream.
// Servers and proxies end idle streams, and the SDK gives up a session after three without an event that has an id.
const firstEvent = "cairn-"

// limitedTransport adds headers and limits the size of responses, so that a huge one cannot exhaust memory.
type limitedTransport struct {
	headers map[string]string
	next    http.RoundTripper
	note    func(result []byte) // called with each result in a response
}

func (b *limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range b.headers {
		r.Header.Set(name, value)
	}
	if strings.HasPrefix(r.Header.Get("Last-Event-ID"), firstEvent) {
		r.Header.Del("Last-Event-ID")
		time.Sleep(100 * time.Millisecond) // the server may ask for a pause of a millisecond, and end each stream immediately
	}
	resp, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusNotFound && r.Header.Get("Mcp-Session-Id") != "" { // the server has forgotten the session
		_, resp.Body = resp.Body.Close(), http.NoBody // with an error in it the SDK would keep the session
	}
	events := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
	if !events { // event streams are limited per event
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	} else if r.Method == http.MethodGet && r.Header.Get("Last-Event-ID") == "" {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(strings.NewReader("id: "+firstEvent+rand.Text()+"\nretry: 5000\n\n"), resp.Body), resp.Body}
	}
	resp.Body = &notingBody{ReadCloser: resp.Body, events: events, note: b.note}
	return resp, nil
}

// errorLog logs a program's standard error at debug level, because it may contain anything.
type errorLog struct{ log *slog.Logger }

func (l errorLog) Write(p []byte) (int, error) {
	l.log.Debug("tool_server_said", "line", string(bytes.TrimSpace(p[:min(len(p), maxLog)])))
	return len(p), nil
}

// Timeouts, which tests shorten.
var (
	endTimeout   = 2 * time.Second  // for a program to exit by itself, and again after SIGTERM
	writeTimeout = 10 * time.Second // for a program to read its input
)

// maxUnread is how many bytes a program may write while it does not read.
const maxUnread = 1 << 20

// program is a server started as a program; Write and Read are its input and output. A program that does not read its
// input is given up: otherwise all later writes would block, and so would closing the connection.
type program struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     io.Reader
	writing atomic.Bool  // a Write is running
	unread  atomic.Int64 // bytes read since the Write started
	once    sync.Once    // guards Close
}

// startProgram starts a program without a shell.
func startProgram(command, env []string, errs io.Writer) (*program, error) {
	p := &program{cmd: exec.Command(command[0], command[1:]...)}
	p.cmd.Env = env
	p.cmd.Stderr = errs
	p.cmd.WaitDelay = endTimeout
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its children end with it
	var err error
	p.in, err = p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.out, err = p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return p, p.cmd.Start()
}

// Write writes to the program's input, with writeTimeout. After an error all further writes fail.
func (p *program) Write(text []byte) (n int, err error) {
	p.unread.Store(0)
	p.writing.Store(true)
	defer p.writing.Store(false)
	defer time.AfterFunc(writeTimeout, func() { _ = p.in.Close() }).Stop()
	n, err = p.in.Write(text)
	if err != nil {
		err = fmt.Errorf("it does not read its input: %w", err)
	}
	return n, err
}

// Read reads the program's output.
func (p *program) Read(text []byte) (int, error) {
	n, err := p.out.Read(text)
	if p.writing.Load() && p.unread.Add(int64(n)) > maxUnread {
		_ = p.in.Close()
		return 0, errors.New("it writes endlessly, and does not read its input")
	}
	return n, err
}

// Close ends the program: it closes its input and then, if that is not enough, sends signals to it and its children.
func (p *program) Close() error {
	p.once.Do(func() {
		kill := func(signal syscall.Signal) func() {
			return func() { _ = syscall.Kill(-p.cmd.Process.Pid, signal) }
		}
		_ = p.in.Close() // the program may already have closed it
		defer time.AfterFunc(endTimeout, kill(syscall.SIGTERM)).Stop()
		defer time.AfterFunc(2*endTimeout, kill(syscall.SIGKILL)).Stop()
		_ = p.cmd.Wait()        // it got a request to end, so its status does not matter
		kill(syscall.SIGKILL)() // remaining children
	})
	return nil
}
