package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/check"

	"cairn/config"
)

func TestPromptFile(t *testing.T) {
	large := strings.Repeat("word ", config.MaxPrompt)
	for name, c := range map[string]struct {
		text  string // empty: there is no file
		want  string // of the error; empty: there is none
		reads string // at run time
	}{
		"missing":       {"", "no such file", ""},
		"blank":         {" \n\t\n", "it is empty", ""},
		"too large":     {large, "the limit is 16384", ""},
		"far too large": {strings.Repeat(large, 20), "larger than 1 MB", ""},
		"good":          {"Be brief.", "", "Be brief."},
	} {
		t.Run(name, func(t *testing.T) {
			file := writeSettings(t, "\n[[agents]]\nid = \"a\"\n[agents.compaction]\nprompt_file = \"prompt.md\"")
			prompt := filepath.Join(filepath.Dir(file), "prompt.md")
			if c.text != "" {
				check.NoError(t, os.WriteFile(prompt, []byte(c.text), 0o600))
			}
			_, err := config.Load(file)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("got settings error %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), ":5") || !strings.Contains(err.Error(), "prompt_file")):
				t.Errorf("got settings error %v, want %q, the key and its line", err, c.want)
			}

			var log bytes.Buffer
			read := promptFile(func() string { return prompt }, slog.New(slog.NewTextHandler(&log, nil)))
			for range 3 {
				check.Equal(t, "log at run time", read(), c.reads)
			}
			warnings := 1
			if c.want == "" {
				warnings = 0
			}
			if n := strings.Count(log.String(), "level=WARN"); n != warnings {
				t.Errorf("got %d warnings: %s", n, log.String())
			}

			if err := os.WriteFile(prompt, []byte("Be kind."), 0o600); err != nil { // an edit applies at once
				t.Fatal(err)
			}
			check.Equal(t, "log after an edit", read(), "Be kind.")
			check.NoError(t, os.Remove(prompt))
			read()
			check.Equal(t, "warnings after the next incident", strings.Count(log.String(), "level=WARN"), warnings+1)
		})
	}
}

func TestAgentModelIsFallbackForNamedWorker(t *testing.T) {
	t.Setenv(config.OpenAI.Key, "sk-1")
	s := check.Must(config.Load(writeSettings(t, "[llm]\nmodel = \"large\"\n[[agents]]\nid = \"a\"\n[[agents]]\nid = \"b\"\n[agents.compaction]\nmodel = \"small\"")))(t)
	agents := check.Must(newModelSet(slog.New(slog.DiscardHandler)).agents(&s, nil))(t)
	if a := agents["a"]; a.Worker != a.Model || a.Fallback != nil {
		t.Error("fallback of a worker without its own model")
	}
	if b := agents["b"]; b.Worker.Name() != "small" || b.Fallback != b.Model || b.Model.Name() != "large" {
		t.Errorf("got worker %s, fallback %v", b.Worker.Name(), b.Fallback)
	}
}
