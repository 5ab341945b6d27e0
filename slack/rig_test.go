// What the tests share: a workspace, and a bot in it whose model is scripted.

package slack

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cairn/channel"
	"cairn/channel/channeltest"
	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/slack/slacktest"
	"cairn/store"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // as the program's default has it: what is rendered must not depend on the machine
	flag.Parse()
	// The tests mostly wait, side by side.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	check.InMemory()
	goleak.VerifyTestMain(m)
}

// soon is long enough for everything that happens at all, on a busy machine too.
const soon = time.Minute

const mention = "<@" + slacktest.BotUserID + "> "

// rig is a workspace, and a bot in it whose model is scripted.
type rig struct {
	t      testing.TB
	dir    string
	w      *slacktest.Server
	model  *llmtest.Model
	helper *llmtest.Model // of the agent "helper", to which the bot gives tasks; nil: there is none
	rules  channel.Rules
	tools  channel.Toolbox
	opts   Options
	hurry  func(*times)
	tune   func(*Slack) // before Run
	logs   *check.Buffer

	store     *store.Store
	connector *Slack
	hub       *channel.Hub
	stop      func() error  // ends Run and returns what it returned
	gone      chan struct{} // closed when Run has ended
}

// quick are the times of a workspace that repeats soon what nobody acknowledged.
func quick() slacktest.Options {
	return slacktest.Options{Redeliver: []time.Duration{0, 100 * time.Millisecond, 100 * time.Millisecond}}
}

// answerN answers the n-th request with "answer n".
func answerN(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
	return llmtest.Say(fmt.Sprint("answer ", n)), nil
}

func newRig(t testing.TB, w slacktest.Options, model func(context.Context, int, llm.Request) (llm.Response, error)) *rig {
	t.Helper()
	if w.Scopes == nil {
		w.Scopes = manifestScopes() // no test needs more
	}
	w.AckWithin = cmp.Or(w.AckWithin, 20*time.Second) // a busy machine takes more than Slack's 3 s
	r := &rig{t: t, dir: channeltest.Folder(t), w: slacktest.New(w), model: &llmtest.Model{Func: model}, logs: &check.Buffer{}}
	r.opts = Options{
		BotToken: slacktest.BotToken, AppToken: slacktest.AppToken, APIBase: r.w.APIURL,
		ReplyIn: replyChannel, // most tests ask in a channel and look there
	}
	t.Cleanup(r.w.Close)
	t.Cleanup(func() { r.end() })
	return r
}

// connectedRig returns a rig whose bot is connected, with a channel in which ann is.
func connectedRig(t testing.TB, w slacktest.Options, model func(context.Context, int, llm.Request) (llm.Response, error)) (r *rig, general, ann string) {
	t.Helper()
	r, general, ann = town(t, w, model)
	r.begin()
	return r, general, ann
}

// town is a rig that has not begun, with a channel in which ann is.
func town(t testing.TB, w slacktest.Options, model func(context.Context, int, llm.Request) (llm.Response, error)) (r *rig, general, ann string) {
	t.Helper()
	r = newRig(t, w, model)
	general, ann = r.place()
	return r, general, ann
}

// begin starts the bot and waits until it is connected.
func (r *rig) begin() {
	r.t.Helper()
	r.launch()
	r.eventually("the bot is connected, and no earlier one", func() bool { return r.connector.Connected() && len(r.w.Sockets()) == 1 })
}

// launch starts the bot.
func (r *rig) launch() {
	r.t.Helper()
	var err error
	storetest.CopyEmpty(r.t, r.dir)
	if r.store, err = store.Open(context.Background(), store.Options{Dir: r.dir}); err != nil {
		r.t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r.opts.Log = log
	if r.connector, err = New(r.opts); err != nil {
		r.t.Fatal(err)
	}
	r.connector.times.backoff, r.connector.times.edit, r.connector.times.retry = 50*time.Millisecond, 20*time.Millisecond, 100*time.Millisecond
	r.connector.times.steady = 300 * time.Millisecond
	if r.hurry != nil {
		r.hurry(&r.connector.times)
	}
	if r.tune != nil {
		r.tune(r.connector)
	}
	agent := channel.Agent{Model: r.model, MaxOutput: 8000, Policy: compactor.DefaultPolicy, Toolbox: r.tools, ToolServers: []string{"calc"}, Spawn: []string{"helper"}}
	r.hub = channel.New(channel.Options{
		Store: r.store, Connectors: []channel.Connector{r.connector}, Log: log, Rules: r.rules,
		Agent: func(string) channel.Agent { return agent },
		Agents: func(id string) (channel.Agent, bool) {
			return channel.Agent{ID: id, Model: r.helper, MaxOutput: 500, Policy: compactor.DefaultPolicy}, r.helper != nil
		},
	})
	check.NoError(r.t, r.hub.Recover(context.Background(), func(string) bool { return true })) // as the program does
	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan struct{})
	var ran error
	go func() {
		defer close(gone)
		ran = r.connector.Run(ctx, r.hub)
	}()
	r.gone = gone
	r.stop = func() error {
		cancel()
		<-gone
		return ran
	}
}

// end ends the bot as a shutdown does.
func (r *rig) end() {
	if r.hub == nil {
		return
	}
	err := r.stop()
	check.Error(r.t, errors.Join(err, r.hub.Close(), r.store.Close()), nil)
	r.connector.api.close()
	r.hub = nil
}

func (r *rig) eventually(what string, condition func() bool) {
	r.t.Helper()
	check.Require(r.t, r.w.Wait(soon, condition), "never: %s\n%s", what, r.logs)
}

// said are the texts that the bot has posted in a channel and has not taken back.
func (r *rig) said(channelID string) []string {
	var texts []string
	for _, m := range r.w.Messages(channelID) {
		if m.BotID == slacktest.BotID && m.OnlyFor == "" && !m.Streaming {
			texts = append(texts, m.Shown())
		}
	}
	return texts
}

// answered waits until the bot has said exactly this in a channel.
func (r *rig) answered(channelID string, want ...string) {
	r.t.Helper()
	if !r.w.Wait(soon, func() bool { return equal(r.said(channelID), want) }) {
		r.t.Fatalf("the bot said %q, want %q\n%s", r.said(channelID), want, r.logs)
	}
}

func equal(a, b []string) bool { return strings.Join(a, "\x00") == strings.Join(b, "\x00") }

// settled waits until nothing is being done in a conversation.
func (r *rig) settled(name string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	if err := r.hub.Idle(ctx, name); err != nil {
		r.t.Fatalf("%s does not settle: %v\n%s", name, err, r.logs)
	}
}

// transcript is what is stored of a conversation, as "role: text" lines.
func (r *rig) transcript(name string) []string {
	r.t.Helper()
	var lines []string
	for _, m := range r.messages(name) {
		lines = append(lines, string(m.Role)+": "+m.Text)
	}
	return lines
}

func (r *rig) messages(name string) []chat.Message {
	r.t.Helper()
	c := check.Must(r.store.Conversation(context.Background(), name))(r.t)
	page := check.Must(c.Transcript().Page(context.Background(), 1, 10_000))(r.t)
	return page
}

// stored waits until a conversation holds exactly these lines.
func (r *rig) stored(name string, want ...string) {
	r.t.Helper()
	if !r.w.Wait(soon, func() bool { return equal(r.transcript(name), want) }) {
		r.t.Fatalf("%s holds\n%s\nwant\n%s\n%s", name, strings.Join(r.transcript(name), "\n"), strings.Join(want, "\n"), r.logs)
	}
}

// disk executes statements on the database.
func (r *rig) disk() (exec func(statement string)) {
	return func(statement string) {
		r.t.Helper()
		db := check.Must(sql.Open("sqlite3", "file:"+filepath.Join(r.dir, "cairn.db")+"?_busy_timeout=10000"))(r.t)
		defer db.Close()
		check.Must(db.Exec(statement))(r.t)
	}
}

// breakDisk has the database take no message until it is repaired.
func (r *rig) breakDisk() (repair func()) {
	r.t.Helper()
	exec := r.disk()
	exec("CREATE TRIGGER broken BEFORE INSERT ON inbox BEGIN SELECT RAISE(FAIL, 'the disk is broken'); END")
	return func() { exec("DROP TRIGGER broken") }
}

// acknowledged reports whether all that came over a socket was acknowledged.
func (r *rig) acknowledged() bool {
	for _, d := range r.w.Deliveries() {
		if d.Socket > 0 && d.Acked.IsZero() {
			return false
		}
	}
	return true
}

func (r *rig) uncomplaining() {
	r.t.Helper()
	for _, complaint := range r.w.Complaints() {
		r.t.Errorf("slack complains: %s", complaint)
	}
}

func conversation(parts ...string) string {
	return Name + ":" + slacktest.TeamID + "/" + strings.Join(parts, "/")
}
