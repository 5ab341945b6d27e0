package mcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"cairn/internal/observe"
	"cairn/llm"

	"github.com/cenkalti/backoff/v5"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"
)

// connectTimeout limits connecting and each listing of tools. A program that is downloaded first is slow.
const connectTimeout = 2 * time.Minute

// Pauses, which tests shorten.
var (
	relistPause = time.Minute            // between two listings of tools, after relistBurst of them
	retryPause  = 500 * time.Millisecond // before the first attempt to reconnect; it grows with each attempt
)

const (
	relistBurst = 3

	// Messages a second that a server may send without a request, after messageBurst of them. A server that sends more
	// is disconnected: reading them would keep a core busy.
	messageRate  = 100
	messageBurst = 5000
)

// connection keeps a session with one server.
type connection struct {
	Server
	version string
	notify  func() // called when the tools have changed; nil: not called
	log     *slog.Logger
	end     context.CancelFunc
	tried   chan struct{} // closed after the first connection attempt
	first   sync.Once     // closes tried
	changed chan struct{} // capacity 1: the list of tools has changed

	tasks    taskTools
	problems []string // those of the latest list; used only by keep's goroutine

	mu       sync.Mutex // guards everything below
	session  *sdk.ClientSession
	why      string     // there is no session
	tools    []llm.Tool // the allowed ones; nil: never read. Replaced only when they change, because requests compare them
	listed   listing    // the rest of the newest list
	incident observe.Incident
}

func newConnection(s Server, version string, notify func(), log *slog.Logger) *connection {
	s.Timeout = cmp.Or(s.Timeout, DefaultTimeout)
	s.MaxResultTokens = cmp.Or(s.MaxResultTokens, DefaultResultTokens)
	return &connection{
		Server: s, version: version, notify: notify, log: log, why: "it is being connected",
		tried: make(chan struct{}), changed: make(chan struct{}, 1),
	}
}

// keep connects and reconnects with backoff until ctx ends.
func (c *connection) keep(ctx context.Context) {
	delay := backoff.NewExponentialBackOff()
	delay.InitialInterval = retryPause
	delay.MaxInterval = 5 * time.Minute
	_, _ = backoff.Retry(ctx, func() (any, error) {
		started := time.Now()
		err := c.connect(ctx)
		if time.Since(started) > delay.MaxInterval {
			delay.Reset()
		}
		return nil, err
	}, backoff.WithBackOff(delay), backoff.WithMaxElapsedTime(0), backoff.WithNotify(c.noteDisconnected)) // it ends with ctx
}

// noteDisconnected records that there is no session, and logs one warning per incident.
func (c *connection) noteDisconnected(err error, _ time.Duration) {
	why := c.describe(err)
	c.mu.Lock()
	c.session = nil
	c.why = why
	c.mu.Unlock()
	c.first.Do(func() { close(c.tried) })
	c.log.Log(context.Background(), c.incident.Begin(), "tool_server_lost", "error", why)
}

// describe returns an error on one line, without path and query of the server's address: they often contain a key.
func (c *connection) describe(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	if u, err := url.Parse(c.URL); err == nil && u.Host != "" {
		line = strings.ReplaceAll(line, u.String(), u.Host)
	}
	return line
}

// connect connects and serves until the connection breaks.
func (c *connection) connect(ctx context.Context) error {
	client := sdk.NewClient(&sdk.Implementation{Name: "cairn", Version: c.version}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{}, // no roots: servers learn nothing about this machine
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case c.changed <- struct{}{}:
			default:
			}
		},
	})
	first, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	flooded := make(chan struct{})
	client.AddReceivingMiddleware(floodGuard(flooded))
	transport, stop, err := c.transport(ctx)
	if err != nil {
		return err
	}
	defer stop()
	defer context.AfterFunc(ctx, stop)() // closing a session would wait for pending writes
	session, err := client.Connect(first, transport, nil)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() {
		stop()
		_ = session.Close() // a killed program returns an error
	}()
	if err := c.list(first, session); err != nil {
		return err
	}
	if c.incident.End() {
		c.log.Info("tool_server_recovered")
	}
	return c.serve(ctx, session, flooded)
}

// serve reads the list again whenever the server says that it has changed, until the connection breaks or the server floods it.
func (c *connection) serve(ctx context.Context, session *sdk.ClientSession, flooded <-chan struct{}) error {
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	relist := rate.NewLimiter(rate.Every(relistPause), relistBurst)
	var due <-chan time.Time // when the list is read again; nil: it has not changed
	for {
		select {
		case <-flooded:
			return fmt.Errorf("it sent more than %d unsolicited messages", messageBurst)
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			return cmp.Or(err, errors.New("the server ended the connection"))
		case <-c.changed:
			if due == nil {
				due = time.After(relist.Reserve().Delay())
			}
		case <-due:
			due = nil
			limited, cancel := context.WithTimeout(ctx, connectTimeout)
			err := c.list(limited, session)
			cancel()
			if err != nil {
				return err
			}
		}
	}
}

// floodGuard returns a middleware that counts what a server sends without a request, and closes flooded if it is too much.
func floodGuard(flooded chan struct{}) sdk.Middleware {
	limit := rate.NewLimiter(messageRate, messageBurst)
	var once sync.Once
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if !limit.Allow() {
				once.Do(func() { close(flooded) })
			}
			return next(ctx, method, r)
		}
	}
}

// list reads the server's tools and stores the allowed ones.
func (c *connection) list(ctx context.Context, session *sdk.ClientSession) error {
	tools, listed, err := c.readAllowed(ctx, session)
	if err != nil {
		return fmt.Errorf("list the tools: %w", err)
	}
	problems := listed.problems()
	for _, problem := range problems {
		if !slices.Contains(c.problems, problem) {
			c.log.Warn("tool_ignored", "problem", problem)
		}
	}
	c.problems = problems
	c.mu.Lock()
	before := c.tools
	changes := changesOf(before, tools)
	renewed := before == nil || len(changes) > 0
	c.session = session
	c.why = ""
	c.listed = listed
	if renewed {
		c.tools = tools
	}
	c.mu.Unlock()
	if renewed && c.notify != nil {
		c.notify()
	}
	c.first.Do(func() { close(c.tried) })
	if before == nil {
		c.log.Info("tool_server_connected", "tools", names(tools), "refused", listed.refused)
	} else if renewed {
		c.log.Warn("tools_changed", "changes", changes, "refused", listed.refused)
	}
	return nil
}

func (c *connection) status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Status{
		ID: c.ID, Connected: c.session != nil, Error: c.why, Tools: names(c.tools),
		Refused: c.listed.refused, Missing: c.listed.missing, Unusable: c.listed.unusable,
	}
}

func changesOf(before, after []llm.Tool) (changes []string) {
	is := names(after)
	for _, old := range before {
		if i := slices.Index(is, old.Name); i < 0 {
			changes = append(changes, old.Name+" is gone")
		} else if old.Description != after[i].Description || !bytes.Equal(old.Parameters, after[i].Parameters) {
			changes = append(changes, old.Name+" was redefined")
		}
	}
	for _, name := range is {
		if !slices.Contains(names(before), name) {
			changes = append(changes, name+" appeared")
		}
	}
	return changes
}
