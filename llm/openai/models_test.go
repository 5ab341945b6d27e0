package openai_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/llm/openai"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

func TestWindowSources(t *testing.T) {
	const (
		ps    = `{"models":[{"name":"other","context_length":1000},{"name":"test-model:latest","context_length":4096}]}`
		list  = `{"data":[{"id":"other","context_length":999},{"id":"test-model","context_length":65536}]}`
		props = `{"default_generation_settings":{"n_ctx":2048}}`
	)
	for name, c := range map[string]struct {
		facts   map[string]string
		setting int
		want    llm.Window
		warning string // the only one
	}{
		"a setting before all": {map[string]string{"/api/ps": ps, "/v1/models": list, "/props": props}, 2000, llm.Window{Tokens: 2000, Source: "setting"}, ""},
		"what Ollama loaded":   {map[string]string{"/api/ps": ps, "/v1/models": list, "/props": props}, 0, llm.Window{Tokens: 4096, Source: "GET /api/ps"}, ""},
		"what is listed":       {map[string]string{"/v1/models": list, "/props": props}, 0, llm.Window{Tokens: 65536, Source: "GET /models"}, ""},
		"vLLM's field":         {map[string]string{"/v1/models": `{"data":[{"id":"test-model","max_model_len":8192}]}`}, 0, llm.Window{Tokens: 8192, Source: "GET /models"}, ""},
		"Mistral's field":      {map[string]string{"/v1/models": `{"data":[{"id":"test-model","max_context_length":32768}]}`}, 0, llm.Window{Tokens: 32768, Source: "GET /models"}, ""},
		"llama.cpp's field":    {map[string]string{"/v1/models": `{"data":[{"id":"test-model","meta":{"n_ctx":16384,"n_ctx_train":131072}}]}`}, 0, llm.Window{Tokens: 16384, Source: "GET /models"}, ""},
		"llama.cpp's slot":     {map[string]string{"/props": props}, 0, llm.Window{Tokens: 2048, Source: "GET /props"}, ""},
		"nobody":               {nil, 0, llm.Window{Tokens: llm.DefaultWindow, Source: "default"}, "window_guessed"},
		"the next when a number cannot be believed": {map[string]string{
			"/api/ps": `{"models":[{"name":"test-model","context_length":-1}]}`, "/v1/models": `{"data":[{"id":"test-model","max_model_len":-1,"context_length":512}]}`,
		}, 0, llm.Window{Tokens: 512, Source: "GET /models"}, ""},
		"nobody when no number can be believed": {map[string]string{
			"/api/ps": `{"models":[{"name":"test-model","context_length":0}]}`, "/v1/models": `{"data":[{"id":"test-model","context_length":-1,"max_model_len":0}]}`,
			"/props": `{"default_generation_settings":{"n_ctx":-5}}`,
		}, 0, llm.Window{Tokens: llm.DefaultWindow, Source: "default"}, "window_guessed"},
		"a setting above what is listed": {map[string]string{"/v1/models": list}, 99_999, llm.Window{Tokens: 99_999, Source: "setting"}, "window_too_large"},
	} {
		server := llmtest.Serve(t, ok)
		for path, fact := range c.facts {
			server.Tell(path, fact)
		}
		options, log := logged(openai.Options{Window: c.setting})
		model := connect(t, server, options)
		for range 2 {
			check.Equal(t, name, model.Window(t.Context()), c.want)
		}
		asked := server.Asked()
		slices.Sort(asked)
		check.Len(t, name+": asked", slices.Compact(slices.Clone(asked)), len(asked))
		for range 2 {
			twice(t, model, hello)
			model.Window(t.Context())
		}
		warnings := strings.Count(log.String(), "level=WARN")
		check.That(t, warnings == min(len(c.warning), 1) && strings.Contains(log.String(), c.warning), "%s: %s", name, log)
	}
}

func TestUnknownWindowIsLookedUpAgain(t *testing.T) {
	server := llmtest.Serve(t, ok)
	server.Tell("/api/ps", `{"models":[]}`)
	model := connect(t, server, openai.Options{})
	check.Equal(t, "window before the model was loaded", model.Window(t.Context()).Tokens, llm.DefaultWindow)
	server.Tell("/api/ps", `{"models":[{"name":"test-model","context_length":4096}]}`)
	check.NoError(t, check.ErrorOf(model.Generate(t.Context(), hello, nil)))
	check.Equal(t, "window", model.Window(t.Context()).Tokens, 4096)
}

func TestOverflowLowersWindow(t *testing.T) {
	for name, c := range map[string]struct {
		setting int
		limits  []int
		want    llm.Window
	}{
		"below what is believed": {0, []int{8192}, llm.Window{Tokens: 8192, Source: "an overflow"}},
		"never upward again":     {0, []int{8192, 4096, 32768}, llm.Window{Tokens: 4096, Source: "an overflow"}},
		"never above a setting":  {2000, []int{8192}, llm.Window{Tokens: 2000, Source: "setting"}},
	} {
		server := llmtest.Serve(t, func(x *llmtest.Exchange) {
			x.Refuse(400, "", fmt.Sprintf(`{"error":{"type":"exceed_context_size_error","message":"no","n_ctx":%d}}`, c.limits[x.N-1]))
		})
		model := connect(t, server, openai.Options{Window: c.setting, MaxRetries: 2})
		for range c.limits {
			check.Equal(t, name, llm.KindOf(check.ErrorOf(model.Generate(t.Context(), hello, nil))), llm.KindOverflow)
		}
		check.Equal(t, name, model.Window(t.Context()), c.want)
	}
}

func TestModelsShareNothing(t *testing.T) {
	notebook := new(llm.Notebook)
	at := func(url, model string) *llm.Learned {
		return check.Must(openai.New(openai.Options{BaseURL: url, Model: model, Notebook: notebook}))(t).Learned()
	}
	one := at("http://localhost:1/v1", "m")
	nameless := at("http://localhost:1/v1", "")
	check.That(t, at("http://key:secret@localhost:1/v1/", "m") == one, "the same model on the same server does not share facts")
	for _, other := range []*llm.Learned{at("http://localhost:2/v1", "m"), at("http://localhost:1/v1", "n"), at("http://localhost:1/other/v1", "m"), nameless} {
		check.That(t, other != one && at("http://localhost:1/v1", "") != other, "two models share learned facts")
	}
}

func TestModelCapabilities(t *testing.T) {
	server := llmtest.Serve(t, nil)
	server.Tell("/v1/models", `{"data":[
		{"id":"a/router","context_length":200000,"supported_parameters":["tools","temperature"],"architecture":{"input_modalities":["text","image"]}},
		{"id":"b/router","context_length":8000,"supported_parameters":["temperature"],"architecture":{"input_modalities":["text"]}},
		{"id":"vllm","max_model_len":32768},
		{"id":"llama","meta":{"n_ctx":4096,"n_ctx_train":131072}},
		{"id":"plain"}]}`)
	check.EqualAll(t, "models", check.Must(connect(t, server, openai.Options{}).Models(t.Context()))(t), []llm.Offered{
		{ID: "a/router", Window: 200000, Tools: "yes", Images: "yes"},
		{ID: "b/router", Window: 8000, Tools: "no", Images: "no"},
		{ID: "vllm", Window: 32768},
		{ID: "llama", Window: 4096},
		{ID: "plain"},
	})
}

func TestChatModelIsChosen(t *testing.T) {
	server := llmtest.Serve(t, ok)
	server.Tell("/v1/models", `{"data":[{"id":"text-embedding-ada-002"},{"id":"whisper-1"},{"id":"gpt-4o-2024-08-06"},{"id":"gpt-4.1"},{"id":"gpt-5.6-luna"}]}`)
	options, log := logged(openai.Options{BaseURL: server.URL})
	model := check.Must(openai.New(options))(t)
	check.Len(t, "asked", server.Asked(), 0)
	twice(t, model, hello)
	check.Equal(t, "asked", model.Name(), "gpt-5.6-luna")
	check.Equal(t, "model", server.Requests()[0].Model, "gpt-5.6-luna")
	check.EqualAll(t, "asked", server.Asked(), []string{"/v1/models"})
	check.Contains(t, "log", log.String(), "set model to use another", "model=gpt-5.6-luna")
}
