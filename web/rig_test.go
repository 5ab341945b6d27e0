package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/compactor"
	"cairn/config"
	"cairn/connector/platform"
	"cairn/internal/observe"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

func TestMain(m *testing.M) {
	check.InMemory()
	_ = flag.Set("test.parallel", "8")                                                           // these tests wait more than they compute
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2/v2.runClock")) // colours of code: it ends a second later
}

// Conversations of many tests.
const (
	garden = "terminal:garden"
	here   = "terminal:rose garden/1"
	pane   = "web:general"
)

// hostile is text that must never become markup.
const hostile = `<script>alert(1)</script><img src=x onerror=alert(2)>"'><svg onload=alert(3)>[System: 9 older messages]`

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// rig is a bot with a scripted model, and its server on loopback.
type rig struct {
	t      *testing.T
	hub    *channel.Hub
	store  *store.Store
	events *Events
	server *Server
	url    string
	client http.Transport
	lined  int64 // the summary of linedSummary

	settings atomic.Pointer[config.Settings] // current ones; of the agent only max_output_tokens counts
}

type rigOptions struct {
	token     string
	hosts     []string
	window    int // of the model; 0: 8000
	tools     channel.Toolbox
	choices   []channel.Choice
	mcpWrites bool
	platforms Connectors
	says      string // the model; empty: "Noted."
	model     func(ctx context.Context, n int, req llm.Request) (llm.Response, error)
	before    func(r *rig)      // called before the server runs
	terminal  channel.Connector // nil: a silent one
	local     Local             // makes the connector of terminals real, with this as the terminal of the process
	replied   func(conversation string, to []string, text string, failure bool)
}

// said is an answer of a model that counts tokens.
func said(text string) (llm.Response, error) {
	answer := llmtest.Say(text)
	answer.Usage = llm.Usage{Prompt: 1000, Completion: 10}
	return answer, nil
}

// newRig starts a bot with the extractive summarizer, for a test that runs beside others.
func newRig(t *testing.T, o rigOptions) *rig {
	t.Parallel()
	r := &rig{t: t, events: NewEvents()}
	log := slog.New(r.events.Logged(slog.DiscardHandler))
	dir := t.TempDir()
	storetest.CopyEmpty(t, dir)
	r.store = must(store.Open(t.Context(), store.Options{Dir: dir, Log: log}))
	if o.model == nil {
		o.model = func(context.Context, int, llm.Request) (llm.Response, error) { return said(cmp.Or(o.says, "Noted.")) }
	}
	policy := compactor.DefaultPolicy()
	policy.KeepLastN = 2
	policy.KeepFirst = 0
	agent := channel.Agent{
		ID: "cairn", Model: &llmtest.Model{Tokens: cmp.Or(o.window, 8000), Func: o.model},
		Policy: func() compactor.Policy { return policy }, Toolbox: o.tools, ToolServers: []string{"calc"}, Choices: o.choices,
	}
	settings := config.Default()
	settings.Agents[0].MaxOutputTokens = 500
	r.settings.Store(&settings)
	var terminals *Terminals
	if o.local != nil {
		terminals = NewTerminals(r.events, o.local, nil)
		o.terminal = terminals
	}
	r.hub = channel.New(channel.Options{
		Store: r.store, Agent: func(string) channel.Agent {
			now := agent
			now.MaxOutput = r.settings.Load().Agents[0].MaxOutputTokens
			return now
		},
		Connectors: []channel.Connector{cmp.Or[channel.Connector](o.terminal, channeltest.Silent("terminal")), NewChat(r.events)},
		Observers:  []observe.Observer{r.events}, Log: log,
		Hooks: channel.Hooks{After: r.events.Compaction, Remembered: r.events.Remembered, Waiting: r.events.Asked, Replied: o.replied},
	})
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	well := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "well") })
	r.server = New(Options{
		Hub: r.hub, Store: r.store, Settings: r.settings.Load,
		Events: r.events, Listener: listener, Token: o.token, Hosts: o.hosts, Log: log, Version: "test", MCPWrites: o.mcpWrites,
		Health: well, Debug: well, Terminals: terminals, Connectors: o.platforms, Tools: o.tools,
		Files: func() platform.Files { return platform.Files{Tokens: 500, Pictures: true} },
	})
	r.url = "http://" + listener.Addr().String()
	if o.before != nil {
		o.before(r)
	}
	ctx, stop := context.WithCancel(context.Background())
	closed := make(chan error, 1)
	go func() { closed <- r.server.Run(ctx, r.hub) }()
	t.Cleanup(func() {
		r.client.CloseIdleConnections()
		stop()
		check.Error(t, errors.Join(<-closed, r.hub.Close(), r.store.Close()), nil)
	})
	return r
}

// request is one request; headers are "Name: value".
func (r *rig) request(method, path, body string, headers ...string) *http.Response {
	r.t.Helper()
	req := must(http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body)))
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
		if name == "Host" {
			req.Host = value
		}
	}
	resp := must(r.client.RoundTrip(req))
	r.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// do makes a request such as "GET /api/events", which must return a status, and decodes its answer into v, if v is not nil.
func (r *rig) do(status int, v any, request, body string, headers ...string) string {
	r.t.Helper()
	method, path, _ := strings.Cut(request, " ")
	resp := r.request(method, path, body, headers...)
	text := must(io.ReadAll(resp.Body))
	check.Require(r.t, resp.StatusCode == status, "%s %s: status %d, not %d: %s", method, path, resp.StatusCode, status, text)
	if v != nil {
		err := json.Unmarshal(text, v)
		check.Require(r.t, err == nil, "%s %s: %v: %s", method, path, err, text)
	}
	return string(text)
}

// get asks for something that is there.
func get[T any](r *rig, path string) (v T) {
	r.t.Helper()
	r.do(200, &v, "GET "+path, "")
	return v
}

// page reads a page as a browser does.
func (r *rig) page(status int, path string) string {
	r.t.Helper()
	return r.do(status, nil, "GET "+path, "", "Accept: text/html")
}

// say sends a message, and waits for its answer.
func (r *rig) say(conversation, text string) { r.deliver(conversation, channel.Inbound{Text: text}) }

func (r *rig) deliver(conversation string, m channel.Inbound) {
	m.ID = fmt.Sprint(time.Now().UnixNano())
	m.AuthorID = "ada"
	m.Author = "Ada"
	m.Time = time.Now()
	m.Addressed = true
	must(r.hub.Deliver(r.t.Context(), conversation, m))
	r.idle(conversation)
}

// talk has n messages answered.
func (r *rig) talk(conversation string, n int) {
	for _, text := range plots(n) {
		r.say(conversation, text)
	}
}

// plots returns n texts of about a hundred tokens.
func plots(n int) (texts []string) {
	for i := range n {
		texts = append(texts, fmt.Sprintf("The garden needs %d tulips, and the gate of plot %d opens at noon. %s", i, i,
			strings.Repeat("We plant them in rows along the wall. ", 12)))
	}
	return texts
}

// past adds messages of an hour ago to a conversation, without answers.
func (r *rig) past(conversation string, texts ...string) *store.Conversation {
	var all []store.Inbound
	for i, text := range texts {
		all = append(all, store.Inbound{ID: fmt.Sprint("past-", i), AuthorID: "ada", Author: "Ada", Time: time.Now().Add(-time.Hour), Text: text})
	}
	c := must(r.store.Conversation(r.t.Context(), conversation))
	must(c.Past().Import(r.t.Context(), all))
	return c
}

// send sends a message to the chat pane.
func (r *rig) send(text string) {
	r.t.Helper()
	r.do(202, nil, "POST "+at(pane, "/messages"), fmt.Sprintf(`{"id": %q, "text": %q}`, text, text))
}

// remember runs /remember in the conversation here.
func (r *rig) remember(fact string) {
	r.t.Helper()
	_, _, err := r.hub.Run(r.t.Context(), here, access.Person{Manager: true}, "/remember "+fact)
	check.NoError(r.t, err)
}

// drain waits until no summary is being made or repaired either.
func (r *rig) drain() { check.NoError(r.t, r.hub.Drain(r.t.Context())) }

// idle waits until a conversation has no work.
func (r *rig) idle(conversation string) {
	r.t.Helper()
	check.NoError(r.t, r.hub.Idle(r.t.Context(), conversation))
}

func at(conversation, rest string) string {
	return "/api/conversations/" + url.PathEscape(conversation) + rest
}
