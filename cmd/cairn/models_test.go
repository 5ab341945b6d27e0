package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/compactor"
	"cairn/config"
	"cairn/llm"
)

// environment sets the variables that select a model, and empties the others.
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
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTwoProvidersInTheEnvironmentAreTold(t *testing.T) {
	t.Parallel()
	server := modelServer(t, failing["a wrong key"].do)
	both := []string{"OPENAI_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=a-key-a-key"}
	if r := newFolder(t, both...).run("", "chat"); strings.Count(r.err, "OpenAI is used") != 1 {
		t.Errorf("the log says %s", r.err)
	}
	if r := newFolder(t, both[1]).run("", "chat"); strings.Contains(r.err, "OpenAI is used") {
		t.Errorf("with one, the log says %s", r.err)
	}
	if r := newFolder(t, both...).run("", "doctor"); !strings.Contains(r.out, "ok     settings  warning: OPENAI_… and ANTHROPIC_… are both in the environment") {
		t.Errorf("doctor says %s", r.out)
	}
}

func TestAKeyInTheFileWorksIsWarnedOfAndNeverShown(t *testing.T) {
	t.Parallel()
	server := modelServer(t, failing["a wrong key"].do)
	p := newFolder(t)
	p.write("config.toml", fmt.Sprintf("[llm]\nbase_url = %q\napi_key = \"hush-hush-1\"\n[[providers]]\nid = \"p\"\nbase_url = %q\napi_key = \"hush-hush-2\"\n", server.URL, server.URL))
	s, err := config.Load(filepath.Join(p.dir, "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if at, _, err := s.Target(s.Agents[0]); at.Key != "hush-hush-1" || err != nil {
		t.Errorf("the key is %q, %v", at.Key, err)
	}
	for _, command := range [][]string{{"config", "check"}, {"config", "check", "--json"}, {"chat"}, {"doctor"}} {
		r := p.run("", command...)
		all := r.out + r.err
		for _, want := range []string{"file:PATH", "env:NAME", "OPENAI_API_KEY", "[llm]", "[providers] number 1"} {
			if !strings.Contains(strings.ReplaceAll(all, `\"`, `"`), want) {
				t.Errorf("cairn %s does not tell %q: %s", strings.Join(command, " "), want, all)
			}
		}
		if strings.Contains(all, "hush") {
			t.Errorf("cairn %s shows the key: %s", strings.Join(command, " "), all)
		}
	}
}

func TestModelsAreMadeOnce(t *testing.T) {
	environment(t, map[string]string{"OPENAI_BASE_URL": "http://o.test/v1"})
	t.Setenv("CAIRN_P_KEY", "p-key")
	text := "[[providers]]\nid = \"p\"\nbase_url = \"http://p.test/v1\"\napi_key = \"env:CAIRN_P_KEY\"\n[[agents]]\nid = \"a\"\nmodel = \"p/m\"\nreasoning = \"high\"\n[agents.compaction]\nmodel = \"small\"\n[[agents]]\nid = \"b\"\nmodel = \"p/m\"\n"
	s, err := config.Load(writeSettings(t, text))
	if err != nil {
		t.Fatal(err)
	}
	set := newModelSet(slog.New(slog.DiscardHandler))
	a, errA := set.agent(&s, s.Agents[0])
	b, errB := set.agent(&s, s.Agents[1])
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if a.Model != b.Model || b.Worker != b.Model || b.Fallback != nil {
		t.Error("two agents of one model do not share it")
	}
	if a.Worker == a.Model || a.Fallback != a.Model || a.Worker.Name() != "small" {
		t.Errorf("the worker is %s", a.Worker.Name())
	}
	if a.Reasoning != "high" || b.Reasoning != "" {
		t.Errorf("they think as hard as %q and %q", a.Reasoning, b.Reasoning)
	}
	s.Agents[1].Compaction.CacheTTL = compactor.TTL(3600e9)
	if c, err := set.agent(&s, s.Agents[1]); err != nil || c.Model == b.Model {
		t.Errorf("a model with another cache_ttl is the same: %v", err)
	}
	var _ llm.Lister = a.Model.(*located)
}
