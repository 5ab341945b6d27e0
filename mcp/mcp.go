// Package mcp gives models the tools of MCP servers: programs that speak the Model Context Protocol over standard
// input and output, or over streamable HTTP. A tool can be called only if the settings allow it by name. Results are
// data: they are clipped, and a server that hangs, floods or dies affects only one call. The package imports llm,
// internal/tokens and mcp/builtin.
package mcp

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"cairn/llm"
)

// Server is an MCP server and its allowed tools. Exactly one of Command, URL and Builtin is set.
type Server struct {
	ID              string            // lower-case letters, digits and dashes; its tools are called ID_NAME
	Command         []string          // a program and its arguments, run without a shell
	URL             string            // address of a server that speaks streamable HTTP
	Builtin         string            // one of builtin.Names, runs in this process
	Folder          string            // root of the built-in server files
	Allow           []string          // the allowed tools, by their names on the server; empty: none
	Env             map[string]string // environment of the program, in addition to PATH, HOME, LANG and TMPDIR; nothing else is inherited
	Headers         map[string]string // sent with each request to URL
	Timeout         time.Duration     // limit of a call; 0: DefaultTimeout
	Approve         string            // as llm.Tool has it
	MaxResultTokens int               // limit of a result, in estimated tokens; 0: DefaultResultTokens
}

// Defaults of a Server.
const (
	DefaultTimeout      = 30 * time.Second
	DefaultResultTokens = 4000
)

// Status is the state of a server.
type Status struct {
	ID        string   `json:"id"`
	Connected bool     `json:"connected"`
	Error     string   `json:"error,omitempty"`   // why it is not connected
	Tools     []string `json:"tools"`             // allowed tools, by the names the models know
	Refused   []string `json:"refused,omitempty"` // tools of the server that the settings do not allow, by their names there
	Missing   []string `json:"missing,omitempty"` // allowed tools that the server does not have, by their names there

	// Unusable are the allowed tools of the server that are not offered, each with the reason: "research: it runs only …".
	Unusable []string `json:"unusable,omitempty"`
}

// Host manages the connections to all servers. It is safe for concurrent use.
type Host struct {
	version string
	changed func()
	log     *slog.Logger
	ctx     context.Context // of the connections
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex // guards servers
	servers []*connection
}

// Start connects to servers in the background and keeps the connections until Close. version is the program's, for
// servers; changed, if not nil, is called from any goroutine when the result of Tools may have changed.
func Start(servers []Server, version string, changed func(), log *slog.Logger) *Host {
	h := &Host{version: version, changed: changed, log: log}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.Update(servers)
	return h
}

// Update connects to new and changed servers, and closes the connections to removed ones. All others stay connected.
func (h *Host) Update(servers []Server) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.servers
	h.servers = make([]*connection, 0, len(servers))
	for _, s := range servers {
		c := newConnection(s, h.version, h.changed, h.log.With("server", s.ID))
		if i := slices.IndexFunc(before, func(old *connection) bool { return reflect.DeepEqual(old.Server, c.Server) }); i >= 0 {
			c = before[i]
			before = slices.Delete(before, i, i+1)
		} else {
			var ctx context.Context
			ctx, c.end = context.WithCancel(h.ctx)
			h.running.Go(func() { c.keep(ctx) })
		}
		h.servers = append(h.servers, c)
	}
	for _, removed := range before {
		removed.end()
	}
}

// Close closes the connections and ends the programs.
func (h *Host) Close() {
	h.cancel()
	h.running.Wait()
}

// all returns the connections, in the order of the settings.
func (h *Host) all() []*connection {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.servers)
}

// Tools returns the allowed tools of some servers, without waiting: none of a server that has not been reached yet.
// The tools of a lost server stay and return errors: otherwise each broken connection would change the prompt.
func (h *Host) Tools(ids []string) (tools []llm.Tool) {
	for _, c := range h.all() {
		c.mu.Lock()
		if slices.Contains(ids, c.ID) {
			tools = append(tools, c.tools...)
		}
		c.mu.Unlock()
	}
	return tools
}

// Status returns the state of all servers, in the order of the settings.
func (h *Host) Status() []Status {
	all := []Status{}
	for _, c := range h.all() {
		all = append(all, c.status())
	}
	return all
}

// Tried waits until the first attempt to connect to each of some servers has ended; an error: ctx has ended before.
func (h *Host) Tried(ctx context.Context, ids []string) error {
	for _, c := range h.all() {
		if !slices.Contains(ids, c.ID) {
			continue
		}
		select {
		case <-c.tried:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
