package main

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"cairn/compactor"
	"cairn/config"
	"cairn/llm"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
	"cairn/testkit/storetest"
	"cairn/web"
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

func saying(text string) func(x *llmtest.Exchange) {
	return func(x *llmtest.Exchange) { x.Say(text) }
}

// modelServer is a scripted server that lists two models.
func modelServer(t *testing.T, script func(x *llmtest.Exchange)) *llmtest.Server {
	t.Helper()
	s := llmtest.Serve(t, script)
	s.Tell("/v1/models", `{"data":[{"id":"test-model"},{"id":"mm"}]}`)
	return s
}

func modelAt(s *llmtest.Server) []string {
	return []string{"OPENAI_BASE_URL=" + s.URL, "OPENAI_MODEL=m", "OPENAI_API_KEY=hush-hush"}
}

// isStartCheck reports whether a request only checks at the start that the model answers: on a slow
// machine it comes beside the first turn.
func isStartCheck(r llmtest.Request) bool { return strings.Contains(r.Last().Text(), "are you there?") }

// isWorker reports whether a request comes from the one that summarizes.
func isWorker(x *llmtest.Exchange) bool {
	return slices.ContainsFunc(x.Request.Tools, func(tool llmtest.Tool) bool { return tool.Function.Name == "summarize" })
}

// TestFailuresOfModelsAreReported: by the check at the start, and by a turn.
func TestFailuresOfModelsAreReported(t *testing.T) {
	t.Parallel()
	for name, f := range failing {
		t.Run(name, func(t *testing.T) {
			server := modelServer(t, f.do)
			l := newFolder(t, modelAt(server)...).start("chat", "--json")
			l.logs(append(f.want, "model_check_failed", `"model":"m"`, server.URL)...)
			check.Len(t, "requests", server.Requests(), 1)
			asked := server.Requests()[0]
			check.That(t, len(asked.Tools) > 0 && asked.MaxTokens <= 16, "got %+v, want tools and at most 16 tokens", asked)
			checked := len(l.errs.String())
			l.say(`{"text":"hello"}`)
			out := l.until(`"to":[`)
			l.logs("turn_failed")
			check.Contains(t, "the log", l.errs.String()[checked:], append(f.want, `"model":"m"`, `"address":"`+server.URL)...)
			check.Lacks(t, "sent", strings.Join(append(out, l.end()...), "\n"), server.URL, "hush", "invalid_api_key", "test-model")
			check.Lacks(t, "the log", l.errs.String(), "hush")
		})
	}
	t.Run("after an edit: the model it names", func(t *testing.T) {
		server := modelServer(t, failing["a wrong key"].do)
		p := newFolder(t).with("workers = 2\n")
		l := p.start("chat", "--json")
		l.ask(`{"text":"/help"}`, `"reply"`)
		p.write("config.toml", fmt.Sprintf("[llm]\nbase_url = %q\nmodel = \"m\"\n", server.URL))
		l.logs("model_check_failed", "set OPENAI_API_KEY")
		l.end()
	})
}

func TestStartCheckSaysOnceWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script          func(x *llmtest.Exchange)
		used            bool // a turn has asked the model before
		lines, requests int
	}{
		"a model that fails":                               {script: failing["a wrong key"].do, lines: 1, requests: 1},
		"nothing of a model that answers":                  {script: saying("yes"), requests: 1},
		"a model that a turn has asked is not asked again": {script: saying("yes"), used: true, requests: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := modelServer(t, c.script)
			s := config.Default()
			s.LLM.BaseURL = server.URL
			s.LLM.Model = "m"
			b := &bot{log: slog.New(slog.DiscardHandler), ctx: t.Context()}
			agents := check.Must(newModelSet(b.log).agents(&s))(t)
			if c.used {
				check.NoError(t, check.ErrorOf(agents["cairn"].Model.Generate(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "hello"}}}, nil)))
			}
			var said []string
			b.current.Store(&runtimeConfig{settings: s, agents: agents})
			b.say = func(line string) { said = append(said, line) }
			b.checkModels()
			b.tasks.Wait()
			b.checkModels() // as after an edit
			b.tasks.Wait()
			check.Len(t, "lines", said, c.lines)
			check.Equal(t, "what is wrong", strings.Count(fmt.Sprint(said), "does not answer"), c.lines)
			check.Len(t, "requests", server.Requests(), c.requests)
		})
	}
}

// TestLearnedFactsSurviveRestart: the model's limit, that it accepts no tools, and its token count,
// which a shell shows like the bot.
func TestLearnedFactsSurviveRestart(t *testing.T) {
	var refusals atomic.Int32
	server := llmtest.Serve(t, func(x *llmtest.Exchange) {
		switch {
		case isStartCheck(x.Request):
			x.Say("Yes.")
		case len(x.Request.Tools) > 0:
			refusals.Add(1)
			x.Refuse(400, "", `{"error":{"message":"m does not support tools"}}`)
		case x.Request.MaxTokens > 1000:
			refusals.Add(1)
			x.Refuse(400, "", fmt.Sprintf(`{"error":{"message":"This model's maximum context length is 6000 tokens. However, you requested %d tokens (%d in the messages, %d in the completion)."}}`,
				x.Request.Tokens()+x.Request.MaxTokens, x.Request.Tokens(), x.Request.MaxTokens))
		default:
			x.Say("Here I am.")
		}
	})
	p := newFolder(t, modelAt(server)...)
	check.Contains(t, "answer", p.must("Where are you?\n", "chat"), "Here I am.")
	check.Equal(t, "refusals, one for each thing to learn", refusals.Load(), 2)
	usage := p.must("", "context", "--json")
	check.Contains(t, "what was learned", usage, `"max_tokens":6000,`, `"window_source":"an overflow"`)
	used := first(t, `"used_tokens":(\d+)`, usage)
	check.Contains(t, "the number that the shell shows", p.must("/context\n", "chat"), used+" of 6000 tokens")
	p.must("And now?\n", "chat")
	check.Equal(t, "refusals after two restarts", refusals.Load(), 2)
	p.env[1] = "OPENAI_MODEL=another"
	check.Contains(t, "window of another model on the server", p.must("", "context", "--json"), `"max_tokens":128000,`)
}

func TestTwoProvidersAndAKeyInTheFileWarn(t *testing.T) {
	server := modelServer(t, failing["a wrong key"].do)
	both := []string{"OPENAI_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=a-key-a-key"}
	check.Equal(t, "how often the log names OpenAI", strings.Count(newFolder(t, both...).run("", "chat").err, "using OpenAI"), 1)
	check.Lacks(t, "log with one provider", newFolder(t, both[1]).run("", "chat").err, "using OpenAI")
	check.Contains(t, "doctor", newFolder(t, both...).run("", "doctor").out, "ok     settings  warning: OPENAI_… and ANTHROPIC_… are both set")
	server = modelServer(t, failing["a wrong key"].do)
	p := newFolder(t).with(fmt.Sprintf("[llm]\nbase_url = %[1]q\napi_key = \"hush-hush-1\"\n[[providers]]\nid = \"p\"\nbase_url = %[1]q\napi_key = \"hush-hush-2\"\n", server.URL))
	for _, command := range []string{"config check", "config check --json", "chat", "doctor"} {
		r := p.run("", strings.Fields(command)...)
		all := strings.ReplaceAll(r.out+r.err, `\"`, `"`)
		check.Contains(t, command, all, "file:PATH", "env:NAME", "OPENAI_API_KEY", "[llm]", "[providers.1]")
		check.Lacks(t, command, all, "hush")
	}
	check.Equal(t, "the key is used all the same", server.Requests()[0].Header.Get("Authorization"), "Bearer hush-hush-1")
}

func TestModelsAreCreatedOnce(t *testing.T) {
	p := newFolder(t)
	p.write("prompt.md", "Be brief.")
	p.write("config.toml", `[llm]
base_url = "http://o.test/v1"
[[providers]]
id = "p"
base_url = "http://p.test/v1"
[[agents]]
id = "a"
model = "p/m"
reasoning = "high"
[agents.compaction]
model = "small"
prompt_file = "prompt.md"
[[agents]]
id = "b"
model = "p/m"
`)
	s := check.Must(config.Load(filepath.Join(p.dir, "config.toml")))(t)
	set := newModelSet(slog.New(slog.DiscardHandler))
	agents := check.Must(set.agents(&s))(t)
	a := agents["a"]
	b := agents["b"]
	check.That(t, a.Model == b.Model && b.Worker == b.Model && b.Substitute == nil, "two agents with the same model do not share it")
	check.That(t, a.Worker != a.Model && a.Substitute == a.Model && a.Worker.Name() == "small", "got worker %s", a.Worker.Name())
	check.Equal(t, "reasoning efforts", a.Reasoning+b.Reasoning, "high")
	check.Equal(t, "prompt of a worker", a.WorkerPrompt(), "Be brief.")
	s.Agents[1].Fallback = []string{"p/m", "small", "p/small", "p/other"}
	withFallback := check.Must(set.agent(&s, s.Agents[1]))(t)
	check.EqualAll(t, "fallback, without the own model and what is named twice", withFallback.Fallback, []llm.Model{a.Worker, check.Must(set.agent(&s, config.Agent{Model: "p/other", Compaction: s.Agents[1].Compaction}))(t).Model})
	s.Agents[1].Fallback = nil
	s.Agents[1].Compaction.CacheTTL = compactor.TTL(3600e9)
	c, err := set.agent(&s, s.Agents[1])
	check.That(t, err == nil && c.Model != b.Model, "a model with another cache_ttl is shared: %v", err)
}

func TestModelsLists(t *testing.T) {
	list := func(body string) *llmtest.Server {
		s := llmtest.Serve(t, saying("yes"))
		s.Tell("/v1/models", `{"data":[`+body+`],"has_more":false}`)
		return s
	}
	local := list(`{"id":"text-embedding-3"},{"id":"qwen3","max_model_len":32768},{"id":"llama"}`)
	router := list(`{"id":"acme/large","context_length":200000,"supported_parameters":["tools"],"architecture":{"input_modalities":["text","image"]}},{"id":"acme/small","supported_parameters":["top_k"],"architecture":{"input_modalities":["text"]}}`)
	claude := list(`{"type":"model","id":"claude-sonnet-4-6","max_input_tokens":1000000}`)
	const down = "http://127.0.0.1:1" // nothing listens there

	p := newFolder(t, "OPENAI_BASE_URL="+local.URL, "ANTHROPIC_API_KEY=a-key-a-key", "ANTHROPIC_BASE_URL="+strings.TrimSuffix(claude.URL, "/v1"))
	p.write("config.toml", fmt.Sprintf("[[providers]]\nid = \"or\"\nbase_url = %q\n[[providers]]\nid = \"down\"\nbase_url = %q\n[[agents]]\nid = \"a\"\n[agents.compaction]\nmodel = \"or/acme/small\"\n[[agents]]\nid = \"b\"\nmodel = \"hidden\"\n", router.URL, down+"/v1"))
	r := p.fails(0, "down: nothing listens at "+down, "models", "--json")
	check.Contains(t, "errors", r.err, "start the server, or correct the address")
	listed := storetest.Map(parse[web.OfferedModel](t, r.out), func(m web.OfferedModel) string { return strings.Join(modelCells(m), "\t") })
	check.EqualAll(t, "output", listed, []string{
		"text-embedding-3\tchat\t\t\t\t" + local.URL + "\t",
		"qwen3\tchat\t32768\t\t\t" + local.URL + "\tdefault, agent a",
		"llama\tchat\t\t\t\t" + local.URL + "\t",
		"hidden\tchat\t\t\t\t" + local.URL + "\tagent b",
		"or/acme/large\tchat\t200000\tyes\tyes\t" + router.URL + "\tdefault",
		"or/acme/small\tchat\t\tno\tno\t" + router.URL + "\tsummaries of a",
		"claude-sonnet-4-6\tmessages\t1000000\tyes\t\t" + strings.TrimSuffix(claude.URL, "/v1") + "\tdefault",
	})
	check.Lacks(t, "output for a pipe", p.must("", "models"), "MODEL")
	check.Contains(t, "output on a terminal", p.atScreen("models").end(0), "MODEL  ", "USED", "or/acme/large")
	t.Run("it fails only if no server answers", func(t *testing.T) {
		newFolder(t, "OPENAI_BASE_URL="+down+"/v1").fails(exitFailed, "nothing listens at "+down, "models")
		newFolder(t).fails(exitUsage, "OPENAI_API_KEY", "models")
	})
}
