// Servers of chat completions that violate the protocol.

package openai_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

func connect(t *testing.T, server *llmtest.Server, options openai.Options) *openai.Model {
	return check.Must(openai.New(server.Options(options)))(t)
}

func ok(x *llmtest.Exchange) { x.Say("ok") }

// refusing answers, but refuses the requests for which has is true.
func refusing(text string, has func(llmtest.Request) bool) func(*llmtest.Exchange) {
	return func(x *llmtest.Exchange) {
		if has(x.Request) {
			x.Reject(http.StatusBadRequest, "invalid_request_error", text)
			return
		}
		x.Say("ok")
	}
}

// twice sends a request twice, and wants ok each time.
func twice(t *testing.T, model *openai.Model, req llm.Request) {
	t.Helper()
	for range 2 {
		check.Equal(t, "answer", check.Must(model.Generate(t.Context(), req, nil))(t).Message.Text, "ok")
	}
}

// logged makes a model log to a buffer.
func logged(o openai.Options) (openai.Options, *bytes.Buffer) {
	log := new(bytes.Buffer)
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	return o, log
}

var hello = llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "hello"}}}

// ask sends hello to a server with this answer, without a second attempt.
func ask(t *testing.T, o openai.Options, answer func(*llmtest.Exchange)) (llm.Response, error) {
	t.Helper()
	return connect(t, llmtest.Serve(t, answer), o).Generate(t.Context(), hello, nil)
}

func TestFailureInPlaceOfAnAnswer(t *testing.T) {
	const openRouter = `{"id":"gen-1","object":"chat.completion.chunk","error":{"code":429,"message":"slow down"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`
	stream := func(events string) func(*llmtest.Exchange) { // an error that is not seen at once is never seen
		return func(x *llmtest.Exchange) { x.Piece("half"); x.Write(events); x.Wait(2 * time.Second) }
	}
	whole := func(body string) func(*llmtest.Exchange) {
		return func(x *llmtest.Exchange) { x.Refuse(http.StatusOK, "", body) }
	}
	finish := func(reason string) func(*llmtest.Exchange) {
		return func(x *llmtest.Exchange) { x.Piece("half"); x.Finish(reason); x.Done() }
	}
	for name, c := range map[string]struct {
		answer func(*llmtest.Exchange)
		kind   llm.Kind
	}{
		"the connection breaks after the finish_reason": {func(x *llmtest.Exchange) { x.Piece("half "); x.Finish("stop"); x.Cut() }, llm.KindTruncated},
		"a tool call without a name":                    {stream(`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}` + "\n\ndata: [DONE]\n\n"), llm.KindTruncated},
		"an error first in its chunk":                   {stream("data: {\"error\":{\"message\":\"slow down\",\"code\":429}}\n\n"), llm.KindRateLimited},
		"an error in OpenRouter's form":                 {stream("data: " + openRouter + "\n\n"), llm.KindRateLimited},
		"an error after an event line":                  {stream("event: error\ndata: {\"message\":\"slow down\",\"code\":429}\n\n"), llm.KindRateLimited},
		"old llama.cpp's error line":                    {stream("error: {\"code\":429,\"message\":\"slow down\",\"type\":\"x\"}\n\n"), llm.KindRateLimited},
		"an error over several lines of data":           {stream("data: {\"error\":\ndata: {\"message\":\"slow down\",\"code\":429}}\n\n"), llm.KindRateLimited},
		"a finish_reason of error":                      {finish("error"), llm.KindOverloaded},
		"a finish_reason of DeepSeek's":                 {finish("insufficient_system_resource"), llm.KindOverloaded},
		"200 with an error":                             {whole(`{"error":{"message":"slow down","code":429}}`), llm.KindRateLimited},
		"200 with an error in a string":                 {whole(`{"error":"out of memory"}`), llm.KindOverloaded},
		"200 with an overflow":                          {whole(`{"error":{"message":"maximum context length is 512 tokens"}}`), llm.KindOverflow},
		"200 with a page":                               {whole("\n<!doctype html><title>a web interface</title>"), llm.KindWrongAddress},
		"200 without choices":                           {whole(`{"object":"chat.completion","choices":[]}`), llm.KindTruncated},
	} {
		err := check.ErrorOf(ask(t, openai.Options{}, c.answer))
		check.Equal(t, name, llm.KindOf(err), c.kind)
		if c.kind == llm.KindRateLimited {
			check.ErrorContains(t, name, err, "slow down")
		}
	}
}

func TestWholeAnswerIsAccepted(t *testing.T) {
	for name, answer := range map[string]func(*llmtest.Exchange){
		"a finish_reason but never [DONE]":  func(x *llmtest.Exchange) { x.Piece("whole"); x.Finish("stop") },
		"[DONE] but never a finish_reason":  func(x *llmtest.Exchange) { x.Piece("whole"); x.Done() },
		"no empty lines between the events": func(x *llmtest.Exchange) { x.Write(chunk("who") + "\n" + chunk("le") + "\ndata: [DONE]\n") },
		"a chunk that takes several lines": func(x *llmtest.Exchange) {
			x.Write("data: {\"choices\":[\ndata: {\"delta\":{\"content\":\"whole\"}}]}\n\n")
			x.Done()
		},
		"a refusal, which is what the model says": func(x *llmtest.Exchange) {
			x.Chunk(`{"choices":[{"delta":{"refusal":"whole"},"finish_reason":"stop"}]}`)
			x.Done()
		},
		"in one piece of JSON though a stream was asked for": func(x *llmtest.Exchange) {
			x.Refuse(http.StatusOK, "", `{"id":"1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"whole"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`)
		},
	} {
		resp := check.Must(ask(t, openai.Options{}, answer))(t)
		check.Equal(t, name, resp.FinishReason+" "+resp.Message.Text, llm.FinishStop+" whole")
	}
}

func TestFinishReasonsOfOtherServers(t *testing.T) {
	for reason, want := range map[string]string{
		"length": llm.FinishLength, "model_length": llm.FinishLength, "max_tokens": llm.FinishLength, "MAX_TOKENS": llm.FinishLength,
		"content_filter": llm.FinishFilter, "sensitive": llm.FinishFilter, "eos": "eos",
		"SAFETY": llm.FinishFilter, "RECITATION": llm.FinishFilter, "PROHIBITED_CONTENT": llm.FinishFilter, "content_filter: OTHER": llm.FinishFilter,
	} {
		resp := check.Must(ask(t, openai.Options{}, func(x *llmtest.Exchange) { x.Piece("half"); x.Finish(reason); x.Done() }))(t)
		check.Equal(t, reason, resp.FinishReason, want)
	}
}

// chunk is the line of an event that brings text.
func chunk(text string) string {
	return `data: {"choices":[{"index":0,"delta":{"content":"` + text + `"}}]}`
}

func TestUsageForms(t *testing.T) {
	for name, c := range map[string]struct {
		usage string
		want  llm.Usage
	}{
		"with cached tokens":                 {`{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":64}}`, llm.Usage{Prompt: 100, Completion: 5, Cached: 64}},
		"with a cache that is counted apart": {`{"prompt_tokens":9,"completion_tokens":5,"cache_read_input_tokens":80,"cache_creation_input_tokens":20}`, llm.Usage{Prompt: 109, Completion: 5, Cached: 80, Written: 20}},
		"with DeepSeek's cache":              {`{"prompt_tokens":100,"completion_tokens":5,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}`, llm.Usage{Prompt: 100, Completion: 5, Cached: 64}},
		"with details null":                  {`{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":null}`, llm.Usage{Prompt: 100, Completion: 5}},
		"in numbers below nothing":           {`{"prompt_tokens":-5,"completion_tokens":-1}`, llm.Usage{}},
		"in absurd numbers":                  {`{"prompt_tokens":1000000000000000000,"completion_tokens":1e18}`, llm.Usage{}},
		"with more from the cache than all":  {`{"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":1000,"cache_write_tokens":1000}}`, llm.Usage{Prompt: 10, Cached: 10}},
		"in a word":                          {`"none"`, llm.Usage{}},
		"with odd details":                   {`{"prompt_tokens_details":"none"}`, llm.Usage{}},
	} {
		resp := check.Must(ask(t, openai.Options{}, func(x *llmtest.Exchange) {
			x.Chunk(`{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}`)
			x.Chunk(`{"choices":[],"usage":%s}`, c.usage)
			x.Done()
		}))(t)
		check.Equal(t, name, resp.Message.Text, "hi")
		check.Equal(t, name, resp.Usage, c.want)
	}
}

func TestInvalidUTF8IsRefused(t *testing.T) {
	resp := check.Must(ask(t, openai.Options{}, func(x *llmtest.Exchange) {
		x.Write("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\xffb\\u0000c\",\"reasoning_details\":[{\"type\":\"x\",\"data\":\"\xc3\x28\"}]},\"finish_reason\":\"stop\"}]}\n\n")
		x.Done()
	}))(t)
	check.Equal(t, "reply", resp.Message.Text, "a\uFFFDbc")
	native := string(resp.Message.Native)
	check.Contains(t, "stored native data", native, "\uFFFD")
	check.Equal(t, "native data", strings.ToValidUTF8(native, ""), native)
}

func TestBracketsInTextAreNoParts(t *testing.T) {
	text := strings.Repeat(`{"a\": [{\\`, 5000)
	resp := check.Must(ask(t, openai.Options{}, func(x *llmtest.Exchange) { x.Say(text) }))(t)
	check.That(t, resp.Message.Text == text, "got %d of %d bytes", len(resp.Message.Text), len(text))
}
