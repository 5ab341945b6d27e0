// The rig of this package's tests: the connector between a double of Discord and a real hub.

package discord

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"go.uber.org/goleak"

	"cairn/chat"
	"cairn/connector/platform"
	"cairn/llm"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
	"cairn/testkit/llmtest"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // as the program's default has it: what is rendered must not depend on the machine
	flag.Parse()
	// The tests mostly wait, side by side.
	if err := flag.Set("test.parallel", "32"); err != nil {
		panic(err)
	}
	check.InMemory()
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what must come, on a busy machine too.
const patience = channeltest.Patience

const token = "MTA4.secret.of-the-bot"

// rig is the connector between a double of Discord and a real hub with a scripted model.
type rig struct {
	*discordtest.Server
	channeltest.Program
	ctx       context.Context
	ann       *discordgo.User
	guild     discordgo.Guild
	square    string // a channel
	connector *Discord
	tune      []func(*Discord)
	opts      Options
}

// newRig has nothing running yet: see start. Its test runs beside others.
func newRig(t *testing.T, o discordtest.Options, tune ...func(*Discord)) *rig {
	t.Helper()
	t.Parallel()
	o.Token = token
	o.RefusePings = true
	o.AnswerWithin = patience
	r := &rig{Server: discordtest.New(o), Program: channeltest.Program{T: t, Dir: t.TempDir(), Model: &llmtest.Model{Func: echo}}, ctx: t.Context(), tune: tune}
	t.Cleanup(r.Server.Close)
	r.ann = r.User("ann")
	r.guild = r.Guild("town", r.ann)
	r.square = r.Channel(r.guild.ID, "square").ID
	return r
}

// echo answers with the text of the newest message, without who said it and when.
func echo(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
	said, _, _ := strings.Cut(req.Messages[len(req.Messages)-1].Text, "\n<now>")
	_, text, _ := strings.Cut(said[max(strings.LastIndex(said, "[#"), 0):], "] ")
	return llmtest.Say("echo: " + strings.TrimSpace(text)), nil
}

func (r *rig) start() *rig {
	r.T.Helper()
	r.open()
	r.Run()
	r.connected(1)
	return r
}

// connected waits until a connection, the n-th or a later one, is used.
func (r *rig) connected(n int) {
	r.T.Helper()
	r.until("a connection", func() bool { all := r.Connections(); return len(all) >= n && all[len(all)-1].Heartbeats > 0 })
}

func (r *rig) open() {
	r.T.Helper()
	r.connector = r.newConnector()
	r.Open(r.connector)
	r.T.Cleanup(r.stop)
}

func (r *rig) newConnector() *Discord {
	r.T.Helper()
	r.opts.Token = token
	r.opts.APIBase = r.URL
	r.opts.Log = r.Logger()
	d := check.Must(New(r.opts))(r.T)
	d.pauses.identify = platform.Backoff{}
	d.Link.Pause.First = 100 * time.Millisecond
	d.Link.Steady = 300 * time.Millisecond
	for _, f := range r.tune {
		f(d)
	}
	return d
}

// stop closes everything, in the order in which the program does.
func (r *rig) stop() {
	r.T.Helper()
	r.Program.Close()
	r.connector.rest.client.CloseIdleConnections()
	check.Lacks(r.T, "the log", r.Log.String(), token)
	if r.T.Failed() {
		r.T.Log(&r.Log)
	}
}

// restart is a new process on the same files; meanwhile something may happen.
func (r *rig) restart(meanwhile ...func()) {
	r.T.Helper()
	before := len(r.Connections())
	r.stop()
	for _, happen := range meanwhile {
		happen()
	}
	r.open()
	r.Run()
	r.connected(before + 1)
}

func (r *rig) until(what string, ok func() bool) {
	r.T.Helper()
	check.Require(r.T, check.Soon(ok), "waited in vain for %s", what)
}

func (r *rig) ask(place, text string) discordtest.Message {
	return r.Say(place, r.ann.ID, "<@"+r.Bot.ID+"> "+text)
}

// answers waits until the bot has posted n messages in a place, and returns the texts.
func (r *rig) answers(place string, n int) (texts []string) {
	r.T.Helper()
	r.until(fmt.Sprintf("%d answers", n), func() bool { texts = r.contents(place); return len(texts) >= n })
	check.Len(r.T, "answers", texts, n)
	return texts
}

// answersLast waits until the bot has posted n messages in a place, and checks what the last of them says.
func (r *rig) answersLast(place string, n int, want string) {
	r.T.Helper()
	check.Equal(r.T, "it answered", r.answers(place, n)[n-1], want)
}

// converse asks the bot, and waits for its n-th answer in this place, which repeats the question.
func (r *rig) converse(place, text string, n int) (question discordtest.Message) {
	r.T.Helper()
	question = r.ask(place, text)
	r.answersLast(place, n, "echo: "+text)
	return question
}

func (r *rig) contents(place string) (all []string) {
	for _, m := range r.sent(place) {
		all = append(all, m.Content)
	}
	return all
}

// sent is what the bot posted and did not take back.
func (r *rig) sent(place string) []discordtest.Message {
	return slices.DeleteFunc(r.Sent(place), func(m discordtest.Message) bool { return m.Deleted })
}

func (r *rig) place(id string) string { return "discord:" + r.guild.ID + "/" + id }

func numbered(what string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint(what, i))
	}
	return all
}

func (r *rig) count(route string) int { return len(r.Requests(route)) }

// heard waits until so many messages of people stand in a conversation's transcript.
func (r *rig) heard(name string, n int) (all []chat.Message) {
	r.T.Helper()
	r.until(fmt.Sprint(n, " messages"), func() bool {
		all = slices.DeleteFunc(r.Transcript(name), func(m chat.Message) bool { return m.Role != llm.RoleUser })
		return len(all) >= n
	})
	return all
}

// texts are what people have said, as it is stored of a conversation, once that is so many messages.
func (r *rig) texts(name string, n int) (all []string) {
	r.T.Helper()
	for _, m := range r.heard(name, n) {
		if m.Text != "" {
			all = append(all, m.Text)
		}
	}
	return all
}
