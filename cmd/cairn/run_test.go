package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"cairn/channel"
	"cairn/compactor"
	"cairn/llm"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/discordtest"
	"cairn/testkit/llmtest"
	"cairn/testkit/slacktest"
)

func TestRunWithoutTokens(t *testing.T) {
	for env, want := range map[string]string{
		"": "no connector to start: set DISCORD_TOKEN for Discord, or SLACK_BOT_TOKEN and SLACK_APP_TOKEN for Slack",
		"SLACK_APP_TOKEN=xapp-hush DISCORD_TOKEN=hush":        "slack needs two tokens and has one: set SLACK_BOT_TOKEN and SLACK_APP_TOKEN",
		"SLACK_BOT_TOKEN=xoxb-hush":                           "slack needs two tokens and has one",
		"SLACK_BOT_TOKEN=xapp-hush SLACK_APP_TOKEN=xoxb-hush": "slack: not a bot token",
		"SLACK_BOT_TOKEN=xoxb-hush SLACK_APP_TOKEN=hush":      "slack: not an app-level token",
	} {
		r := newFolder(t, strings.Fields(env)...).runHere("", []string{"run"})
		check.Equal(t, env+": exit code", r.code, exitUsage)
		check.HasPrefix(t, env, r.err, "cairn: "+want)
		check.Lacks(t, env, r.out+r.err, "hush")
	}
}

func TestRunWithRejectedTokens(t *testing.T) {
	p := newPlatforms(t)
	r := p.folder("", "DISCORD_TOKEN=hush", "SLACK_BOT_TOKEN=xoxb-hush").start("run")
	r.exits(exitFailed)
	first(t, "^cairn: .*(token).*\n\\z", r.errs.String()) // the reason comes last
	check.Lacks(t, "the output", r.errs.String(), "hush")
	t.Run("one connector's do not keep the other closed", func(t *testing.T) {
		r := p.folder("", append(modelAt(modelServer(t, failing["a wrong key"].do)), "DISCORD_TOKEN=hush")...).start("run", "--health", "127.0.0.1:0")
		r.logs("connector_closed", "model_check_failed", "check OPENAI_API_KEY", `"level":"WARN"`)
		p.until(r, "the other connector is open", func() bool { return len(p.slack.Sockets()) > 0 })
		p.sayOnSlack("I prefer coffee.")
		p.wait(r, p.onSlack, "rejects my API key")
		p.showsEnded(r, "discord", "the token is refused; check DISCORD_TOKEN: ")
		r.signal(syscall.SIGINT)
		r.exits(130)
		check.Lacks(t, "the output", r.errs.String(), "hush")
	})
}

// TestRestoredBotBackfills: the platforms still have the messages since the backup.
func TestRestoredBotBackfills(t *testing.T) {
	p, f, r := served(t, saying("Understood."))
	for i, text := range []string{"I like tea", "the garden is open"} {
		if i == 1 {
			f.must("", "backup", "b.db")
		}
		p.sayOnBoth(text)
		p.answered(r, "Understood.", i+1)
	}
	check.Contains(t, "the transcript beside it", f.must("", "transcript", "--channel", "slack:"+slacktest.TeamID+"/"+p.lab), "the garden is open")
	r.stop()
	check.Contains(t, "the log", r.errs.String(), `"connectors":["discord","slack"],"agents":["cairn (m)"],"data":"data"`)
	check.Len(t, "complaints of Slack", p.slack.Complaints(), 0)
	f.must("", "restore", "b.db")
	since := func() int { return f.count("SELECT count(*) FROM messages WHERE text LIKE '%the garden is open%'") }
	check.Equal(t, "messages since the backup", since(), 0)
	check.Equal(t, "channels", f.count("SELECT count(*) FROM conversations"), 2)
	again := f.start("run")
	p.until(again, "both channels have what came since", func() bool { return since() == 2 })
}

// TestFileThatCrashesProgram: after two starts the message is answered without the file.
func TestFileThatCrashesProgram(t *testing.T) {
	p, f, r := served(t, saying("Here I am."))
	const files = "GET /attachments/*/*/*"
	p.discord.Fail(discordtest.Fault{Of: files, Times: 100, Delay: time.Minute})
	p.discord.Post(p.square, p.ann.ID, discordtest.Post{
		Content: "<@" + p.discord.Bot.ID + "> what is in it?",
		Files:   []discordtest.File{{Name: "notes.txt", ContentType: "text/plain", Data: []byte("the plan")}},
	})
	for start := range 5 {
		p.until(r, "the file is asked for", func() bool { return len(p.discord.Requests(files)) > start })
		r.signal(syscall.SIGKILL)
		<-r.ended
		r = f.start("run")
	}
	p.wait(r, p.onDiscord, "Here I am.")
	check.Len(t, "requests for the file", p.discord.Requests(files), 5)
	check.Contains(t, "the log", r.errs.String(), "message_given_up")
	r.stop()
}

// A busy bot at debug level, with secrets everywhere and a provider that repeats its input: the log
// has no secret, and no message of a person.
func TestLogHasNoSecretsOrMessages(t *testing.T) {
	const key, password = "key-4711-of-the-model", "swordfish-of-the-proxy"
	pasted := []string{"ghp_" + "k7Zq2WvR9xLbT4mYc8HsJ5nPd3GfA6uEoKi1", "sk-ant-" + strings.Repeat("Cd2", 12), "AKIA" + "Q3T7WZ5NXK2LJ4RB"}
	server := llmtest.Serve(t, func(x *llmtest.Exchange) {
		if strings.Contains(x.Request.Last().Text(), "break") {
			x.Refuse(http.StatusUnauthorized, "", fmt.Sprintf(`{"error":{"message":"Incorrect API key provided: %s (Authorization: Bearer %s), from http://u:%s@proxy/, near %s"}}`, key, key, password, strings.Join(pasted, " ")))
			return
		}
		x.Say("Understood, the cuckoo flies at midnight.")
	})
	p := newPlatforms(t)
	f := p.folder("", "OPENAI_BASE_URL="+strings.Replace(server.URL, "http://", "http://ada:"+password+"@", 1), "OPENAI_MODEL=m", "OPENAI_API_KEY="+key)
	r := f.start("run", "--log-level", "debug")
	p.open(r)
	p.sayOnDiscord("my keys are " + strings.Join(pasted, " ") + " and the eagle has landed")
	p.sayOnSlack("mine too: " + strings.Join(pasted, " "))
	p.answered(r, "Understood, the cuckoo flies at midnight.", 1)
	p.sayOnDiscord("/remember the eagle's token is " + pasted[0])
	p.sayOnSlack("now break")
	p.wait(r, p.onSlack, "rejects my API key")
	r.logs("turn_failed")
	r.stop()
	said := r.errs.String()
	check.Lacks(t, "the output", said,
		append(pasted, key, password, "token\"", slacktest.BotToken, slacktest.AppToken, "eagle", "cuckoo", "mine too")...)
	check.Contains(t, "output", said, "[masked")
}

func TestLogMasksSecrets(t *testing.T) {
	var r redactor
	r.learn("hunter2hunter2", "pass word/9", "x")
	var out strings.Builder
	log := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: r.attr}))
	github := "ghp_" + "k7Zq2WvR9xLbT4mYc8HsJ5nPd3GfA6uEoKi1"
	log = log.With("provider", "https://ada:swordfish@example.org").WithGroup("g").With("key", "hunter2hunter2")
	log.Debug("x hunter2hunter2", "error", fmt.Errorf("model: %w", errors.New("no: Authorization: Bearer abcdef0123456789")),
		"list", []string{"fine", github}, slog.Group("deep", "url", "/v1?key=abcdef0123456789&alt=sse"),
		"header", http.Header{"Authorization": {"Bot c2VjcmV0c2VjcmV0"}}, "bytes", []byte("hunter2hunter2"), "n", 7, "encoded", "pass+word%2F9")
	group := r.attr(nil, slog.Group("g", "a", "hunter2hunter2")) // of an incident
	check.Lacks(t, "log", out.String()+group.String(), "hunter2", "swordfish", "abcdef0123456789", github, "c2VjcmV0", "pass+word")
	check.Contains(t, "the text", out.String(), `"x [masked]"`, `"fine"`, `"n":7`, "example.org", "alt=sse", "model: no")
	for _, text := range []string{
		`the app-level token, which is under "Basic Information", "App-Level Tokens"`, "basic authentication", "a bearer certificate",
		"the bearer tokens of this server", "Basic understanding of Go", "use basic questions.",
	} {
		check.Equal(t, "masked", r.mask(text), text)
	}
	for _, secret := range []string{
		"Basic dXNlcjpwYXNz", "Basic YWRhOnN3b3JkZmlzaA==", "basic YWRhOnN3b3Jk", "Bearer abcdef0123456789", "bearer " + strings.Repeat("xyzw", 8), "Bearer ab_cdef",
		"Authorization: Basic swordfish", "Authorization: Bearer swordfish",
	} {
		scheme, key, _ := strings.Cut(strings.TrimPrefix(secret, "Authorization: "), " ")
		got := r.mask("it said " + secret + " there")
		check.Lacks(t, secret, got, key)
		check.That(t, strings.Contains(got, scheme) && strings.HasSuffix(got, " there"), "%q: got %q", secret, got)
	}
}

type openConnector struct{ channeltest.Silent }

func (openConnector) Run(ctx context.Context, _ *channel.Hub) error {
	<-ctx.Done()
	return nil
}

// TestStopWithinTheGrace: what is finished in time is sent, what is not waits for the next start.
func TestStopWithinTheGrace(t *testing.T) {
	asked := make(chan struct{}, 9)
	goOn := make(chan struct{})
	p, _, r := served(t, func(x *llmtest.Exchange) {
		if !isStartCheck(x.Request) {
			asked <- struct{}{}
			<-goOn
		}
		x.Say("Here I am.")
	})
	p.sayOnDiscord("Where are you?")
	<-asked
	r.signal(syscall.SIGTERM)
	r.logs(`"msg":"stopping`)
	close(goOn)
	r.exits(143)
	check.EqualAll(t, "answers", p.onDiscord(), []string{"Here I am."})
	t.Run("an answer that does not come", func(t *testing.T) {
		f := newFolder(t)
		db := f.store()
		model := &llmtest.Model{Func: func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
			asked <- struct{}{}
			<-ctx.Done()
			return llm.Response{}, ctx.Err()
		}}
		connector := openConnector{"test"}
		log := slog.New(slog.DiscardHandler)
		hub := channel.New(channel.Options{
			Store: db, Connectors: []channel.Connector{connector}, Log: log,
			Agent: func(string) channel.Agent { return channel.Agent{Model: model, Policy: compactor.DefaultPolicy} },
		})
		check.Must(hub.Deliver(t.Context(), "test:server/general", channel.Inbound{ID: "q", AuthorID: "u", Author: "Ada", Text: "Where are you?", Time: time.Now(), Addressed: true}))(t)
		<-asked
		ctx, stop := context.WithCancelCause(t.Context())
		stop(signalled{syscall.SIGTERM})
		check.Equal(t, "exit code", exitCode(serve(ctx, hub, []runner{connector}, 100*time.Millisecond, log, func(string, error) {})), 143)
		check.NoError(t, db.Close())
		check.Equal(t, "unanswered turns and replies", f.count("SELECT sum(answered = 0) + (SELECT count(*) FROM outbox) FROM messages"), 1)
	})
}

func TestSecondStopSignal(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String()+": the second one ends it at once, and the next start answers, once", func(t *testing.T) {
			asked := make(chan struct{}, 10)
			again := make(chan struct{})
			p, f, r := served(t, func(x *llmtest.Exchange) {
				select {
				case <-again:
					x.Say("Here I am.")
				default:
					if !isStartCheck(x.Request) {
						asked <- struct{}{}
					}
					x.Wait(time.Minute) // until the client is gone
				}
			})
			p.sayOnDiscord("Where are you?")
			<-asked
			r.signal(signal)
			r.logs(`"msg":"stopping`)
			start := time.Now()
			r.signal(signal)
			<-r.ended
			by := r.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() // -1: it was not ended by one
			check.That(t, by == signal && time.Since(start) < grace/2, "got exit %v after %v", r.cmd.ProcessState, time.Since(start))
			close(again)
			r = f.start("run")
			p.until(r, "the answer", func() bool { return p.answers("Here I am.")[0] == 1 })
			r.signal(signal)
			r.exits(exitSignal + int(signal))
			check.Len(t, "answers", p.onDiscord(), 1)
			f.examined()
		})
	}
}
