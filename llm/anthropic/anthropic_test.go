package anthropic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/anthropic"
	"cairn/llm/llmtest"
)

// serve starts a strict server for the test.
func serve(t *testing.T, script func(*llmtest.Exchange)) *llmtest.Server {
	t.Helper()
	server := llmtest.NewServer(script)
	server.Speak(llm.WireMessages)
	t.Cleanup(server.Close)
	return server
}

// connect returns a model behind server, test-model unless the options name one.
func connect(t *testing.T, server *llmtest.Server, options anthropic.Options) *anthropic.Model {
	t.Helper()
	options.BaseURL = server.URL
	if options.Model == "" {
		options.Model = "test-model"
	}
	if options.RetryDelay == 0 {
		options.RetryDelay = time.Millisecond
	}
	model := check.Must(anthropic.New(options))(t)
	return model
}

var hello = llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "hello"}}}

func ok(x *llmtest.Exchange) { x.Say("ok") }

func TestKeyHeader(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "of the environment")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "of the environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	for _, key := range []string{"", "secret"} {
		server := serve(t, ok)
		check.NoError(t, check.ErrorOf(connect(t, server, anthropic.Options{APIKey: key}).Generate(t.Context(), hello, nil)))
		header := server.Requests()[0].Header
		check.Equal(t, "key", header.Get("X-Api-Key"), key)
		got := header.Get("Authorization")
		check.Equal(t, "authorization", (got != ""), (key != ""))
		check.Lacks(t, "authorization", got, "environment")
		check.That(t, header.Get("Anthropic-Version") != "", "got no version")
	}
}

func TestStopReasons(t *testing.T) {
	for reason, want := range map[string]string{
		"end_turn": llm.FinishStop, "stop_sequence": llm.FinishStop, "pause_turn": llm.FinishStop, "news": llm.FinishStop,
		"max_tokens": llm.FinishLength, "refusal": llm.FinishFilter, "tool_use": llm.FinishToolCalls,
	} {
		server := serve(t, func(x *llmtest.Exchange) { x.Piece("ok"); x.Finish(reason); x.Done() })
		resp, err := connect(t, server, anthropic.Options{}).Generate(t.Context(), hello, nil)
		if err != nil || resp.FinishReason != want || resp.Message.Text != "ok" {
			t.Errorf("%s: got %+v, %v", reason, resp, err)
		}
	}
	t.Run("the end of the window is an overflow", func(t *testing.T) {
		server := serve(t, func(x *llmtest.Exchange) {
			x.Counted = llm.Usage{Prompt: 900, Completion: 100}
			x.Piece("half")
			x.Finish("model_context_window_exceeded")
			x.Done()
		})
		model := connect(t, server, anthropic.Options{})
		_, err := model.Generate(t.Context(), hello, nil)
		if llm.KindOf(err) != llm.KindOverflow || llm.PromptOf(err) != 900 || model.Learnt().Facts().Window != 1000 {
			t.Errorf("got %v, learned %+v", err, model.Learnt().Facts())
		}
	})
}

func TestCacheTTL(t *testing.T) {
	for set, want := range map[time.Duration]time.Duration{
		0: 5 * time.Minute, time.Minute: 5 * time.Minute, 5 * time.Minute: 5 * time.Minute, 6 * time.Minute: time.Hour, 24 * time.Hour: time.Hour,
	} {
		model := check.Must(anthropic.New(anthropic.Options{CacheTTL: set}))(t)
		check.Equal(t, "the lifetime for "+fmt.Sprint(set), model.CacheTTL(), want)
	}
}

// field fails the test if a field of a request is not want.
func field(t *testing.T, body map[string]json.RawMessage, name, want string) {
	t.Helper()
	check.Equal(t, name, string(body[name]), want)
}

func TestAddressWithPath(t *testing.T) {
	for _, path := range []string{"", "/", "/v1", "/v1/", "/anthropic", "/anthropic/v1/"} {
		var got []string
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			got = append(got, r.Method+" "+r.URL.String())
			return nil, http.ErrServerClosed
		})}
		model, err := anthropic.New(anthropic.Options{BaseURL: "http://model.invalid" + path, Model: "m", MaxRetries: -1, HTTPClient: client})
		check.NoError(t, err)
		check.Equal(t, "error kind", llm.KindOf(check.ErrorOf(model.Generate(t.Context(), hello, nil))), llm.KindUnreachable)
		check.Equal(t, "error kind", llm.KindOf(check.ErrorOf(model.Models(t.Context()))), llm.KindUnreachable)
		root := "http://model.invalid"
		if strings.Contains(path, "anthropic") {
			root += "/anthropic"
		}
		check.EqualAll(t, path, got, []string{"POST " + root + "/v1/messages", "GET " + root + "/v1/models?limit=1000"})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
