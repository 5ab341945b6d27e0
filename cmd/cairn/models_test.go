package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"cairn/channel"
	"cairn/compactor"
	"cairn/config"
	"cairn/internal/check"
	"cairn/llm/llmtest"
)

func TestTwoProvidersInEnvironmentWarn(t *testing.T) {
	t.Parallel()
	server := modelServer(t, failing["a wrong key"].do)
	both := []string{"OPENAI_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=a-key-a-key"}
	check.Equal(t, "how often the log names OpenAI", strings.Count(newFolder(t, both...).run("", "chat").err, "OpenAI is used"), 1)
	check.Lacks(t, "log with one provider", newFolder(t, both[1]).run("", "chat").err, "OpenAI is used")
	check.Contains(t, "doctor", newFolder(t, both...).run("", "doctor").out, "ok     settings  warning: OPENAI_… and ANTHROPIC_… are both in the environment")
}

func TestKeyInFileWarns(t *testing.T) {
	t.Parallel()
	server := modelServer(t, failing["a wrong key"].do)
	p := newFolder(t)
	p.write("config.toml", fmt.Sprintf("[llm]\nbase_url = %[1]q\napi_key = \"hush-hush-1\"\n[[providers]]\nid = \"p\"\nbase_url = %[1]q\napi_key = \"hush-hush-2\"\n", server.URL))
	for _, command := range []string{"config check", "config check --json", "chat", "doctor"} {
		r := p.run("", strings.Fields(command)...)
		all := strings.ReplaceAll(r.out+r.err, `\"`, `"`)
		check.Contains(t, command, all, "file:PATH", "env:NAME", "OPENAI_API_KEY", "[llm]", "[providers.1]")
		check.Lacks(t, command, all, "hush")
	}
	sent := server.Requests()
	check.Equal(t, "the key is used all the same", sent[0].Header.Get("Authorization"), "Bearer hush-hush-1")
}

// agentsOf creates the agents of settings.
func agentsOf(t *testing.T, text string) (config.Settings, *modelSet, map[string]channel.Agent) {
	t.Helper()
	p := newFolder(t)
	p.write("prompt.md", "Be brief.")
	s := check.Must(config.Load(filepath.Join(p.dir, p.write("config.toml", text))))(t)
	set := newModelSet(slog.New(slog.DiscardHandler))
	return s, set, check.Must(set.agents(&s))(t)
}

func TestModelsAreCreatedOnce(t *testing.T) {
	s, set, agents := agentsOf(t, `[llm]
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
	a, b := agents["a"], agents["b"]
	check.That(t, a.Model == b.Model && b.Worker == b.Model && b.Fallback == nil, "two agents with the same model do not share it")
	check.That(t, a.Worker != a.Model && a.Fallback == a.Model && a.Worker.Name() == "small", "got worker %s", a.Worker.Name())
	check.Equal(t, "reasoning efforts", a.Reasoning+b.Reasoning, "high")
	check.Equal(t, "prompt of a worker", a.WorkerPrompt(), "Be brief.")
	s.Agents[1].Compaction.CacheTTL = compactor.TTL(3600e9)
	c, err := set.agent(&s, s.Agents[1])
	check.That(t, err == nil && c.Model != b.Model, "a model with another cache_ttl is shared: %v", err)
}

func TestModelsLists(t *testing.T) {
	t.Parallel()
	list := func(body string) *llmtest.Server {
		s := llmtest.Serve(t, saying("yes"))
		s.Tell("/v1/models", `{"data":[`+body+`],"has_more":false}`)
		return s
	}
	local := list(`{"id":"text-embedding-3"},{"id":"qwen3","max_model_len":32768},{"id":"llama"}`)
	router := list(`{"id":"acme/large","context_length":200000,"supported_parameters":["tools"],"architecture":{"input_modalities":["text","image"]}},{"id":"acme/small","supported_parameters":["top_k"],"architecture":{"input_modalities":["text"]}}`)
	claude := list(`{"type":"model","id":"claude-sonnet-4-6","max_input_tokens":1000000}`)
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()

	p := newFolder(t, "OPENAI_BASE_URL="+local.URL, "ANTHROPIC_API_KEY=a-key-a-key", "ANTHROPIC_BASE_URL="+strings.TrimSuffix(claude.URL, "/v1"))
	p.write("config.toml", fmt.Sprintf("[[providers]]\nid = \"or\"\nbase_url = %q\n[[providers]]\nid = \"down\"\nbase_url = %q\n[[agents]]\nid = \"a\"\n[agents.compaction]\nmodel = \"or/acme/small\"\n[[agents]]\nid = \"b\"\nmodel = \"hidden\"\n", router.URL, down.URL+"/v1"))
	r := p.run("", "models", "--json")
	check.Equal(t, "exit code", r.code, 0)
	check.Contains(t, "errors", r.err, "down: model: unreachable", "start the server at "+down.URL)
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
		check.Equal(t, "output", strings.Join(got[name].cells(), "\t"), want)
	}
	check.Equal(t, "listed models", len(got), 7)
	check.Lacks(t, "output for a pipe", p.must("", "models"), "MODEL")
	_, screen := p.atScreen("models").end()
	check.Contains(t, "output on a terminal", screen, "MODEL  ", "USED", "or/acme/large")
	t.Run("it fails only if no server answers", func(t *testing.T) {
		newFolder(t, "OPENAI_BASE_URL="+down.URL+"/v1").fails(exitFailed, "start the server at "+down.URL, "models")
		newFolder(t).fails(exitUsage, "OPENAI_API_KEY", "models")
	})
}
