package anthropic_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"cairn/llm"
	"cairn/llm/anthropic"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

func ask(t *testing.T, answer func(*llmtest.Exchange)) (llm.Response, error) {
	return connect(t, llmtest.Serve(t, answer), anthropic.Options{}).Generate(t.Context(), hello, nil)
}

func connect(t *testing.T, server *llmtest.Server, options anthropic.Options) *anthropic.Model {
	return check.Must(anthropic.New(server.Options(options)))(t)
}

var hello = llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "hello"}}}

func ok(x *llmtest.Exchange) { x.Say("ok") }

func TestKeyHeader(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "of the environment")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "of the environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	for _, key := range []string{"", "secret"} {
		server := llmtest.Serve(t, ok)
		check.NoError(t, check.ErrorOf(connect(t, server, anthropic.Options{APIKey: key}).Generate(t.Context(), hello, nil)))
		header := server.Requests()[0].Header
		check.Equal(t, "key", header.Get("X-Api-Key"), key)
		got := header.Get("Authorization")
		check.Equal(t, "has an authorization", got != "", key != "")
		check.Lacks(t, "authorization", got, "environment")
		check.That(t, header.Get("Anthropic-Version") != "", "got no version")
	}
}

func TestStopReasons(t *testing.T) {
	for reason, want := range map[string]string{
		"end_turn": llm.FinishStop, "stop_sequence": llm.FinishStop, "pause_turn": llm.FinishStop, "news": llm.FinishStop,
		"max_tokens": llm.FinishLength, "refusal": llm.FinishFilter, "tool_use": llm.FinishToolCalls,
	} {
		resp := check.Must(ask(t, func(x *llmtest.Exchange) { x.Piece("ok"); x.Finish(reason); x.Done() }))(t)
		check.Equal(t, reason, resp.FinishReason+" "+resp.Message.Text, want+" ok")
	}
	model := connect(t, llmtest.Serve(t, func(x *llmtest.Exchange) {
		x.Counted = llm.Usage{Prompt: 900, Completion: 100}
		x.Piece("half")
		x.Finish("model_context_window_exceeded")
		x.Done()
	}), anthropic.Options{})
	err := check.ErrorOf(model.Generate(t.Context(), hello, nil))
	check.That(t, llm.KindOf(err) == llm.KindOverflow && llm.PromptOf(err) == 900 && model.Learned().Facts().Window == 1000, "the end of the window: got %v, learned %+v", err, model.Learned().Facts())
}

func TestAddressWithPath(t *testing.T) {
	for _, path := range []string{"", "/", "/v1", "/v1/", "/anthropic", "/anthropic/v1/"} {
		var got []string
		client := &http.Client{Transport: llmtest.RoundTrip(func(r *http.Request) (*http.Response, error) {
			got = append(got, r.Method+" "+r.URL.String())
			return nil, http.ErrServerClosed
		})}
		model := check.Must(anthropic.New(anthropic.Options{BaseURL: "http://model.invalid" + path, Model: "m", MaxRetries: -1, HTTPClient: client}))(t)
		check.Equal(t, "error kind", llm.KindOf(check.ErrorOf(model.Generate(t.Context(), hello, nil))), llm.KindUnreachable)
		check.Equal(t, "error kind", llm.KindOf(check.ErrorOf(model.Models(t.Context()))), llm.KindUnreachable)
		root := "http://model.invalid"
		if strings.Contains(path, "anthropic") {
			root += "/anthropic"
		}
		check.EqualAll(t, path, got, []string{"POST " + root + "/v1/messages", "GET " + root + "/v1/models?limit=1000"})
	}
}

func TestModelList(t *testing.T) {
	server := llmtest.Serve(t, ok)
	server.Tell("/v1/models", `{"data":[{"id":"claude-opus-5-5","type":"model","max_input_tokens":1000000,"capabilities":{"image_input":{"supported":true}}},
		{"id":"claude-old","type":"model","capabilities":{"image_input":{"supported":false}}},
		{"id":"claude-haiku-4-5","type":"model","max_input_tokens":200000}]}`)
	var log check.Buffer
	model := check.Must(anthropic.New(anthropic.Options{BaseURL: server.URL, Log: slog.New(slog.NewTextHandler(&log, nil))}))(t)
	check.EqualAll(t, "models", check.Must(model.Models(t.Context()))(t), []llm.Offered{
		{ID: "claude-opus-5-5", Window: 1_000_000, Tools: "yes", Images: "yes"},
		{ID: "claude-old", Tools: "yes", Images: "no"},
		{ID: "claude-haiku-4-5", Window: 200_000, Tools: "yes"},
	})
	check.Equal(t, "window", model.Window(t.Context()), (llm.Window{Tokens: 200_000, Source: "GET /v1/models"})) // of the small one that is chosen where none is set
	check.NoError(t, check.ErrorOf(model.Generate(t.Context(), hello, nil)))
	check.Equal(t, "chosen model", server.Requests()[0].Model, "claude-haiku-4-5")
	check.Contains(t, "logged", log.String(), "claude-haiku-4-5")
	for model, want := range map[string]llm.Window{"claude-old": {Tokens: 200_000, Source: "table of models"}, "qwen": llm.GuessedWindow} {
		check.Equal(t, model, connect(t, server, anthropic.Options{Model: model}).Window(t.Context()), want)
	}
}

func TestTruncatedAnswerIsError(t *testing.T) {
	for name, last := range map[string]string{
		"with a reason but no end": `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`,
		"a text that is a number":  `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":4}}`,
		"a piece of no block":      `{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"x"}}`,
		"a call without a name":    `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a"}}`,
	} {
		err := check.ErrorOf(ask(t, func(x *llmtest.Exchange) { x.Piece("half"); x.Chunk("%s", last) }))
		check.Equal(t, name, llm.KindOf(err), llm.KindTruncated)
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
		"with comments and pings":   ": hi\n\n" + block + "\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n" + delta + "\n\n: hi\n\n" + end + "\n\n",
		"with unknown events":       block + "\n\ndata: {\"type\":\"news\",\"x\":[1]}\n\n" + delta + "\n\n" + end + "\n\n",
		"with unknown blocks":       "data: {\"type\":\"content_block_start\",\"index\":9,\"content_block\":{\"type\":\"news\"}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":9,\"delta\":{\"type\":\"news_delta\",\"text\":\"not this\"}}\n\n" + block + "\n\n" + delta + "\n\n" + end + "\n\n",
		"with unknown deltas":       block + "\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"citations_delta\",\"citation\":{}}}\n\n" + delta + "\n\n" + end + "\n\n",
		"text in the block's start": strings.Replace(block, `"text":""`, `"text":"fine"`, 1) + "\n\n" + end + "\n\n",
		"usage of another shape":    strings.Replace(begin, "{}", `{"usage":{"input_tokens":"many","output_tokens":-4,"cache_read_input_tokens":1e18}}`, 1) + block + "\n\n" + delta + "\n\n" + end + "\n\n",
	} {
		resp := check.Must(ask(t, func(x *llmtest.Exchange) { x.Write(stream) }))(t)
		check.Equal(t, name, resp.Message.Text, "fine")
		check.Equal(t, name, resp.Usage, llm.Usage{})
	}
}

// sent returns the only request that req makes.
func sent(t *testing.T, req llm.Request, options anthropic.Options) llmtest.Request {
	t.Helper()
	server := llmtest.Serve(t, ok)
	check.NoError(t, check.ErrorOf(connect(t, server, options).Generate(t.Context(), req, nil)))
	check.Len(t, "requests", server.Requests(), 1)
	return server.Requests()[0]
}

var picture = []byte("\x89PNG\r\n\x1a\n")

func TestRequestTranslation(t *testing.T) {
	got := sent(t, llm.Request{
		Messages: []llm.Message{
			{Role: llm.RoleSystem, Text: "be kind"},
			{Role: llm.RoleUser, Text: "one"},
			{Role: llm.RoleUser, Text: "two <b>", Images: []llm.Image{{Data: picture, Label: "image of #2"}, {Data: []byte("%PDF-1.4"), Label: "page"}}},
			{Role: llm.RoleAssistant, Text: "I look", Calls: []llm.Call{{ID: "a", Name: "f"}, {ID: "b", Name: "f", Arguments: `{"broken":`}, {ID: "c", Name: "f", Arguments: `[1]`}}},
			{Role: llm.RoleTool, CallID: "a", Tool: "f", Text: ""},
			{Role: llm.RoleTool, CallID: "b", Tool: "f", Text: "Error: …"},
			{Role: llm.RoleTool, CallID: "c", Tool: "f", Text: "3"},
			{Role: llm.RoleUser, Text: "and?"},
		},
		Tools:     []llm.Tool{{Name: "f", Description: "does f"}},
		ForceTool: "f",
	}, anthropic.Options{})
	var file bytes.Buffer
	var want map[string]json.RawMessage
	check.NoError(t, json.Compact(&file, check.Must(os.ReadFile("testdata/messages.json"))(t)))
	check.NoError(t, json.Unmarshal(file.Bytes(), &want))
	check.Equal(t, "fields", len(got.Body), len(want))
	for name, value := range want {
		check.Equal(t, name, string(got.Body[name]), string(value))
	}
}

func TestCacheMarksAreOnStablePrefix(t *testing.T) {
	user := llm.RoleUser
	assistant := llm.RoleAssistant
	tool := llm.RoleTool
	system := llm.Message{Role: llm.RoleSystem, Text: "system"}
	call := []llm.Call{{ID: "a", Name: "f", Arguments: "{}"}}
	for name, c := range map[string]struct {
		messages []llm.Message
		tools    []llm.Tool
		head     int
		want     string
	}{
		"the first message":       {[]llm.Message{system, {Role: user, Text: "1"}}, nil, 1, "system 1"},
		"without a system prompt": {[]llm.Message{{Role: user, Text: "1"}}, []llm.Tool{{Name: "f"}, {Name: "g"}}, 0, `{"input_schema":{"type":"object","properties":{}},"name":"g"} 1`},
		"the head":                {[]llm.Message{system, {Role: user, Text: "summary"}, {Role: user, Text: "1"}}, nil, 2, "system summary 1"},
		"the request before":      {[]llm.Message{system, {Role: user, Text: "1"}, {Role: assistant, Text: "2"}, {Role: user, Text: "3"}}, nil, 1, "system 1 3"},
		"all four":                {[]llm.Message{system, {Role: user, Text: "h"}, {Role: user, Text: "1"}, {Role: assistant, Text: "2"}, {Role: user, Text: "3"}}, nil, 2, "system h 1 3"},
		"a tool step":             {[]llm.Message{system, {Role: user, Text: "1"}, {Role: assistant, Calls: call}, {Role: tool, CallID: "a", Text: "x"}}, []llm.Tool{{Name: "f"}}, 1, "system 1 a x"},
		"a message that is empty": {[]llm.Message{system, {Role: user, Text: "1"}, {Role: assistant, Text: "2"}, {Role: user, Text: " "}, {Role: user, Text: "4"}}, nil, 1, "system 1 4"},
	} {
		got := sent(t, llm.Request{Messages: c.messages, Tools: c.tools, Head: c.head}, anthropic.Options{})
		check.Equal(t, name+": texts with a mark", strings.Join(got.Marked(), " "), c.want)
	}
	for set, long := range map[time.Duration]bool{0: false, time.Minute: false, 5 * time.Minute: false, 6 * time.Minute: true, 24 * time.Hour: true} {
		got := sent(t, hello, anthropic.Options{CacheTTL: set})
		check.Equal(t, set.String()+": marks for an hour", strings.Contains(string(got.Body["messages"]), `"cache_control":{"ttl":"1h","type":"ephemeral"}`), long)
		ttl := check.Must(anthropic.New(anthropic.Options{CacheTTL: set}))(t).CacheTTL()
		check.Equal(t, set.String(), ttl, map[bool]time.Duration{true: time.Hour, false: 5 * time.Minute}[long])
	}
}
