package channeltest

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"testing"
	"time"

	"cairn/channel"
	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm/llmtest"
	"cairn/store"
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
	Rules    channel.Rules
	Tools    channel.Toolbox // of the server "calc"; nil: none
	Language string          // in which the bot speaks; empty: English

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
		Toolbox: p.Tools, ToolServers: []string{"calc"}, Spawn: []string{"helper"},
	}
	p.connector = connector
	p.Hub = channel.New(channel.Options{
		Store: p.Store, Connectors: []channel.Connector{connector}, Log: p.Logger(), Rules: p.Rules,
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
	p.leave, p.ran = cancel, ran
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
