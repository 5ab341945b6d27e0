package anthropic_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/anthropic"
	"cairn/llm/llmtest"
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

func TestTruncatedAnswerIsError(t *testing.T) {
	start := `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	for name, script := range map[string]func(*llmtest.Exchange){
		"with a reason but no end": func(x *llmtest.Exchange) { x.Piece("half"); x.Finish(llm.FinishStop) },
		"a text that is a number": func(x *llmtest.Exchange) {
			x.Write("data: " + start + "\n\n")
			x.Chunk(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":4}}`)
		},
		"a piece of no block": func(x *llmtest.Exchange) {
			x.Chunk(`{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"x"}}`)
		},
		"a call without a name": func(x *llmtest.Exchange) {
			x.Chunk(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a"}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := connect(t, serve(t, script), anthropic.Options{MaxRetries: -1}).Generate(t.Context(), hello, nil)
			var e *llm.Error
			check.That(t, errors.As(err, &e), "got %+v, %v", resp, err)
		})
	}
}

func TestUnusualStreams(t *testing.T) {
	const (
		begin = "data: {\"type\":\"message_start\",\"message\":{}}\n\n"
		block = `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
		delta = `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"fine"}}`
		end   = `data: {"type":"message_stop"}`
	)
	for name, stream := range map[string]string{
		"without event names":       begin + block + "\n\n" + delta + "\n\n" + end + "\n\n",
		"without empty lines":       block + "\n" + delta + "\n" + end + "\n",
		"with comments and pings":   ": hi\n\n" + block + "\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n" + delta + "\n\n: hi\n\n" + end + "\n\n",
		"with unknown events":       block + "\n\ndata: {\"type\":\"news\",\"x\":[1]}\n\n" + delta + "\n\n" + end + "\n\n",
		"with unknown blocks":       "data: {\"type\":\"content_block_start\",\"index\":9,\"content_block\":{\"type\":\"news\"}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":9,\"delta\":{\"type\":\"news_delta\",\"text\":\"not this\"}}\n\n" + block + "\n\n" + delta + "\n\n" + end + "\n\n",
		"with unknown deltas":       block + "\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"citations_delta\",\"citation\":{}}}\n\n" + delta + "\n\n" + end + "\n\n",
		"text in the block's start": strings.Replace(block, `"text":""`, `"text":"fine"`, 1) + "\n\n" + end + "\n\n",
		"usage of another shape":    strings.Replace(begin, "{}", `{"usage":{"input_tokens":"many","output_tokens":-4,"cache_read_input_tokens":1e18}}`, 1) + block + "\n\n" + delta + "\n\n" + end + "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, func(x *llmtest.Exchange) { x.Write(stream) })
			resp := check.Must(connect(t, server, anthropic.Options{MaxRetries: -1}).Generate(t.Context(), hello, nil))(t)
			check.Equal(t, "the reply", resp.Message.Text, "fine")
			check.Equal(t, "the usage", resp.Usage, (llm.Usage{}))
		})
	}
}
