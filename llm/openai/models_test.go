package openai_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

func TestModelCapabilities(t *testing.T) {
	server := llmtest.Serve(t, nil)
	server.Tell("/v1/models", `{"data":[
		{"id":"a/router","context_length":200000,"supported_parameters":["tools","temperature"],"architecture":{"input_modalities":["text","image"]}},
		{"id":"b/router","context_length":8000,"supported_parameters":["temperature"],"architecture":{"input_modalities":["text"]}},
		{"id":"vllm","max_model_len":32768},
		{"id":"llama","meta":{"n_ctx":4096,"n_ctx_train":131072}},
		{"id":"plain"}]}`)
	got, err := connect(t, server, openai.Options{}).Models(t.Context())
	want := []llm.Offered{
		{ID: "a/router", Window: 200000, Tools: "yes", Images: "yes"},
		{ID: "b/router", Window: 8000, Tools: "no", Images: "no"},
		{ID: "vllm", Window: 32768},
		{ID: "llama", Window: 4096},
		{ID: "plain"},
	}
	check.NoError(t, err)
	check.EqualAll(t, "result", got, want)
}

func TestChatModelIsChosen(t *testing.T) {
	server := llmtest.Serve(t, func(x *llmtest.Exchange) { x.Say("ok") })
	server.Tell("/v1/models", `{"data":[{"id":"text-embedding-ada-002"},{"id":"whisper-1"},{"id":"gpt-4o-2024-08-06"},{"id":"gpt-4.1"},{"id":"gpt-5.6-luna"}]}`)
	log := new(bytes.Buffer)
	model := check.Must(openai.New(openai.Options{BaseURL: server.URL, Log: slog.New(slog.NewTextHandler(log, nil))}))(t)
	check.Len(t, "asked", server.Asked(), 0)
	for range 2 {
		check.NoError(t, check.ErrorOf(model.Generate(t.Context(), hello, nil)))
		check.Equal(t, "asked", model.Name(), "gpt-5.6-luna")
		check.Equal(t, "model", server.Requests()[0].Model, "gpt-5.6-luna")
	}
	check.EqualAll(t, "asked", server.Asked(), []string{"/v1/models"})
	check.Contains(t, fmt.Sprintf("got log %s", log), log.String(), "set model to use another", "model=gpt-5.6-luna")
}
