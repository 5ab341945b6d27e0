// Package channeltest has test doubles for conversations: the tools of another program, models that
// use tools, and empty databases. It imports channel, llm, llm/llmtest and internal/storetest.
package channeltest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/channel"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/llm/llmtest"
)

// Folder returns a data folder with a database without conversations.
func Folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	storetest.CopyEmpty(t, dir)
	return dir
}

// Box is a toolbox with one server, calc, whose tool calc_add records its arguments.
type Box struct {
	Approve string // an Approve value of channel.Tool
	About   string // the tool's description

	Connecting chan struct{} // calc is not connected until Connect closes it; nil: it is from the start

	mu        sync.Mutex // guards everything below
	connected bool
	called    []string
}

// Connect connects calc in the order of the program: its tools are there, then notify reports them,
// then those who wait for them continue.
func (b *Box) Connect(notify func()) {
	b.mu.Lock()
	b.connected = true
	b.mu.Unlock()
	notify()
	close(b.Connecting)
}

// Servers returns calc.
func (b *Box) Servers() []channel.ToolServer {
	return []channel.ToolServer{{ID: "calc", Tools: []string{"calc_add"}}}
}

// Ready waits at most 15 seconds until calc is connected, if it is among servers.
func (b *Box) Ready(ctx context.Context, servers []string) {
	if b.Connecting == nil || !slices.Contains(servers, "calc") {
		return
	}
	select {
	case <-b.Connecting:
	case <-time.After(15 * time.Second):
	case <-ctx.Done():
	}
}

// Tools returns calc_add if calc is among servers and connected.
func (b *Box) Tools(servers []string) []channel.Tool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(servers, "calc") || b.Connecting != nil && !b.connected {
		return nil
	}
	return []channel.Tool{{Server: "calc", Approve: b.Approve, Tool: llm.Tool{
		Name: "calc_add", Description: b.About, Parameters: json.RawMessage(`{"type":"object","properties":{}}`),
		Run: func(_ context.Context, arguments json.RawMessage) (string, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.called = append(b.called, string(arguments))
			return "five", nil
		},
	}}}
}

// Called returns the arguments of all calls so far.
func (b *Box) Called() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.called)
}

// Add is a model script that calls calc_add if the message contains "add", and repeats the result.
func Add(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
	last := req.Messages[len(req.Messages)-1]
	if last.Role == llm.RoleTool {
		return llmtest.Say("The tool says: " + last.Text), nil
	}
	if strings.Contains(last.Text, "add") && slices.ContainsFunc(req.Tools, func(t llm.Tool) bool { return t.Name == "calc_add" }) {
		return llmtest.Use(llmtest.Call("1", "calc_add", map[string]any{"a": 2, "key": "sk-" + strings.Repeat("a1B2", 12)})), nil
	}
	return llmtest.Say("Hello."), nil
}

// Delegate is a model script that gives a task to the agent "helper" if the message contains "count",
// and answers with its result.
func Delegate(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
	said := ""
	for i := len(req.Messages) - 1; i >= 0 && req.Messages[i].Role == llm.RoleUser; i-- {
		said += req.Messages[i].Text
	}
	switch {
	case strings.Contains(said, "[Result of task"):
		return llmtest.Say("they say 42"), nil
	case strings.Contains(said, "count"):
		return llmtest.Use(llmtest.Call("1", "spawn", map[string]any{"agent": "helper", "task": "count"})), nil
	case strings.Contains(said, "back?"):
		return llmtest.Say("yes"), nil
	}
	return llmtest.Say("started"), nil
}
