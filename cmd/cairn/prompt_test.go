package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"cairn/internal/check"

	"cairn/config"
)

func TestPromptFile(t *testing.T) {
	for name, c := range map[string]struct {
		text string // empty: there is no file
		want string // of the error; empty: there is none
	}{
		"missing": {"", "no such file"},
		"good":    {"Be brief.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := writeSettings(t, "\n[[agents]]\nid = \"a\"\n[agents.compaction]\nprompt_file = \"prompt.md\"")
			if c.text != "" {
				check.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "prompt.md"), []byte(c.text), 0o600))
			}
			s, err := config.Load(file)
			if c.want != "" {
				check.ErrorContains(t, "settings", err, c.want, ":5", "prompt_file")
				return
			}
			check.NoError(t, err)
			check.Equal(t, "prompt", check.Must(newModelSet(slog.New(slog.DiscardHandler)).agents(&s))(t)["a"].WorkerPrompt(), c.text)
		})
	}
}

func TestAgentModelIsFallbackForNamedWorker(t *testing.T) {
	t.Setenv(config.OpenAI.Key, "sk-1")
	s := check.Must(config.Load(writeSettings(t, "[llm]\nmodel = \"large\"\n[[agents]]\nid = \"a\"\n[[agents]]\nid = \"b\"\n[agents.compaction]\nmodel = \"small\"")))(t)
	agents := check.Must(newModelSet(slog.New(slog.DiscardHandler)).agents(&s))(t)
	if a := agents["a"]; a.Worker != a.Model || a.Fallback != nil {
		t.Error("fallback of a worker without its own model")
	}
	if b := agents["b"]; b.Worker.Name() != "small" || b.Fallback != b.Model || b.Model.Name() != "large" {
		t.Errorf("got worker %s, fallback %v", b.Worker.Name(), b.Fallback)
	}
}
