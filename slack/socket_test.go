// The supervisor, against everything that may happen to a socket and to tokens.

package slack

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/slack/slacktest"
)

// place is a general channel with ann in it.
func (r *rig) place() (general, ann string) {
	ann = r.w.AddUser("ann")
	return r.w.AddChannel("general", ann), ann
}

// ask tells the bot something and waits for the n-th answer.
func (r *rig) ask(channelID, user string, n int) {
	r.t.Helper()
	r.w.Say(slacktest.Post{Channel: channelID, User: user, Text: mention + fmt.Sprint("question ", n)})
	r.awaitAnswers(channelID, n)
}

// awaitAnswers waits for n answers, and sees that there is no other.
func (r *rig) awaitAnswers(channelID string, n int) {
	r.t.Helper()
	var want []string
	for i := range n {
		want = append(want, fmt.Sprint("answer ", i+1))
	}
	r.answered(channelID, want...)
}

func TestALostSocketIsReplaced(t *testing.T) {
	t.Parallel()
	for claim, lose := range map[string]func(*slacktest.Socket){
		"asked to go": func(k *slacktest.Socket) { k.Disconnect("warning") },
		"cut":         func(k *slacktest.Socket) { k.Cut() },
		"frozen":      func(k *slacktest.Socket) { k.Freeze() },
	} {
		t.Run(claim, func(t *testing.T) {
			o := quick()
			o.PingEvery, o.WarnFor = 100*time.Millisecond, 100*time.Millisecond
			r := newRig(t, o, answerN)
			if claim == "frozen" {
				r.hurry = func(c *times) { c.silence = 2 * time.Second }
			}
			general, ann := r.place()
			r.begin()
			r.ask(general, ann, 1)
			old := r.w.Sockets()[0]
			lose(old)
			r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "question 2"}) // falls into the gap
			r.awaitAnswers(general, 2)
			r.eventually("there is another socket", func() bool {
				open := r.w.Sockets()
				return len(open) == 1 && open[0] != old
			})
			r.ask(general, ann, 3)
			r.stored(conversation(general), "user: question 1", "assistant: answer 1", "user: question 2", "assistant: answer 2",
				"user: question 3", "assistant: answer 3")
			// The probe, and one for each socket. A busy machine may let a good socket seem frozen too.
			if n := len(r.w.Calls("apps.connections.open")); n != 3 && claim != "frozen" {
				t.Errorf("%d sockets were asked for", n)
			}
			check.Equal(t, "how often the first connection is told", strings.Count(r.logs.String(), `level=INFO msg=connected connector=slack as=app`), 1)
			r.uncomplaining()
		})
	}
}

// TestASocketIsReadUntilAnotherReplacesIt: Slack repeats no commands and no presses of buttons. Nothing was
// missed, so no history is read.
func TestASocketIsReadUntilAnotherReplacesIt(t *testing.T) {
	t.Parallel()
	o := quick()
	o.WarnFor = 4 * time.Second
	r, general, ann := connectedRig(t, o, answerN)
	r.ask(general, ann, 1)
	r.w.Fail(slacktest.Fault{Method: "apps.connections.open", Delay: time.Second, Times: 1})
	asked := len(r.w.Calls("apps.connections.open"))
	r.w.Sockets()[0].Disconnect("warning")
	r.eventually("another socket is asked for", func() bool { return r.w.Seen("apps.connections.open") > asked })
	r.w.Command(general, ann, "/cairn", "help")
	check.Contains(t, "the result", r.told(general, ann, 1).Shown(), "/cairn memories")
	r.eventually("there is another socket", func() bool { return len(r.w.Sockets()) == 1 && r.connector.Connected() })
	r.ask(general, ann, 2)
	check.Len(t, "lists of channels to look for what was missed", r.w.Calls("users.conversations"), 0)
	r.uncomplaining()
}

func TestUnknownEnvelopesAreAcknowledgedOnce(t *testing.T) {
	t.Parallel()
	r, general, ann := connectedRig(t, quick(), answerN)
	id := r.w.Emit(map[string]any{"type": "sky_fell", "channel": general, "severity": 7})
	odd := r.w.Emit(map[string]any{"type": "message", "channel": general, "user": ann, "ts": "1700000000.000100", "text": mention + "odd", "blocks": 7, "attachments": "none"})
	r.w.Sockets()[0].SendRaw(`{"type":"surprise"}`)
	r.w.Sockets()[0].SendRaw(`not even JSON`)
	r.ask(general, ann, 1)
	for _, d := range r.w.Deliveries() {
		if (d.EventID == id || d.EventID == odd) && (d.Acked.IsZero() || d.Attempt > 0) {
			t.Errorf("attempt %d of %s: acknowledged %v", d.Attempt, d.Payload, !d.Acked.IsZero())
		}
	}
	r.uncomplaining()
}

func TestAnErrorThatOnlyAPersonCanFixEndsRun(t *testing.T) {
	t.Parallel()
	options := func(bot, app string) Options { return Options{BotToken: bot, AppToken: app} }
	good := options(slacktest.BotToken, slacktest.AppToken)
	for claim, c := range map[string]struct {
		options Options
		fault   slacktest.Fault
		want    string
	}{
		"an unknown bot token":         {options("xoxb-other", slacktest.AppToken), slacktest.Fault{}, "OAuth & Permissions → Bot User OAuth Token"},
		"an app token nobody knows":    {options(slacktest.BotToken, "xapp-other"), slacktest.Fault{}, "App-Level Tokens"},
		"another kind of app token":    {options(slacktest.BotToken, "xoxp-other"), slacktest.Fault{}, "connections:write"},
		"a revoked token":              {good, slacktest.Fault{Method: "auth.test", Error: "token_revoked"}, "token_revoked"},
		"a workspace that was deleted": {good, slacktest.Fault{Method: "auth.test", Error: "account_inactive"}, "Bot User OAuth Token"},
		"an app token without a scope": {good, slacktest.Fault{Method: "apps.connections.open", Error: "missing_scope"}, "connections:write"},
		"a scope it cannot do without": {good, slacktest.Fault{}, "lacks the scope chat:write"},
	} {
		t.Run(claim, func(t *testing.T) {
			o := slacktest.Options{}
			if strings.Contains(claim, "it cannot do without") {
				o.Scopes = without(t, "chat:write")
			}
			server := slacktest.New(o)
			defer server.Close()
			if c.fault.Method != "" {
				server.Fail(c.fault)
			}
			var log check.Buffer
			c.options.APIBase, c.options.Log = server.APIURL, slog.New(slog.NewTextHandler(&log, nil))
			err := check.Must(New(c.options))(t).Run(t.Context(), nil)
			check.ErrorContains(t, "the error", err, c.want, "api.slack.com/apps")
			check.Lacks(t, "what is told", err.Error()+log.String(), c.options.BotToken, c.options.AppToken)
		})
	}
}

func TestAScopeThatItCanDoWithoutIsNamed(t *testing.T) {
	t.Parallel()
	o := quick()
	o.Scopes = without(t, "users:read")
	r, general, ann := connectedRig(t, o, answerN)
	r.ask(general, ann, 1)
	check.Contains(t, "the log", r.logs.String(), "scopes=users:read", "OAuth & Permissions")
}

// ended waits until Run ends by itself, and returns why.
func (r *rig) ended() error {
	r.t.Helper()
	select {
	case <-r.gone:
	case <-time.After(soon):
		r.t.Fatalf("Run goes on\n%s", r.logs)
	}
	err := r.stop()
	r.stop = func() error { return nil }
	return err
}

// keepsSecrets sees that no token is in an error or in the log.
func (r *rig) keepsSecrets(errs ...error) {
	r.t.Helper()
	check.Lacks(r.t, "what is told", fmt.Sprint(errs)+r.logs.String(), r.opts.BotToken, r.opts.AppToken, "/respond/", "ticket=")
}

func TestATokenRevokedWhileItRuns(t *testing.T) {
	t.Parallel()
	r, general, ann := connectedRig(t, quick(), answerN)
	r.ask(general, ann, 1)
	r.w.Fail(slacktest.Fault{Method: "apps.connections.open", Error: "token_revoked", Times: -1})
	r.w.Sockets()[0].Cut()
	check.ErrorContains(t, "the error", r.ended(), "App-Level Tokens")
}

func TestAMissingScopeIsNamed(t *testing.T) {
	t.Parallel()
	r, general, ann := connectedRig(t, quick(), answerN)
	r.w.Fail(slacktest.Fault{Method: "chat.postMessage", Body: `{"ok":false,"error":"missing_scope","needed":"chat:write","provided":"users:read"}`, Times: -1})
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "hello"})
	check.ErrorContains(t, "the error", r.ended(), "lacks the scope chat:write")
	r.hub.Close()
	r.w.Heal()
	r.store.Close()
	r.hub = nil
	r.begin() // the answer was kept
	r.answered(general, "answer 1")
}

func TestItWaitsForSlackAtTheStart(t *testing.T) {
	t.Parallel()
	r, general, ann := town(t, quick(), answerN)
	r.w.SocketModeOff()
	r.w.Fail(slacktest.Fault{Method: "auth.test", Status: 503, Times: 2})
	r.w.Fail(slacktest.Fault{Method: "apps.connections.open", Error: "internal_error"}) // which is no fault of the settings
	r.launch()
	r.eventually("people are told what to click", func() bool { return strings.Contains(r.logs.String(), "your app → Socket Mode") })
	r.w.SocketModeOn()
	r.eventually("the bot is connected", func() bool { return len(r.w.Sockets()) > 0 })
	r.ask(general, ann, 1)
	if n := strings.Count(r.logs.String(), "level=WARN"); n != 3 {
		t.Errorf("%d warnings for three reasons\n%s", n, r.logs)
	}
	r.eventually("people are told that it works", func() bool { return strings.Contains(r.logs.String(), "connection_recovered") })
}
