package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cairn/discord/discordtest"
	"cairn/llm/llmtest"
)

// failing are the ways in which a scripted server answers every request.
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

// modelServer is a scripted one that lists two models.
func modelServer(t *testing.T, script func(x *llmtest.Exchange)) *llmtest.Server {
	t.Helper()
	s := llmtest.NewServer(script)
	t.Cleanup(s.Close)
	s.Tell("/v1/models", `{"data":[{"id":"test-model"},{"id":"mm"}]}`)
	return s
}

// awaited waits until text holds all of want.
func awaited(t *testing.T, text func() string, want ...string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		missing := ""
		for _, w := range want {
			if !strings.Contains(text(), w) {
				missing = w
			}
		}
		if missing == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%q never came; there was %s", missing, text())
		}
	}
}

func TestTheStartCheckTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, f := range failing {
		t.Run("chat: "+name, func(t *testing.T) {
			t.Parallel()
			server := modelServer(t, f.do)
			p := newFolder(t, "OPENAI_API_KEY=hush-hush", "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=m")
			l := p.start("chat", "--json")
			awaited(t, l.errs.String, append(f.want, "model_check_failed", `"model":"m"`, server.URL)...)
			if len(server.Requests()) != 1 || len(server.Requests()[0].Tools) == 0 || server.Requests()[0].MaxTokens > 16 {
				t.Errorf("it asked %d times, with tools and for at most 16 tokens was to be once", len(server.Requests()))
			}
			if strings.Contains(l.errs.String(), "hush") {
				t.Errorf("it shows the key: %s", l.errs.String())
			}
			l.in.Close()
			if _, code := l.rest(); code != 0 {
				t.Errorf("exit code %d", code)
			}
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
		awaited(t, l.errs.String, "model_check_failed", "check OPENAI_API_KEY", `"level":"WARN"`)
		if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
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
		awaited(t, l.errs.String, "model_check_failed", "set OPENAI_API_KEY")
		l.in.Close()
		l.rest()
	})
	t.Run("nothing is said of a model that answers", func(t *testing.T) {
		t.Parallel()
		asked := make(chan struct{}, 10)
		server := modelServer(t, func(x *llmtest.Exchange) { x.Say("yes"); asked <- struct{}{} })
		p := newFolder(t, "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=m")
		l := p.start("chat", "--json")
		<-asked
		l.in.Close()
		l.rest()
		if strings.Contains(l.errs.String(), "answer") {
			t.Errorf("it says %s", l.errs.String())
		}
	})
	t.Run("a model that a turn asked is not asked again", func(t *testing.T) {
		t.Parallel()
		server := modelServer(t, func(x *llmtest.Exchange) { x.Say("yes") })
		p := newFolder(t, "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=m")
		l := p.start("chat", "--json")
		l.say(`{"text":"hello"}`)
		l.until(`"reply"`)
		time.Sleep(checkDelay + 200*time.Millisecond)
		l.in.Close()
		l.rest()
		if n := len(server.Requests()); n != 1 {
			t.Errorf("there were %d requests", n)
		}
	})
	t.Run("a server that is silent delays no end", func(t *testing.T) {
		t.Parallel()
		asked, release := make(chan struct{}), make(chan struct{})
		var once atomic.Bool
		server := modelServer(t, func(x *llmtest.Exchange) {
			if !once.Swap(true) {
				close(asked)
			}
			<-release
		})
		defer close(release)
		p := newFolder(t, "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=m")
		l := p.start("chat", "--json")
		<-asked
		start := time.Now()
		l.in.Close()
		if _, code := l.rest(); code != 0 || time.Since(start) > 10*time.Second {
			t.Errorf("exit code %d after %v; %s", code, time.Since(start), l.errs.String())
		}
	})
	t.Run("offline nothing is asked", func(t *testing.T) {
		t.Parallel()
		if r := newFolder(t).run("", "chat"); r.err != "" || r.code != 0 {
			t.Errorf("%+v", r)
		}
	})
}

func TestTurnsTellTheRemedyInTheLog(t *testing.T) {
	t.Parallel()
	for name, f := range failing {
		t.Run(name, func(t *testing.T) {
			server := modelServer(t, f.do)
			r := newFolder(t, "OPENAI_API_KEY=hush-hush", "OPENAI_BASE_URL="+server.URL, "OPENAI_MODEL=m").run("hello\n", "chat")
			for _, want := range append(f.want, "turn_failed", `"model":"m"`, `"address":"`+server.URL) {
				if !strings.Contains(r.err, want) {
					t.Errorf("the log is without %q: %s", want, r.err)
				}
			}
			for _, inner := range []string{server.URL, "hush", "invalid_api_key", "test-model"} {
				if strings.Contains(r.out, inner) {
					t.Errorf("people read %q", r.out)
				}
			}
		})
	}
}

func TestDoctorTriesWhatTurnsAndWorkersAsk(t *testing.T) {
	t.Parallel()
	look := func(t *testing.T, env []string, config string) result {
		t.Helper()
		p := newFolder(t, env...)
		p.write("config.toml", config)
		return p.run("", "doctor")
	}
	t.Run("a model that can everything", func(t *testing.T) {
		t.Parallel()
		server := modelServer(t, func(x *llmtest.Exchange) {
			if x.Request.Forced != "" {
				x.Use("c1", "summarize", `{"summary":"Ada prefers green tea."}`)
				return
			}
			x.Say("yes")
		})
		r := look(t, []string{"OPENAI_BASE_URL=" + server.URL, "OPENAI_MODEL=m"}, "")
		for _, want := range []string{
			"ok     model     m, of agent cairn: answered in ", ", with tools; window of 128000 tokens (default); wire chat, at " + server.URL,
			"ok     model     m, of agent cairn: cache not seen: of a second identical request's ", "a prompt stays cached for 5m0s",
			"ok     model     m, of agent cairn: takes pictures",
			"ok     worker    m, which summarizes for agent cairn: answered in ", "with a forced tool call",
		} {
			if r.code != 0 || strings.Count(r.out, want) != 1 {
				t.Errorf("exit code %d; %q is not once in %s", r.code, want, r.out)
			}
		}
		if n := len(server.Requests()); n != 4 {
			t.Errorf("%d requests: a turn, the same, a picture and a summary were to be made", n)
		}
	})
	t.Run("a model that is named nowhere is told of once", func(t *testing.T) {
		t.Parallel()
		server := modelServer(t, func(x *llmtest.Exchange) { x.Say("yes") })
		r := look(t, []string{"OPENAI_BASE_URL=" + server.URL}, "")
		if r.code != 0 || strings.Count(r.out, "test-model, of agent cairn: answered in") != 1 || strings.Count(r.out, "worker    ") != 1 {
			t.Errorf("exit code %d, %s", r.code, r.out)
		}
	})
	t.Run("a server that takes no tools, no pictures, no order to call", func(t *testing.T) {
		t.Parallel()
		server := modelServer(t, func(x *llmtest.Exchange) {
			switch {
			case len(x.Request.Tools) > 0:
				x.Refuse(400, "", `{"error":{"message":"registry/m does not support tools"}}`)
			case len(x.Request.Messages[len(x.Request.Messages)-1].Images) > 0:
				x.Refuse(400, "", `{"error":{"message":"this model does not support image input"}}`)
			default:
				x.Say("yes")
			}
		})
		r := look(t, []string{"OPENAI_BASE_URL=" + server.URL, "OPENAI_MODEL=m"}, "")
		for _, want := range []string{"without tools, which it does not take", "takes no pictures; they are described", "in plain text: its server takes no tools", "learnt from its server: takes no tools"} {
			if r.code != 0 || !strings.Contains(r.out, want) {
				t.Errorf("exit code %d; %q is not in %s", r.code, want, r.out)
			}
		}
	})
	t.Run("a model whose tools need the other wire", func(t *testing.T) {
		t.Parallel()
		server := modelServer(t, func(x *llmtest.Exchange) {
			if x.Request.Wire == "chat" && len(x.Request.Tools) > 0 {
				x.Refuse(400, "", `{"error":{"message":"Function tools with reasoning_effort are not supported for m in /v1/chat/completions. Please use /v1/responses instead."}}`)
				return
			}
			x.Say("yes")
		})
		r := look(t, []string{"OPENAI_BASE_URL=" + server.URL, "OPENAI_MODEL=m"}, "")
		if r.code != 0 || !strings.Contains(r.out, ", with tools; ") || !strings.Contains(r.out, "wire responses") || !strings.Contains(r.out, "wants the wire responses") {
			t.Errorf("exit code %d, %s", r.code, r.out)
		}
	})
	t.Run("what the cache did", func(t *testing.T) {
		t.Parallel()
		server := modelServer(t, func(x *llmtest.Exchange) {
			x.Piece("yes")
			x.Chunk(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
			x.Chunk(`{"choices":[],"usage":{"prompt_tokens":2000,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":1920}}}`)
			x.Done()
		})
		r := look(t, []string{"OPENAI_BASE_URL=" + server.URL, "OPENAI_MODEL=m"}, "[llm]\nwire = \"chat\"\n")
		if !strings.Contains(r.out, "cache works: of a second identical request's 2000 tokens 1920 came from it") {
			t.Errorf("got %s", r.out)
		}
	})
	t.Run("Anthropic, and a worker on another provider with a wrong key", func(t *testing.T) {
		t.Parallel()
		claude := modelServer(t, func(x *llmtest.Exchange) { x.Say("yes") })
		other := modelServer(t, failing["a wrong key"].do)
		r := look(t, []string{"ANTHROPIC_BASE_URL=" + strings.TrimSuffix(claude.URL, "/v1"), "ANTHROPIC_MODEL=claude-sonnet-4-6", "CAIRN_P_KEY=p-key-p-key"},
			"[[providers]]\nid = \"p\"\nbase_url = \""+other.URL+"\"\napi_key = \"env:CAIRN_P_KEY\"\n[defaults.compaction]\nmodel = \"p/small\"\n")
		for _, want := range []string{"wire messages", "WRONG  worker    small, which summarizes for agent cairn: model: auth (HTTP 401): no, from " + other.URL, `what to do: check api_key of provider "p"`} {
			if r.code != exitFailed || !strings.Contains(r.out, want) {
				t.Errorf("exit code %d; %q is not in %s", r.code, want, r.out)
			}
		}
		if refusals := claude.Refusals(); len(refusals) > 0 {
			t.Errorf("refused: %q", refusals)
		}
	})
	t.Run("an address without an interface", func(t *testing.T) {
		t.Parallel()
		web := httptest.NewServer(http.NotFoundHandler())
		defer web.Close()
		r := look(t, []string{"OPENAI_BASE_URL=" + web.URL, "OPENAI_MODEL=m"}, "")
		if r.code != exitFailed || !strings.Contains(r.out, "wrong address (HTTP 404)") || !strings.Contains(r.out, "what to do: correct base_url ("+web.URL+")") {
			t.Errorf("exit code %d, %s", r.code, r.out)
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		t.Parallel()
		web := httptest.NewServer(http.NotFoundHandler())
		web.Close()
		r := look(t, []string{"OPENAI_BASE_URL=" + web.URL + "/v1", "OPENAI_MODEL=m"}, "")
		if r.code != exitFailed || !strings.Contains(r.out, "what to do: start the server at "+web.URL+"/v1") {
			t.Errorf("exit code %d, %s", r.code, r.out)
		}
	})
}

func TestModelsLists(t *testing.T) {
	t.Parallel()
	local := modelServer(t, func(x *llmtest.Exchange) { x.Say("yes") })
	local.Tell("/v1/models", `{"data":[{"id":"text-embedding-3"},{"id":"qwen3","max_model_len":32768},{"id":"llama"}]}`)
	router := modelServer(t, func(x *llmtest.Exchange) { x.Say("yes") })
	router.Tell("/v1/models", `{"data":[{"id":"acme/large","context_length":200000,"supported_parameters":["tools"],"architecture":{"input_modalities":["text","image"]}},{"id":"acme/small","supported_parameters":["top_k"],"architecture":{"input_modalities":["text"]}}]}`)
	claude := modelServer(t, func(x *llmtest.Exchange) { x.Say("yes") })
	claude.Tell("/v1/models", `{"data":[{"type":"model","id":"claude-sonnet-4-6","max_input_tokens":1000000}],"has_more":false}`)
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()

	config := fmt.Sprintf("[[providers]]\nid = \"or\"\nbase_url = %q\n[[providers]]\nid = \"down\"\nbase_url = %q\n[[agents]]\nid = \"a\"\n[agents.compaction]\nmodel = \"or/acme/small\"\n[[agents]]\nid = \"b\"\nmodel = \"hidden\"\n", router.URL, down.URL+"/v1")
	p := newFolder(t, "OPENAI_BASE_URL="+local.URL, "ANTHROPIC_API_KEY=a-key-a-key", "ANTHROPIC_BASE_URL="+strings.TrimSuffix(claude.URL, "/v1"))
	p.write("config.toml", config)
	t.Run("for programs", func(t *testing.T) {
		r := p.run("", "models", "--json")
		if r.code != 0 || !strings.Contains(r.err, "down: model: unreachable") || !strings.Contains(r.err, "start the server at "+down.URL) {
			t.Errorf("exit code %d, %s", r.code, r.err)
		}
		got := map[string]offeredModel{}
		for _, m := range parse[offeredModel](t, r.out) {
			got[m.Model] = m
		}
		for name, want := range map[string]string{
			"text-embedding-3":  "text-embedding-3\tchat\t\t\t\t" + local.URL + "\t",
			"qwen3":             "qwen3\tchat\t32768\t\t\t" + local.URL + "\tdefault, agent a",
			"llama":             "llama\tchat\t\t\t\t" + local.URL + "\t",
			"hidden":            "hidden\tchat\t\t\t\t" + local.URL + "\tagent b",
			"or/acme/large":     "or/acme/large\tchat\t200000\tyes\tyes\t" + router.URL + "\tdefault",
			"or/acme/small":     "or/acme/small\tchat\t\tno\tno\t" + router.URL + "\tsummaries of a",
			"claude-sonnet-4-6": "claude-sonnet-4-6\tmessages\t1000000\tyes\t\t" + strings.TrimSuffix(claude.URL, "/v1") + "\tdefault",
		} {
			if row := got[name].String(); row != want {
				t.Errorf("got  %q\nwant %q", row, want)
			}
		}
		if len(got) != 7 {
			t.Errorf("it lists %d models", len(got))
		}
	})
	t.Run("for people", func(t *testing.T) {
		out := p.must("", "models")
		if !strings.Contains(out, "or/acme/large") || strings.Contains(out, "MODEL") {
			t.Errorf("got %s", out)
		}
		if screen := p.onScreen("models"); !strings.HasPrefix(screen, "MODEL") || !strings.Contains(screen, "USED") {
			t.Errorf("on a terminal it shows %s", screen)
		}
	})
	t.Run("it fails only if no server answers", func(t *testing.T) {
		r := newFolder(t, "OPENAI_BASE_URL="+down.URL+"/v1").run("", "models")
		if r.code != exitFailed || !strings.Contains(r.err, "start the server at "+down.URL) {
			t.Errorf("exit code %d, %s", r.code, r.err)
		}
		if r := newFolder(t).run("", "models"); r.code != exitUsage || !strings.Contains(r.err, "OPENAI_API_KEY") {
			t.Errorf("exit code %d, %s", r.code, r.err)
		}
	})
}
