// Answers on both protocols, also of servers that violate them.

package openai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"cairn/llm"
	"cairn/llm/openai"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

func connect(t *testing.T, server *llmtest.Server, options openai.Options) *openai.Model {
	return check.Must(openai.New(server.Options(options)))(t)
}

func ok(x *llmtest.Exchange) { x.Say("ok") }

// twice sends a request twice, and wants ok each time.
func twice(t *testing.T, model *openai.Model, req llm.Request) {
	t.Helper()
	for range 2 {
		check.Equal(t, "answer", check.Must(model.Generate(t.Context(), req, nil))(t).Message.Text, "ok")
	}
}

func logged(o openai.Options) (openai.Options, *bytes.Buffer) {
	log := new(bytes.Buffer)
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	return o, log
}

var hello = llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "hello"}}}

func ask(t *testing.T, o openai.Options, answer func(*llmtest.Exchange)) (llm.Response, error) {
	t.Helper()
	return connect(t, llmtest.Serve(t, answer), o).Generate(t.Context(), hello, nil)
}

func TestChatAnswerForms(t *testing.T) {
	const (
		limited    = string(llm.KindRateLimited) + " slow down"
		again      = `{"object":"chat.completion","choices":[{"index":0,"message":{"content":"whole"},"finish_reason":"stop"}]}`
		openRouter = `{"id":"gen-1","object":"chat.completion.chunk","error":{"code":429,"message":"slow down"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`
	)
	chunk := func(text string) string { return `data: {"choices":[{"index":0,"delta":{"content":"` + text + `"}}]}` }
	stream := func(events string) func(*llmtest.Exchange) { // an error that is not seen at once is never seen
		return func(x *llmtest.Exchange) { x.Piece("half"); x.Write(events); x.Wait(2 * time.Second) }
	}
	whole := func(body string) func(*llmtest.Exchange) {
		return func(x *llmtest.Exchange) { x.Refuse(http.StatusOK, "", body) }
	}
	finish := func(reason string) func(*llmtest.Exchange) {
		return func(x *llmtest.Exchange) { x.Piece("whole"); x.Finish(reason); x.Done() }
	}
	brackets := strings.Repeat(`{"a\", [{\\`, 5000) // which are no parts
	for name, c := range map[string]struct {
		answer func(*llmtest.Exchange)
		want   string // finish reason and text, or a kind of error
	}{
		"brackets in the text":                             {func(x *llmtest.Exchange) { x.Say(brackets) }, "stop " + brackets},
		"a connection that breaks after the finish_reason": {func(x *llmtest.Exchange) { x.Piece("half "); x.Finish("stop"); x.Cut() }, "truncated"},
		"a tool call without a name":                       {stream(`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}` + "\n\ndata: [DONE]\n\n"), "truncated"},
		"an error first in its chunk":                      {stream("data: {\"error\":{\"message\":\"slow down\",\"code\":429}}\n\n"), limited},
		"an error in OpenRouter's form":                    {stream("data: " + openRouter + "\n\n"), limited},
		"an error after an event line":                     {stream("event: error\ndata: {\"message\":\"slow down\",\"code\":429}\n\n"), limited},
		"old llama.cpp's error line":                       {stream("error: {\"code\":429,\"message\":\"slow down\",\"type\":\"x\"}\n\n"), limited},
		"an error over several lines of data":              {stream("data: {\"error\":\ndata: {\"message\":\"slow down\",\"code\":429}}\n\n"), limited},
		"a finish_reason of error":                         {finish("error"), "overloaded"},
		"a finish_reason of DeepSeek's":                    {finish("insufficient_system_resource"), "overloaded"},
		"a finish_reason of vLLM's":                        {finish("abort"), "overloaded"},
		"a tool call that Gemini cannot parse":             {finish("function_call_filter: MALFORMED_FUNCTION_CALL"), "overloaded"},
		"a finish_reason of Zhipu's":                       {finish("model_context_window_exceeded"), "overflow"},
		"200 with an error":                                {whole(`{"error":{"message":"slow down","code":429}}`), limited},
		"200 with an error in a string":                    {whole(`{"error":"out of memory"}`), "overloaded"},
		"200 with an overflow":                             {whole(`{"error":{"message":"maximum context length is 512 tokens"}}`), "overflow"},
		"200 with a page":                                  {whole("\n<!doctype html><title>a web interface</title>"), "wrong address"},
		"200 without choices":                              {whole(`{"object":"chat.completion","choices":[]}`), "truncated"},

		"a finish_reason but never [DONE]":  {func(x *llmtest.Exchange) { x.Piece("whole"); x.Finish("stop") }, "stop whole"},
		"[DONE] but never a finish_reason":  {func(x *llmtest.Exchange) { x.Piece("whole"); x.Done() }, "stop whole"},
		"no empty lines between the events": {func(x *llmtest.Exchange) { x.Write(chunk("who") + "\n" + chunk("le") + "\ndata: [DONE]\n") }, "stop whole"},
		"a chunk that takes several lines": {func(x *llmtest.Exchange) {
			x.Write("data: {\"choices\":[\ndata: {\"delta\":{\"content\":\"whole\"}}]}\n\n")
			x.Done()
		}, "stop whole"},
		"a refusal, which is what the model says": {func(x *llmtest.Exchange) {
			x.Chunk(`{"choices":[{"delta":{"refusal":"whole"},"finish_reason":"stop"}]}`)
			x.Done()
		}, "stop whole"},
		"all of it once more at the end, as MiniMax's":       {func(x *llmtest.Exchange) { x.Piece("whole"); x.Chunk("%s", again); x.Done() }, "stop whole"},
		"in one piece of JSON though a stream was asked for": {whole(`{"id":"1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"whole"},"delta":{"role":"assistant","content":"","reasoning_content":null,"tool_calls":[]},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`), "stop whole"},

		"length": {finish("length"), "length whole"}, "model_length": {finish("model_length"), "length whole"}, "eos": {finish("eos"), "eos whole"},
		"max_tokens": {finish("max_tokens"), "length whole"}, "MAX_TOKENS": {finish("MAX_TOKENS"), "length whole"},
		"content_filter": {finish("content_filter"), "content_filter whole"}, "sensitive": {finish("sensitive"), "content_filter whole"},
		"SAFETY": {finish("SAFETY"), "content_filter whole"}, "RECITATION": {finish("RECITATION"), "content_filter whole"},
		"PROHIBITED_CONTENT": {finish("PROHIBITED_CONTENT"), "content_filter whole"}, "a reason with more": {finish("content_filter: OTHER"), "content_filter whole"},
	} {
		resp, err := ask(t, openai.Options{}, c.answer)
		got := resp.FinishReason + " " + resp.Message.Text
		if e, failed := errors.AsType[*llm.Error](err); failed {
			got = string(e.Kind)
			if c.want == limited {
				got += " " + e.Message
			}
		}
		check.Equal(t, name, got, c.want)
	}
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
		for _, chunk := range []string{`{"choices":[],"usage":%s}`, `{"choices":[{"index":0,"delta":{},"usage":%s}]}`} { // Moonshot's is the second
			resp := check.Must(ask(t, openai.Options{}, func(x *llmtest.Exchange) {
				x.Chunk(`{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}`)
				x.Chunk(chunk, c.usage)
				x.Done()
			}))(t)
			check.Equal(t, name, resp.Message.Text, "hi")
			check.Equal(t, name, resp.Usage, c.want)
		}
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

var onResponses = openai.Options{Wire: llm.WireResponses}

// Events of Responses, also as servers other than OpenAI's write them.
const (
	wholeMessage = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"whole"}]}`
	wholeCall    = `{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":1}"}`
	completed    = `{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":9,"output_tokens":2}}}`
)

func TestResponsesAnswerForms(t *testing.T) {
	const (
		called = `tool_calls [{a f {"x":1}}]`
		added  = `{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"a","name":"f","arguments":""}}`
		piece  = `{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"x\""}`
		args   = `{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{\"x\":1}"}`
	)
	for name, c := range map[string]struct {
		want   string // finish reason, text and calls; or a kind of error and its text
		events []string
	}{
		"a message without pieces": {"stop whole", []string{`{"type":"response.output_item.done","output_index":0,"item":` + wholeMessage + `}`, completed}},
		"pieces without items": {"stop whole", []string{
			`{"type":"response.output_text.delta","output_index":0,"delta":"who"}`, `{"type":"response.output_text.delta","output_index":0,"delta":"le"}`, completed,
		}},
		"a refusal, which is what the model says":   {"stop whole", []string{`{"type":"response.refusal.delta","output_index":0,"delta":"whole"}`, completed}},
		"a call of one event":                       {called, []string{`{"type":"response.output_item.done","output_index":0,"item":` + wholeCall + `}`, completed}},
		"a call whose pieces are incomplete":        {called, []string{added, piece, `{"type":"response.output_item.done","output_index":0,"item":` + wholeCall + `}`, completed}},
		"a call whose item never ends, as SGLang's": {called, []string{added, piece, args, completed}},
		"a call whose item lacks its arguments":     {called, []string{added, args, strings.ReplaceAll(added, "added", "done"), completed}},
		"a call without arguments":                  {`tool_calls [{a f {}}]`, []string{added, strings.ReplaceAll(added, "added", "done"), completed}},
		"a call that is complete twice":             {called, []string{added, args, `{"type":"response.output_item.done","output_index":0,"item":` + wholeCall + `}`, `{"type":"response.output_item.done","output_index":0,"item":` + wholeCall + `}`, completed}},
		"a call that never ends":                    {"truncated: the answer broke off: a tool call that is not complete", []string{added, piece, completed}},
		"a call that the limit cuts off":            {"length [{a f }]", []string{added, piece, strings.ReplaceAll(completed, "completed", "incomplete")}},
		"a call that a filter cuts off":             {"truncated", []string{added, piece, strings.ReplaceAll(completed, `completed"`, `incomplete","incomplete_details":{"reason":"content_filter"}`)}},
		"pieces of a call that is not there":        {"truncated: the answer broke off: a tool call that is not complete", []string{piece, completed}},
		"calls out of order": {`tool_calls [{b g {}} {a f {"x":1}}]`, []string{
			`{"type":"response.output_item.done","output_index":2,"item":` + wholeCall + `}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"b","name":"g","arguments":"{}"}}`, completed,
		}},
		"failed":                {"overloaded: crashed", []string{`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"crashed"}}}`}},
		"a rate limit":          {"rate limited: slow down", []string{`{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"}}}`}},
		"failed without words":  {"overloaded: the server gave up", []string{`{"type":"response.failed","response":{"status":"failed","error":null}}`}},
		"an overflow":           {"overflow: Your input exceeds", []string{`{"type":"error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}`}},
		"an error in an object": {"overloaded: crashed", []string{`{"error":{"message":"crashed","code":502}}`}},
		"a call without a name": {"truncated: the answer broke off: a tool call without a name", []string{`{"type":"response.output_item.done","item":{"type":"function_call","call_id":"a"}}`, completed}},
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := ask(t, onResponses, func(x *llmtest.Exchange) {
				for _, event := range c.events {
					x.Chunk("%s", event)
				}
				if c.events[len(c.events)-1] == completed {
					check.That(t, !x.Wait(time.Minute), "a whole answer did not end the wait")
				}
			})
			got := resp.FinishReason + " " + resp.Message.Text
			usage := llm.Usage{Prompt: 9, Completion: 2}
			if e, failed := errors.AsType[*llm.Error](err); failed {
				got = string(e.Kind) + ": " + e.Message
				usage = llm.Usage{}
			} else if len(resp.Message.Calls) > 0 {
				got += fmt.Sprint(resp.Message.Calls)
			}
			check.HasPrefix(t, "answer", got, c.want)
			check.Equal(t, "usage", resp.Usage, usage)
		})
	}
}

func TestReasoningItemsPrecedeTheirCalls(t *testing.T) {
	reasoning := func(id string) string {
		return `{"id":"` + id + `","type":"reasoning","summary":[],"encrypted_content":"secret ` + id + `"}`
	}
	call := func(id string) string {
		return `{"type":"function_call","call_id":"` + id + `","name":"f","arguments":"{}"}`
	}
	for name, output := range map[string][]string{
		"each call behind its own":          {reasoning("r1"), call("a"), reasoning("r2"), call("b")},
		"before text and a call":            {reasoning("r1"), wholeMessage, call("a"), reasoning("r2"), call("b")},
		"before text and again before both": {reasoning("r1"), wholeMessage, reasoning("r2"), call("a"), reasoning("r3"), call("b")},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.Serve(t, llmtest.Once(func(x *llmtest.Exchange) {
				for i, item := range output {
					x.Chunk(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, i, item)
				}
				x.Chunk("%s", completed)
			}))
			model := connect(t, server, onResponses)
			resp := check.Must(model.Generate(t.Context(), hello, nil))(t)
			next := llm.Request{Messages: []llm.Message{hello.Messages[0], resp.Message, {Role: llm.RoleTool, CallID: "a", Text: "1"}, {Role: llm.RoleTool, CallID: "b", Text: "2"}}}
			check.NoError(t, check.ErrorOf(model.Generate(t.Context(), next, nil)))
			var input []json.RawMessage
			check.NoError(t, json.Unmarshal(server.Requests()[1].Body["input"], &input))
			for i, want := range output {
				check.Equal(t, fmt.Sprintf("item %d", i), string(input[1+i]), want)
			}
		})
	}
	resp := check.Must(ask(t, onResponses, func(x *llmtest.Exchange) {
		x.Chunk(`{"type":"response.output_item.done","output_index":0,"item":{"id":"r","type":"reasoning","summary":[]}}`)
		x.Say("whole")
	}))(t)
	check.Equal(t, "an item that the server would look for in vain is kept", string(resp.Message.Native), "")
}

func TestProviderFieldsReturnOnlyToProvider(t *testing.T) {
	server := llmtest.Serve(t, llmtest.Once(func(x *llmtest.Exchange) {
		x.Chunk(`{"choices":[{"delta":{"reasoning":"let me ","reasoning_content":"so","reasoning_details":[{"type":"reasoning.text","index":0,"text":"let me "}]}}]}`)
		x.Chunk(`{"choices":[{"delta":{"reasoning":"see","reasoning_details":[{"type":"reasoning.text","index":0,"text":"see","signature":null}]}}]}`)
		x.Chunk(`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","index":0,"signature":"sig"},{"type":"reasoning.encrypted","index":1,"data":"xyz"}]}}]}`)
		x.Chunk(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"deep"}}},{"index":1,"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}}]}`)
		x.Finish("tool_calls")
		x.Done()
	}))
	model := connect(t, server, openai.Options{})
	resp := check.Must(model.Generate(t.Context(), hello, nil))(t)
	var again llm.Message // the transcript stores it between two requests
	check.NoError(t, json.Unmarshal(check.Must(json.Marshal(resp.Message))(t), &again))
	next := []llm.Message{hello.Messages[0], again, {Role: llm.RoleTool, CallID: "a", Text: "1"}, {Role: llm.RoleTool, CallID: "b", Text: "2"}}
	check.NoError(t, check.ErrorOf(model.Generate(t.Context(), llm.Request{Messages: next}, nil)))
	for name, want := range map[string]string{
		"reasoning": `"let me see"`, "reasoning_content": `"so"`,
		"reasoning_details": `[{"index":0,"signature":"sig","text":"let me see","type":"reasoning.text"},{"data":"xyz","index":1,"type":"reasoning.encrypted"}]`,
		"tool_calls": `[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"deep"}}},` +
			`{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]`,
	} {
		check.Equal(t, name, string(server.Requests()[1].Messages[1].Body[name]), want)
	}
	resp = check.Must(ask(t, openai.Options{}, func(x *llmtest.Exchange) { x.Say("plain") }))(t)
	check.That(t, resp.Message.Native == nil, "got %s of a provider that adds nothing", resp.Message.Native)
}
