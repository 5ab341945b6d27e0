package main

import (
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"time"

	"cairn/config"
	"cairn/internal/check"

	"cairn/discord/discordtest"
	"cairn/llm/llmtest"
)

// failing are failures of a scripted server, which answers every request with one.
var failing = map[string]struct {
	do   func(x *llmtest.Exchange)
	want []string // in its message
}{
	"a wrong key": {func(x *llmtest.Exchange) { x.Refuse(401, "", `{"error":{"message":"no","code":"invalid_api_key"}}`) }, []string{"check OPENAI_API_KEY"}},
	"no credit":   {func(x *llmtest.Exchange) { x.Refuse(429, "", `{"error":{"message":"no","code":"insufficient_quota"}}`) }, []string{"add credit", "OPENAI_API_KEY"}},
	"an unknown model": {func(x *llmtest.Exchange) {
		x.Refuse(404, "", `{"error":{"message":"The model does not exist","code":"model_not_found"}}`)
	}, []string{"set model to one that the server has: mm, test-model"}},
}

// modelServer is a scripted server that lists two models.
func modelServer(t *testing.T, script func(x *llmtest.Exchange)) *llmtest.Server {
	t.Helper()
	s := llmtest.Serve(t, script)
	s.Tell("/v1/models", `{"data":[{"id":"test-model"},{"id":"mm"}]}`)
	return s
}

// waitForFile waits until text holds all of want.
func waitForFile(t *testing.T, text func() string, want ...string) {
	t.Helper()
	for _, w := range want {
		eventually(t, fmt.Sprintf("there is %q", w), text, func() bool { return strings.Contains(text(), w) })
	}
}

func TestStartCheckReportsProblems(t *testing.T) {
	t.Parallel()
	for name, f := range failing {
		t.Run("chat: "+name, func(t *testing.T) {
			t.Parallel()
			server := modelServer(t, f.do)
			p := newFolder(t, "OPENAI_API_KEY=hush-hush", "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=m")
			l := p.start("chat", "--json")
			waitForFile(t, l.errs.String, append(f.want, "model_check_failed", `"model":"m"`, server.URL)...)
			if len(server.Requests()) != 1 || len(server.Requests()[0].Tools) == 0 || server.Requests()[0].MaxTokens > 16 {
				t.Errorf("got %d requests, want one with tools and at most 16 tokens", len(server.Requests()))
			}
			check.Lacks(t, "the key is shown", l.errs.String(), "hush")
			l.end()
		})
	}
	t.Run("run: in the log", func(t *testing.T) {
		t.Parallel()
		server := modelServer(t, failing["a wrong key"].do)
		d := discordtest.New(discordtest.Options{})
		t.Cleanup(d.Close)
		d.Guild("town", d.User("Ada"))
		p := newFolder(t, "OPENAI_API_KEY=hush-hush", "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=m", "DISCORD_TOKEN=token")
		p.write("config.toml", "[discord]\napi_base = \""+d.URL+"\"\n")
		l := p.start("run")
		waitForFile(t, l.errs.String, "model_check_failed", "check OPENAI_API_KEY", `"level":"WARN"`)
		check.NoError(t, l.cmd.Process.Signal(syscall.SIGTERM))
		l.rest()
	})
	t.Run("after an edit: the model it names", func(t *testing.T) {
		t.Parallel()
		server := modelServer(t, failing["a wrong key"].do)
		p := newFolder(t)
		p.write("config.toml", "workers = 2\n")
		l := p.start("chat", "--json")
		l.say(`{"text":"/help"}`)
		l.until(`"reply"`)
		p.write("config.toml", fmt.Sprintf("[llm]\nbase_url = %q\nmodel = \"m\"\n", server.URL))
		waitForFile(t, l.errs.String, "model_check_failed", "set OPENAI_API_KEY")
		l.end()
	})
}

func TestStartCheckIsQuiet(t *testing.T) {
	t.Parallel()
	t.Run("nothing is said of a model that answers", func(t *testing.T) {
		t.Parallel()
		asked := make(chan struct{}, 10)
		server := modelServer(t, func(x *llmtest.Exchange) { x.Say("yes"); asked <- struct{}{} })
		p := newFolder(t, "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=m")
		l := p.start("chat", "--json")
		<-asked
		l.end()
		check.Lacks(t, "log", l.errs.String(), "answer")
	})
	t.Run("a model that a turn asked is not asked again", func(t *testing.T) {
		t.Parallel()
		server := modelServer(t, func(x *llmtest.Exchange) { x.Say("yes") })
		p := newFolder(t, "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=m")
		l := p.start("chat", "--json")
		l.say(`{"text":"hello"}`)
		l.until(`"reply"`)
		time.Sleep(checkDelay + 200*time.Millisecond)
		l.end()
		turned := false
		for _, r := range server.Requests() { // where the machine is slow, the check comes before the turn
			if check := r.MaxTokens > 0 && r.MaxTokens <= 16; check && turned {
				t.Error("the check called a model that a turn had called")
			} else {
				turned = turned || !check
			}
		}
		check.That(t, turned, "got no turn that called the model")
	})
	t.Run("offline nothing is asked", func(t *testing.T) {
		t.Parallel()
		r := newFolder(t).run("", "chat")
		check.Equal(t, "errors", r.err, "")
		check.Equal(t, "exit code", r.code, 0)
	})
}

func TestFailedModelIsReportedOnce(t *testing.T) {
	server := modelServer(t, failing["a wrong key"].do)
	t.Setenv(config.OpenAI.URL, server.URL)
	s := config.Default()
	b := &bot{log: slog.New(slog.DiscardHandler), ctx: t.Context()}
	agents := check.Must(newModelSet(b.log).agents(&s))(t)
	var said []string
	b.current.Store(&runtimeConfig{settings: s, agents: agents})
	b.checkModels(func(line string) { said = append(said, line) })
	b.tasks.Wait()
	b.check() // as after an edit
	b.tasks.Wait()
	check.Len(t, "lines", said, 1)
	check.Contains(t, "the line", said[0], "does not answer")
}

func TestFailedTurnsLogRemedy(t *testing.T) {
	t.Parallel()
	for name, f := range failing {
		t.Run(name, func(t *testing.T) {
			server := modelServer(t, f.do)
			r := newFolder(t, "OPENAI_API_KEY=hush-hush", "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=m").run("hello\n", "chat")
			check.Contains(t, "the log", r.err, append(f.want, "turn_failed", `"model":"m"`, `"address":"`+server.URL)...)
			check.Lacks(t, "sent", r.out, server.URL, "hush", "invalid_api_key", "test-model")
		})
	}
}
