package anthropic_test

import (
	"log/slog"
	"testing"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/anthropic"
)

func TestModelList(t *testing.T) {
	server := serve(t, ok)
	server.Tell("/v1/models", `{"data":[{"id":"claude-opus-5-5","type":"model","max_input_tokens":1000000,"capabilities":{"image_input":{"supported":true}}},
		{"id":"claude-old","type":"model","capabilities":{"image_input":{"supported":false}}},
		{"id":"claude-haiku-4-5","type":"model","max_input_tokens":200000}]}`)
	var log check.Buffer
	model, err := anthropic.New(anthropic.Options{BaseURL: server.URL, Log: slog.New(slog.NewTextHandler(&log, nil))})
	check.NoError(t, err)
	models, err := model.Models(t.Context())
	want := []llm.Offered{
		{ID: "claude-opus-5-5", Window: 1_000_000, Tools: "yes", Images: "yes"},
		{ID: "claude-old", Tools: "yes", Images: "no"},
		{ID: "claude-haiku-4-5", Window: 200_000, Tools: "yes"},
	}
	check.NoError(t, err)
	check.EqualAll(t, "models", models, want)
	t.Run("and a small one is chosen where none is set", func(t *testing.T) {
		check.NoError(t, check.ErrorOf(model.Generate(t.Context(), hello, nil)))
		check.Equal(t, "chosen model", server.Requests()[0].Model, "claude-haiku-4-5")
		check.Contains(t, "logged", log.String(), "claude-haiku-4-5")
	})
	t.Run("with its window", func(t *testing.T) {
		check.Equal(t, "window", model.Window(t.Context()), (llm.Window{Tokens: 200_000, Source: "GET /v1/models"}))
	})
}

func TestTheWindowHasASource(t *testing.T) {
	for name, c := range map[string]struct {
		model, facts string
		setting      int
		want         llm.Window
	}{
		"a setting":        {"claude-x", `{"data":[{"id":"claude-x","max_input_tokens":300000}]}`, 5000, llm.Window{Tokens: 5000, Source: "setting"}},
		"the list":         {"claude-x", `{"data":[{"id":"claude-x","max_input_tokens":300000}]}`, 0, llm.Window{Tokens: 300_000, Source: "GET /v1/models"}},
		"llama.cpp's list": {"qwen", `{"object":"list","data":[{"id":"qwen","object":"model","created":1,"meta":{"n_ctx":8192}}]}`, 0, llm.Window{Tokens: 8192, Source: "GET /v1/models"}},
		"the table":        {"claude-x", `{"data":[]}`, 0, llm.Window{Tokens: 200_000, Source: "table of models"}},
		"nothing":          {"qwen", `<html>`, 0, llm.Window{Tokens: llm.DefaultWindow, Source: "default"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, ok)
			server.Tell("/v1/models", c.facts)
			check.Equal(t, "result", connect(t, server, anthropic.Options{Model: c.model, Window: c.setting}).Window(t.Context()), c.want)
		})
	}
}
