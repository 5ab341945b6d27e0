package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/check"

	"cairn/compactor"
	"cairn/config"
	"cairn/llm/llmtest"
)

// environment sets the variables that select a model, and clears the others.
func environment(t *testing.T, set map[string]string) {
	t.Helper()
	for _, v := range []config.Variables{config.OpenAI, config.Anthropic} {
		for _, name := range []string{v.Key, v.URL, v.Model} {
			t.Setenv(name, set[name])
		}
	}
}

func writeSettings(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	check.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

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
	p.write("config.toml", fmt.Sprintf("[llm]\nbase_url = %q\napi_key = \"hush-hush-1\"\n[[providers]]\nid = \"p\"\nbase_url = %q\napi_key = \"hush-hush-2\"\n", server.URL, server.URL))
	s := check.Must(config.Load(filepath.Join(p.dir, "config.toml")))(t)
	at, _, err := s.Target(s.Agents[0])
	check.Equal(t, "key", at.Key, "hush-hush-1")
	check.NoError(t, err)
	for _, command := range [][]string{{"config", "check"}, {"config", "check", "--json"}, {"chat"}, {"doctor"}} {
		r := p.run("", command...)
		all := r.out + r.err
		for _, want := range []string{"file:PATH", "env:NAME", "OPENAI_API_KEY", "[llm]", "[providers.1]"} {
			if !strings.Contains(strings.ReplaceAll(all, `\"`, `"`), want) {
				t.Errorf("cairn %s: want %q in %s", strings.Join(command, " "), want, all)
			}
		}
		if strings.Contains(all, "hush") {
			t.Errorf("cairn %s: the key is shown: %s", strings.Join(command, " "), all)
		}
	}
}

func TestModelsAreCreatedOnce(t *testing.T) {
	environment(t, map[string]string{"OPENAI_BASE_URL": "http://o.test/v1"})
	t.Setenv("CAIRN_P_KEY", "p-key")
	text := "[[providers]]\nid = \"p\"\nbase_url = \"http://p.test/v1\"\napi_key = \"env:CAIRN_P_KEY\"\n[[agents]]\nid = \"a\"\nmodel = \"p/m\"\nreasoning = \"high\"\n[agents.compaction]\nmodel = \"small\"\n[[agents]]\nid = \"b\"\nmodel = \"p/m\"\n"
	s := check.Must(config.Load(writeSettings(t, text)))(t)
	set := newModelSet(slog.New(slog.DiscardHandler))
	a, errA := set.agent(&s, s.Agents[0])
	b, errB := set.agent(&s, s.Agents[1])
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if a.Model != b.Model || b.Worker != b.Model || b.Fallback != nil {
		t.Error("two agents with the same model do not share it")
	}
	if a.Worker == a.Model || a.Fallback != a.Model || a.Worker.Name() != "small" {
		t.Errorf("got worker %s", a.Worker.Name())
	}
	check.Equal(t, "reasoning efforts", a.Reasoning, "high")
	check.Equal(t, "reasoning effort", b.Reasoning, "")
	s.Agents[1].Compaction.CacheTTL = compactor.TTL(3600e9)
	if c, err := set.agent(&s, s.Agents[1]); err != nil || c.Model == b.Model {
		t.Errorf("a model with another cache_ttl is shared: %v", err)
	}
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
	})
	t.Run("for people", func(t *testing.T) {
		out := p.must("", "models")
		check.Contains(t, "out", out, "or/acme/large")
		check.Lacks(t, "out", out, "MODEL")
		screen := p.onScreen("models")
		check.HasPrefix(t, "output on a terminal", screen, "MODEL")
		check.Contains(t, "output on a terminal", screen, "USED")
	})
	t.Run("it fails only if no server answers", func(t *testing.T) {
		r := newFolder(t, "OPENAI_BASE_URL="+down.URL+"/v1").run("", "models")
		check.Equal(t, "exit code", r.code, exitFailed)
		check.Contains(t, "errors", r.err, "start the server at "+down.URL)
		newFolder(t).fails(exitUsage, "OPENAI_API_KEY", "models")
	})
}
