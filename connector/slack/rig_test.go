// What the tests share: a workspace, and a bot in it whose model is scripted.

package slack

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cairn/llm"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/slacktest"
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
const soon = channeltest.Patience

const mention = "<@" + slacktest.BotUserID + "> "

// rig is a workspace, and a bot in it whose model is scripted.
type rig struct {
	channeltest.Program
	w         *slacktest.Server
	opts      Options
	tune      func(*Slack) // before Run
	connector *Slack
}

func answerN(_ context.Context, n int, _ llm.Request) (llm.Response, error) {
	return llmtest.Say(fmt.Sprint("answer ", n)), nil
}

type script = func(ctx context.Context, n int, req llm.Request) (llm.Response, error)

// town is a rig that has not started, with a channel in which ann is. Its test runs beside others.
func town(t *testing.T, w slacktest.Options, model script) (r *rig, general, ann string) {
	t.Helper()
	t.Parallel()
	return lonelyTown(t, w, model)
}

func lonelyTown(t *testing.T, w slacktest.Options, model script) (r *rig, general, ann string) {
	t.Helper()
	if w.Scopes == nil && w.Agent {
		w.Scopes = manifestScopes() // no test needs more
	} else if w.Scopes == nil {
		w.Scopes = without("")
	}
	w.AckWithin = cmp.Or(w.AckWithin, 20*time.Second) // a busy machine takes more than Slack's 3 s
	if w.Redeliver == nil {
		w.Redeliver = []time.Duration{0, 100 * time.Millisecond, 100 * time.Millisecond} // it repeats soon what nobody acknowledged
	}
	r = &rig{Program: channeltest.Program{T: t, Dir: t.TempDir(), Model: &llmtest.Model{Func: model}}, w: slacktest.New(w)}
	r.opts = Options{
		BotToken: slacktest.BotToken, AppToken: slacktest.AppToken, APIBase: r.w.APIURL,
		ReplyIn: replyChannel, // most tests ask in a channel and look there
		Log:     r.Logger(),
	}
	t.Cleanup(r.w.Close)
	t.Cleanup(func() {
		r.end()
		meant := func(complaint string) bool { // of an envelope of the test's own, or one that it made late
			return strings.Contains(complaint, `"again"`) || w.AckWithin == time.Second && strings.Contains(complaint, "acknowledged after")
		}
		check.EqualAll(t, "what Slack complains of", slices.DeleteFunc(r.w.Complaints(), meant), nil)
	})
	general, ann = r.place()
	return r, general, ann
}

func connectedRig(t *testing.T, w slacktest.Options, model script) (r *rig, general, ann string) {
	r, general, ann = town(t, w, model)
	r.begin()
	return r, general, ann
}

func (r *rig) place() (general, ann string) {
	ann = r.w.AddUser("ann")
	return r.w.AddChannel("general", ann), ann
}

// ask tells the bot something and waits for the n-th answer.
func (r *rig) ask(channelID, user string, n int) {
	r.T.Helper()
	r.say(channelID, user, n)
	r.awaitAnswers(channelID, n)
}

func (r *rig) say(channelID, user string, n int) {
	r.w.Say(slacktest.Post{Channel: channelID, User: user, Text: mention + fmt.Sprint("question ", n)})
}

// awaitAnswers waits for n answers, and sees that there is no other.
func (r *rig) awaitAnswers(channelID string, n int) {
	r.T.Helper()
	r.answered(channelID, numbered("answer ", n)...)
}

func numbered(what string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint(what, i+1))
	}
	return all
}

func (r *rig) begin() {
	r.T.Helper()
	r.launch()
	r.eventually("the bot is connected, and no earlier one", func() bool { return r.connector.Connected() && len(r.w.Sockets()) == 1 })
}

func (r *rig) launch() {
	r.T.Helper()
	r.connector = check.Must(New(r.opts))(r.T)
	r.connector.times.answer = 50 * time.Millisecond
	r.connector.times.edit = 20 * time.Millisecond
	r.connector.times.retry.Max = 100 * time.Millisecond
	r.connector.Link.Pause.First = 50 * time.Millisecond
	r.connector.Link.Steady = 300 * time.Millisecond
	if r.tune != nil {
		r.tune(r.connector)
	}
	r.Open(r.connector)
	r.Run()
}

func (r *rig) end() {
	r.Close()
	if r.connector != nil {
		r.connector.api.http.CloseIdleConnections()
	}
}

func (r *rig) eventually(what string, condition func() bool) {
	r.T.Helper()
	check.Require(r.T, check.Soon(condition), "never: %s\n%s", what, &r.Log)
}

// botMessages are the bot's messages in a channel that all see, or that one person alone sees.
func (r *rig) botMessages(channelID string, person ...string) []slacktest.Message {
	onlyFor := strings.Join(person, "")
	return slices.DeleteFunc(r.w.Messages(channelID), func(m slacktest.Message) bool { return m.BotID != slacktest.BotID || m.OnlyFor != onlyFor })
}

// awaitPrivate waits for the n-th message that only one person sees, and returns it.
func (r *rig) awaitPrivate(channelID, person string, n int) slacktest.Message {
	r.T.Helper()
	r.eventually(fmt.Sprintf("%s reads %d messages", person, n), func() bool { return len(r.botMessages(channelID, person)) >= n })
	return r.botMessages(channelID, person)[n-1]
}

// botTexts are the texts of the bot's finished messages in a channel.
func (r *rig) botTexts(channelID string) (texts []string) {
	for _, m := range r.botMessages(channelID) {
		if !m.Streaming {
			texts = append(texts, m.Shown())
		}
	}
	return texts
}

// answered waits until the bot has written exactly this in a channel.
func (r *rig) answered(channelID string, want ...string) {
	r.T.Helper()
	there := check.Soon(func() bool { return slices.Equal(r.botTexts(channelID), want) })
	check.Require(r.T, there, "the bot said %q, want %q\n%s", r.botTexts(channelID), want, &r.Log)
}

func (r *rig) reactions(channelID, ts string) []string {
	all := r.w.Messages(channelID)
	i := slices.IndexFunc(all, func(m slacktest.Message) bool { return m.TS == ts })
	if i < 0 {
		return nil
	}
	return all[i].Reactions
}

// stored waits until a conversation holds exactly these lines: "role: text".
func (r *rig) stored(name string, want ...string) {
	r.T.Helper()
	var lines []string
	there := check.Soon(func() bool {
		lines = nil
		for _, m := range r.Transcript(name) {
			lines = append(lines, string(m.Role)+": "+m.Text)
		}
		return slices.Equal(lines, want)
	})
	check.Require(r.T, there, "%s holds %q, want %q\n%s", name, lines, want, &r.Log)
}

func conversation(parts ...string) string {
	return Name + ":" + slacktest.TeamID + "/" + strings.Join(parts, "/")
}
