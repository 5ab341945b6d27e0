// Package channeltest has test doubles for conversations: a hub with one connector, the tools of
// another program, and models that use tools.
package channeltest

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/chat"
	"cairn/compactor"
	"cairn/llm"
	"cairn/store"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
)

// Patience is how long a test waits for what must come, on a busy machine too.
const Patience = time.Minute

// Connector is a connector to a platform.
type Connector interface {
	channel.Connector
	Run(ctx context.Context, hub *channel.Hub) error
}

// Program is a hub with one connector and a scripted model. It can be opened again after Close, as a new
// process on the same files.
type Program struct {
	T        testing.TB
	Dir      string // of its data
	Log      check.Buffer
	Model    *llmtest.Model
	Helper   *llmtest.Model // of the agent "helper", to which the bot gives tasks; nil: there is none
	Rules    access.Rules
	Tools    channel.Toolbox // of the server "calc"; nil: none
	Language string          // in which the bot speaks; empty: English
	Choices  []channel.Choice

	Lease func(s *store.Store) *store.Lease // makes this process one of several; nil: it is alone

	Store *store.Store // from Open to Close
	Hub   *channel.Hub // the same

	connector Connector
	leave     context.CancelFunc // ends the connector's Run; nil: it does not run
	ran       chan error         // what it returned
}

// Logger writes to Log.
func (p *Program) Logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(&p.Log, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Open makes the hub of a connector.
func (p *Program) Open(connector Connector) {
	p.T.Helper()
	storetest.CopyEmpty(p.T, p.Dir)
	p.Store = check.Must(store.Open(context.Background(), store.Options{Dir: p.Dir}))(p.T)
	agent := channel.Agent{
		Model: p.Model, MaxOutput: 500, Policy: compactor.DefaultPolicy, Language: p.Language,
		Toolbox: p.Tools, ToolServers: []string{"calc"}, Spawn: []string{"helper"}, Choices: p.Choices,
	}
	p.connector = connector
	var lease *store.Lease
	if p.Lease != nil {
		lease = p.Lease(p.Store)
	}
	p.Hub = channel.New(channel.Options{
		Store: p.Store, Lease: lease, Connectors: []channel.Connector{connector}, Log: p.Logger(), Rules: p.Rules,
		Agent: func(string) channel.Agent { return agent },
		Agents: func(id string) (channel.Agent, bool) {
			return channel.Agent{ID: id, Model: p.Helper, MaxOutput: 500, Policy: compactor.DefaultPolicy}, p.Helper != nil
		},
	})
	check.NoError(p.T, p.Hub.Recover(context.Background(), func(string) bool { return true })) // as the program does
}

// Run has the connector run until Close.
func (p *Program) Run() {
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- p.connector.Run(ctx, p.Hub) }()
	p.leave = cancel
	p.ran = ran
}

// Ended waits until the connector's Run ends by itself, and returns why.
func (p *Program) Ended() (err error) {
	p.T.Helper()
	select {
	case err = <-p.ran:
		p.leave()
		p.leave = nil
	case <-time.After(Patience):
		p.T.Fatalf("Run goes on\n%s", &p.Log)
	}
	return err
}

// Close ends the program as a shutdown does.
func (p *Program) Close() {
	p.T.Helper()
	if p.Hub == nil {
		return
	}
	var err error
	if p.leave != nil {
		p.leave()
		err = p.Ended()
	}
	check.Error(p.T, errors.Join(err, p.Hub.Close(), p.Store.Close()), nil)
	p.Hub = nil
}

// Idle waits until nothing is being done in a conversation.
func (p *Program) Idle(name string) {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	err := p.Hub.Idle(ctx, name)
	check.Require(p.T, err == nil, "%s does not settle: %v\n%s", name, err, &p.Log)
}

// Transcript is what is stored of a conversation.
func (p *Program) Transcript(name string) []chat.Message {
	p.T.Helper()
	c := check.Must(p.Store.Conversation(context.Background(), name))(p.T)
	return check.Must(c.Transcript().Page(context.Background(), 1, 10_000))(p.T)
}

// Exec executes a statement on the database, whether the program is open or not.
func (p *Program) Exec(statement string) {
	p.T.Helper()
	db := check.Must(sql.Open("sqlite3", "file:"+store.File(p.Dir)+"?_busy_timeout=10000"))(p.T)
	defer db.Close()
	check.Must(db.Exec(statement))(p.T)
}

// Age makes what is stored an hour older: of what was stored just now a history may say nothing.
func (p *Program) Age() { p.Exec("UPDATE messages SET saved_at = saved_at - 3600000") }

// Silent is a connector of this name that accepts every piece and shows nothing.
type Silent string

func (s Silent) Name() string                                               { return string(s) }
func (Silent) Split(text string) []string                                   { return []string{text} }
func (s Silent) Reply(string, []string) channel.Writer                      { return s }
func (Silent) Show(string)                                                  {}
func (Silent) Cancel()                                                      {}
func (Silent) Run(context.Context, *channel.Hub) error                      { return nil }
func (Silent) Send(_ context.Context, p channel.Piece) (id string, _ error) { return p.Reply, nil }

// Box is a toolbox with one server, calc, whose tool calc_add records its arguments.
type Box struct {
	Approve  string      // channel.ApproveFirst, for example
	About    string      // the tool's description
	Result   string      // what the tool returns; "": five
	Pictures []llm.Image // with it

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
func (b *Box) Tools(servers []string) []llm.Tool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(servers, "calc") || b.Connecting != nil && !b.connected {
		return nil
	}
	return []llm.Tool{{
		Approve: b.Approve, Name: "calc_add", Description: b.About, Parameters: json.RawMessage(`{"type":"object","properties":{}}`),
		Run: func(_ context.Context, arguments json.RawMessage) (llm.Result, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.called = append(b.called, string(arguments))
			return llm.Result{Text: cmp.Or(b.Result, "five"), Images: b.Pictures}, nil
		},
	}}
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

// DaysLater is a statement that makes the open turn, and the question about a tool that it asked, eight days older.
const DaysLater = `UPDATE messages SET saved_at = saved_at - 8 * 86400000, said_at = said_at - 8 * 86400000;
	UPDATE overrides SET value = json_set(value, '$[0].asked', strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-8 days')) WHERE key = 'tools.asked'`
