// The supervisor, against everything that may happen to a socket and to tokens; the options and the app's manifest.

package slack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/testkit/check"
	"cairn/testkit/slacktest"
)

// loseSocket has the bot lose its socket, and get no other until it may come back.
func (r *rig) loseSocket() (back func()) {
	r.T.Helper()
	r.w.Fail(slacktest.Fault{Of: "apps.connections.open", Status: 503, Times: -1})
	r.w.Sockets()[0].Cut()
	r.eventually("it is gone", func() bool { return len(r.w.Sockets()) == 0 })
	return r.w.Clear
}

func TestAFrozenSocketIsReplaced(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{PingEvery: 100 * time.Millisecond}, answerN)
	r.tune = func(s *Slack) { s.times.silence = time.Second }
	r.begin()
	r.ask(general, ann, 1)
	old := r.w.Sockets()[0]
	old.Freeze()
	r.ask(general, ann, 2) // falls into the gap
	r.eventually("there is another socket", func() bool { open := r.w.Sockets(); return len(open) == 1 && open[0] != old })
	r.ask(general, ann, 3)
	check.Len(t, "what is stored", r.Transcript(conversation(general)), 6)
}

// Slack repeats no commands and no presses of buttons. Nothing was missed, so no history is read.
func TestASocketIsReadUntilAnotherReplacesIt(t *testing.T) {
	r, general, ann := connectedRig(t, slacktest.Options{WarnFor: soon}, answerN)
	r.ask(general, ann, 1)
	r.w.Fail(slacktest.Fault{Of: "apps.connections.open", Delay: time.Second, Times: 1})
	asked := len(r.w.Calls("apps.connections.open"))
	r.w.Sockets()[0].Disconnect("warning")
	r.eventually("another socket is asked for", func() bool { return r.w.Seen("apps.connections.open") > asked })
	check.Contains(t, "the result", r.command(general, ann, "help"), "/cairn memories")
	r.eventually("there is another socket", func() bool { return len(r.w.Sockets()) == 2 && r.connector.Connected() })
	r.ask(general, ann, 2)
	check.Len(t, "lists of channels to look for what was missed", r.w.Calls("users.conversations"), 0)
	check.Equal(t, "sockets were asked for", r.w.Seen("apps.connections.open"), asked+1)
	check.Equal(t, "how often the first connection is told", strings.Count(r.Log.String(), `level=INFO msg=connected connector=slack as=app`), 1)
}

// Before hello no gap is noted, so what such a socket delivers must not be handled.
func TestASocketWithoutHelloIsNotReadOn(t *testing.T) {
	r, _, _ := town(t, slacktest.Options{WarnFor: 2 * soon}, answerN)
	r.w.NoHello(1)
	r.launch()
	r.eventually("there is a socket", func() bool { return len(r.w.Sockets()) == 1 })
	first := r.w.Sockets()[0]
	asked := time.Now()
	first.Disconnect("warning")
	r.eventually("only the next one is open", func() bool { open := r.w.Sockets(); return len(open) == 1 && open[0] != first })
	check.That(t, time.Since(asked) < drainTime, "the first one was open for %v", time.Since(asked))
}

// A connector that lives for months connects again and again. This runs alone: goroutines of other tests would be counted too.
func TestReconnectingLeavesNothingBehind(t *testing.T) {
	r, general, ann := lonelyTown(t, slacktest.Options{}, answerN)
	r.begin()
	asked := 0
	lose := func(times int) {
		for range times {
			sockets := r.w.Sockets()
			if asked%2 == 0 {
				sockets[len(sockets)-1].Cut()
			} else {
				sockets[len(sockets)-1].Disconnect("refresh_requested")
			}
			asked++
			r.ask(general, ann, asked)
		}
	}
	// A burst of requests leaves idle connections, however many it took.
	count := func() (goroutines int) {
		r.Idle(conversation(general))
		r.connector.api.http.CloseIdleConnections()
		return runtime.NumGoroutine()
	}
	lose(2) // what is made once is there then
	before := count()
	lose(3)
	r.eventually("goroutines are as before", func() bool { return count() <= before })
}

func TestAnErrorThatOnlyAPersonCanFixEndsRun(t *testing.T) {
	const bot, app = slacktest.BotToken, slacktest.AppToken
	for claim, c := range map[string]struct{ bot, app, fault, want string }{
		"an unknown bot token":         {"xoxb-other", app, "", "OAuth & Permissions → Bot User OAuth Token"},
		"an app token nobody knows":    {bot, "xapp-other", "", "App-Level Tokens"},
		"another kind of app token":    {bot, "xoxp-other", "", "connections:write"},
		"a revoked token":              {bot, app, "auth.test: token_revoked", "token_revoked"},
		"a workspace that was deleted": {bot, app, "auth.test: account_inactive", "Bot User OAuth Token"},
		"an app token without a scope": {bot, app, "apps.connections.open: missing_scope", "connections:write"},
		"a scope it cannot do without": {bot, app, "", "lacks the scope chat:write"},
	} {
		t.Run(claim, func(t *testing.T) {
			lacks, _ := strings.CutPrefix(c.want, "lacks the scope ")
			server := slacktest.New(slacktest.Options{Scopes: without(lacks)})
			defer server.Close()
			if method, code, fails := strings.Cut(c.fault, ": "); fails {
				server.Fail(slacktest.Fault{Of: method, Error: code})
			}
			var log check.Buffer
			s := check.Must(New(Options{BotToken: c.bot, AppToken: c.app, APIBase: server.APIURL, Log: slog.New(slog.NewTextHandler(&log, nil))}))(t)
			hub := channel.New(channel.Options{})
			defer hub.Close()
			err := s.Run(t.Context(), hub)
			check.ErrorContains(t, "the error", err, c.want, "api.slack.com/apps")
			check.Lacks(t, "what is told", err.Error()+log.String(), c.bot, c.app)
		})
	}
}

// without are the scopes of an app that is no agent, and lacks one.
func without(scope string) []string {
	return slices.DeleteFunc(manifestScopes(), func(s string) bool { return s == scope || s == agentScope })
}

func TestWhatGoesMissingWhileItRunsIsNamed(t *testing.T) {
	r, general, ann := connectedRig(t, slacktest.Options{Scopes: without("users:read")}, answerN) // without which it can do
	r.ask(general, ann, 1)
	check.Contains(t, "the log", r.Log.String(), "scopes=users:read", "OAuth & Permissions")

	r.w.Fail(slacktest.Fault{Of: "chat.postMessage", Body: `{"ok":false,"error":"missing_scope","needed":"chat:write","provided":"users:read"}`, Times: -1})
	r.w.Say(slacktest.Post{Channel: general, User: ann, Text: mention + "question 2"})
	check.ErrorContains(t, "the error", r.Ended(), "lacks the scope chat:write")
	r.end()
	r.w.Clear()
	r.begin() // the answer was kept
	r.awaitAnswers(general, 2)

	r.w.Fail(slacktest.Fault{Of: "apps.connections.open", Error: "token_revoked", Times: -1})
	r.w.Sockets()[0].Cut()
	check.ErrorContains(t, "the error", r.Ended(), "App-Level Tokens")
}

func TestItWaitsForSlackAtTheStart(t *testing.T) {
	r, general, ann := town(t, slacktest.Options{}, answerN)
	r.w.SocketMode(false)
	r.w.Fail(slacktest.Fault{Of: "auth.test", Status: 503, Times: 2})
	r.w.Fail(slacktest.Fault{Of: "apps.connections.open", Error: "internal_error"}) // which is no fault of the settings
	r.launch()
	r.eventually("people are told what to click", func() bool { return strings.Contains(r.Log.String(), "your app → Socket Mode") })
	r.w.SocketMode(true)
	r.eventually("the bot is connected", func() bool { return len(r.w.Sockets()) > 0 })
	r.ask(general, ann, 1)
	check.Equal(t, "warnings for three reasons", strings.Count(r.Log.String(), "level=WARN"), 3)
	r.eventually("people are told that it works", func() bool { return strings.Contains(r.Log.String(), "connection_recovered") })
}

func TestTheManifestSwitchesOnWhatIsNeededAndIsTheOneOfTheLink(t *testing.T) {
	var m struct {
		Display struct {
			Name, Description string
			Long              string `json:"long_description"`
		} `json:"display_information"`
	}
	var compact bytes.Buffer
	check.NoError(t, errors.Join(json.Unmarshal(manifestJSON, &m), json.Compact(&compact, manifestJSON)))
	check.Contains(t, "the manifest", compact.String(),
		`"features":{"agent_view":{"agent_description":`, `"assistant:write"`,
		`"bot_events":["agent_session_stopped","app_home_opened","app_mention","channel_rename","group_rename","message.channels","message.groups","message.im","message.mpim","user_profile_changed"]`, // of every kind of channel
		`"socket_mode_enabled":true`, `"interactivity":{"is_enabled":true`, `"messages_tab_enabled":true`, `"messages_tab_read_only_enabled":false`,
		`"slash_commands":[{"command":"/cairn",`, `"should_escape":false}]`)
	for text, limits := range map[string][2]int{m.Display.Name: {1, 35}, m.Display.Description: {1, 140}, m.Display.Long: {174, 4000}} { // Slack's
		check.That(t, len(text) >= limits[0] && len(text) <= limits[1], "%q has %d characters", text, len(text))
	}
	deployed := check.Must(os.ReadFile("../../deploy/slack-manifest.json"))(t)
	page := check.Must(os.ReadFile("../../docs/slack.md"))(t)
	check.Equal(t, "deploy/slack-manifest.json (run go generate ./connector/slack)", string(deployed), string(manifestJSON))
	query := check.Must(url.Parse(CreateURL()))(t).Query()
	check.That(t, query.Get("manifest_json") == compact.String() && query.Get("new_app") == "1", "the link makes another app: %v", query)
	check.Contains(t, "docs/slack.md", string(page), "[create]: "+CreateURL()+"\n")
}

func TestNewSaysWhatIsMissing(t *testing.T) {
	for want, o := range map[string]Options{
		"bot token is missing": {AppToken: "xapp-1"},
		"App-Level Tokens":     {BotToken: "xoxb-1"},
		"Bot User OAuth Token": {BotToken: "xapp-1", AppToken: "xoxb-1"}, // in each other's place
		"xoxb-…":               {BotToken: "xoxp-1", AppToken: "xapp-1"}, // a user's token
		"api_base":             {BotToken: "xoxb-1", AppToken: "xapp-1", APIBase: "localhost:80"},
	} {
		check.ErrorContains(t, fmt.Sprintf("New of %+v", o), check.ErrorOf(New(o)), want)
	}
	s := check.Must(New(Options{BotToken: "any", AppToken: "thing", APIBase: "http://localhost:8080/api"}))(t)
	check.Equal(t, "the address of a compatible server, which has tokens of its own", s.o.APIBase, "http://localhost:8080/api/")
}

func TestEachTokenIsCheckedAlone(t *testing.T) {
	server := slacktest.New(slacktest.Options{})
	defer server.Close()
	ctx := t.Context()
	app, workspace, err := CheckBotToken(ctx, slacktest.BotToken, server.APIURL)
	check.That(t, err == nil && app == "app" && workspace == "slacktest", "%q, %q, %v", app, workspace, err)
	check.NoError(t, CheckAppToken(ctx, slacktest.AppToken, server.APIURL))
	_, _, err = CheckBotToken(ctx, "xoxb-wrong", server.APIURL)
	check.ErrorContains(t, "another", err, "Slack rejects the bot token (invalid_auth)")
	check.ErrorContains(t, "another", CheckAppToken(ctx, "xapp-wrong", server.APIURL), "rejects the app-level token")
}

// Slack accepts the connection and does not go on: the log says what it waits for, and so does /readyz, until it goes on.
func TestSilentSlack(t *testing.T) {
	for waits, stop := range map[string]func(w *slacktest.Server){
		"hello of Socket Mode":    func(w *slacktest.Server) { w.NoHello(1) },
		"the answer to auth.test": func(w *slacktest.Server) { w.Fail(slacktest.Fault{Of: "auth.test", Delay: 3 * time.Second}) },
		"the answer to apps.connections.open": func(w *slacktest.Server) {
			w.Fail(slacktest.Fault{Of: "apps.connections.open", Delay: 3 * time.Second})
		},
	} {
		t.Run(waits, func(t *testing.T) {
			r, _, _ := town(t, slacktest.Options{}, answerN)
			r.tune = func(s *Slack) {
				s.Link.Patience = 500 * time.Millisecond
			}
			stop(r.w)
			r.launch()
			r.NamesSilence(r.connector, waits, silentHint, func() {
				for _, k := range r.w.Sockets() {
					k.Cut()
				}
			})
		})
	}
}
