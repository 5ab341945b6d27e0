// The rig of this package's tests: the connector between a double of Discord and a real hub.

package discord

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"go.uber.org/goleak"

	"cairn/channel"
	"cairn/channel/channeltest"
	"cairn/chat"
	"cairn/compactor"
	"cairn/discord/discordtest"
	"cairn/internal/check"
	"cairn/internal/platform"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/store"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // as the program's default has it: what is rendered must not depend on the machine
	flag.Parse()
	// The tests mostly wait, side by side.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	check.InMemory()
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what must come, on a busy machine too.
const patience = time.Minute

const token = "MTA4.secret.of-the-bot"

// rig is the connector between a double of Discord and a real hub with a scripted model.
type rig struct {
	*discordtest.Server
	t      testing.TB
	ctx    context.Context
	ann    *discordgo.User
	guild  discordgo.Guild
	square string // a channel

	dir       string
	model     *llmtest.Model
	rules     channel.Rules
	language  string // in which the bot speaks; "": English
	tools     channel.Toolbox
	helper    *llmtest.Model // of the agent "helper", to which the bot gives tasks; nil: there is none
	connector *Discord
	store     *store.Store
	hub       *channel.Hub
	log       *check.Buffer
	tune      []func(*Discord)
	opts      Options
	leave     context.CancelFunc
	ended     chan error
}

// newRig has nothing running yet: see start.
func newRig(t testing.TB, o discordtest.Options, tune ...func(*Discord)) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	o.Token, o.RefusePings, o.AnswerWithin = token, true, patience
	r := &rig{Server: discordtest.New(o), t: t, ctx: ctx, dir: channeltest.Folder(t), log: new(check.Buffer), tune: tune}
	t.Cleanup(r.Server.Close)
	r.ann = r.User("ann")
	r.guild = r.Guild("town", r.ann)
	r.square = r.Channel(r.guild.ID, "square").ID
	r.model = &llmtest.Model{Func: echo}
	return r
}

// echo answers with the last line of what was said.
func echo(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
	return llmtest.Say("echo: " + lastSaid(req)), nil
}

// lastSaid is the text of the newest message, without who said it and when.
func lastSaid(req llm.Request) string {
	for _, m := range slices.Backward(req.Messages) {
		if m.Role == llm.RoleUser {
			said, _, _ := strings.Cut(m.Text, "\n\n<now>")
			said = said[strings.LastIndexByte(said, '\n')+1:]
			_, text, _ := strings.Cut(said, "] ")
			return text
		}
	}
	return ""
}

// start opens the connector, and waits until it is connected.
func (r *rig) start() *rig {
	r.t.Helper()
	r.open()
	r.run()
	r.connected(1)
	return r
}

// connected waits until a connection, the n-th or a later one, is used.
func (r *rig) connected(n int) {
	r.t.Helper()
	r.until("a connection", func() bool { all := r.Connections(); return len(all) >= n && all[len(all)-1].Heartbeats > 0 })
}

// open makes hub and connector.
func (r *rig) open() {
	r.t.Helper()
	var err error
	storetest.CopyEmpty(r.t, r.dir)
	r.store, err = store.Open(context.Background(), store.Options{Dir: r.dir})
	check.NoError(r.t, err)
	r.connector = r.newConnector()
	log := r.opts.Log
	r.hub = channel.New(channel.Options{
		Store: r.store, Connectors: []channel.Connector{r.connector}, Log: log, Rules: r.rules,
		Agent: func(string) channel.Agent {
			return channel.Agent{Model: r.model, MaxOutput: 500, Policy: compactor.DefaultPolicy, Language: r.language, Toolbox: r.tools, ToolServers: []string{"calc"}, Spawn: []string{"helper"}}
		},
		Agents: func(id string) (channel.Agent, bool) {
			return channel.Agent{ID: id, Model: r.helper, MaxOutput: 500, Policy: compactor.DefaultPolicy}, r.helper != nil
		},
	})
	r.t.Cleanup(r.stop)
}

func (r *rig) newConnector() *Discord {
	r.t.Helper()
	r.opts.Token, r.opts.APIBase = token, r.URL
	r.opts.Log = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	d := check.Must(New(r.opts))(r.t)
	d.pauses.identify, d.pauses.connect, d.link.Steady = 0, 100*time.Millisecond, 300*time.Millisecond
	for _, f := range r.tune {
		f(d)
	}
	return d
}

// run has the connector run until stop.
func (r *rig) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.connector.Run(ctx, r.hub) }()
	r.leave, r.ended = cancel, done
}

// stop closes everything, in the order in which the program does.
func (r *rig) stop() {
	r.t.Helper()
	if r.hub == nil {
		return
	}
	if r.leave != nil {
		r.leave()
		select {
		case err := <-r.ended:
			check.That(r.t, err == nil, "Run: %v", err)
		case <-time.After(patience):
			r.t.Error("Run does not end")
		}
		r.leave = nil
	}
	check.Error(r.t, errors.Join(r.hub.Close(), r.store.Close()), nil)
	r.hub = nil
	r.connector.rest.client.CloseIdleConnections()
	check.Lacks(r.t, "the log", r.log.String(), token)
	if r.t.Failed() {
		r.t.Log(r.log.String())
	}
}

// restart is a new process on the same files; meanwhile something may happen.
func (r *rig) restart(meanwhile ...func()) {
	r.t.Helper()
	r.stop()
	for _, happen := range meanwhile {
		happen()
	}
	r.start()
	check.NoError(r.t, r.hub.Recover(r.ctx, func(string) bool { return true }))
}

// until waits until ok, which is asked again whenever something happened on the double,
// and from time to time.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	for {
		ctx, cancel := context.WithTimeout(r.ctx, 200*time.Millisecond)
		err := r.Wait(ctx, ok)
		cancel()
		if err == nil {
			return
		}
		check.Require(r.t, r.ctx.Err() == nil, "waited in vain for %s", what)
	}
}

// ask says something to the bot.
func (r *rig) ask(place, text string) discordtest.Message {
	return r.Say(place, r.ann.ID, "<@"+r.Bot.ID+"> "+text)
}

// answers waits until the bot has posted n messages in a place, and returns the texts.
func (r *rig) answers(place string, n int) (texts []string) {
	r.t.Helper()
	r.until(fmt.Sprintf("%d answers", n), func() bool { return len(r.sent(place)) >= n })
	for _, m := range r.sent(place) {
		texts = append(texts, m.Content)
	}
	check.Require(r.t, len(texts) <= n, "%d answers, want %d: %q", len(texts), n, texts)
	return texts
}

// answersLast waits until the bot has posted n messages in a place, and checks what the last of them says.
func (r *rig) answersLast(place string, n int, want string) {
	r.t.Helper()
	check.Equal(r.t, "it answered", r.answers(place, n)[n-1], want)
}

// converse asks the bot in the square, and waits until it has answered n times there.
func (r *rig) converse(text string, n int) {
	r.t.Helper()
	r.ask(r.square, text)
	r.answers(r.square, n)
}

// notice restarts the bot, and has a conversation say a line that is no answer.
func (r *rig) notice(place, text string) {
	r.t.Helper()
	conv, err := r.store.Conversation(r.ctx, r.place(place))
	if err == nil {
		err = conv.Outbox().Post(r.ctx, store.Outcome{Reply: "a notice", Pieces: []string{text}, Failure: true})
	}
	check.NoError(r.t, err)
	r.restart()
	r.idle(r.place(place))
}

// sent is what the bot posted and did not take back.
func (r *rig) sent(place string) []discordtest.Message {
	return slices.DeleteFunc(r.Sent(place), func(m discordtest.Message) bool { return m.Deleted })
}

func (r *rig) place(id string) string { return "discord:" + r.guild.ID + "/" + id }

// count is the number of requests for a route.
func (r *rig) count(route string) int { return len(r.Requests(route)) }

// idle waits until a conversation has settled.
func (r *rig) idle(name string) {
	r.t.Helper()
	check.NoError(r.t, r.hub.Idle(r.ctx, name))
}

// transcript is what is stored of a conversation.
func (r *rig) transcript(name string) []chat.Message {
	r.t.Helper()
	conv := check.Must(r.store.Conversation(r.ctx, name))(r.t)
	return check.Must(conv.Transcript().Page(r.ctx, 1, 10_000))(r.t)
}

// heard waits until so many messages of people stand in a conversation's transcript.
func (r *rig) heard(name string, n int) (all []chat.Message) {
	r.t.Helper()
	for {
		all = slices.DeleteFunc(r.transcript(name), func(m chat.Message) bool { return m.Role != "user" })
		if len(all) >= n {
			return all
		}
		check.Require(r.t, platform.Sleep(r.ctx, 20*time.Millisecond) == nil, "%d messages were heard, want %d", len(all), n)
	}
}

// texts are what people have said, as it is stored of a conversation, once that is so many messages.
func (r *rig) texts(name string, n int) (all []string) {
	r.t.Helper()
	for _, m := range r.heard(name, n) {
		all = append(all, m.Text)
	}
	return deleteEmpty(all)
}
