// One suite of conversations for every protocol, on strict servers, and on ones that send anything.

package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"cairn/llm"
	"cairn/llm/anthropic"
	"cairn/llm/openai"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// wire is one protocol for a model.
type wire struct{ name string }

var wires = []wire{{llm.WireChat}, {llm.WireResponses}, {llm.WireMessages}}

// connect returns the model of a server with this protocol.
func (w wire) connect(o openai.Options) (llm.Model, error) {
	if w.name == llm.WireMessages {
		return anthropic.New(o)
	}
	o.Wire = w.name
	return openai.New(o)
}

func forEveryProtocol(t *testing.T, test func(t *testing.T, w wire)) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) { test(t, w) })
	}
}

// open starts a server with only this protocol, which must reject nothing.
func (w wire) open(t *testing.T, answer func(*llmtest.Exchange)) *llmtest.Server {
	t.Helper()
	server := llmtest.Serve(t, answer)
	server.Speak(w.name)
	t.Cleanup(func() { check.Len(t, "what the server rejected", server.Refusals(), 0) })
	return server
}

// model returns the model of a server; without options it does not retry.
func (w wire) model(t *testing.T, server *llmtest.Server, o openai.Options) llm.Model {
	return check.Must(w.connect(server.Options(o)))(t)
}

func user(text string) llm.Message      { return llm.Message{Role: llm.RoleUser, Text: text} }
func assistant(text string) llm.Message { return llm.Message{Role: llm.RoleAssistant, Text: text} }

var hello = llm.Request{Messages: []llm.Message{{Role: llm.RoleSystem, Text: "be kind"}, user("hello")}}

var look = llm.Tool{Name: "lookup", Description: "looks up a word", Parameters: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}}}`)}

func (w wire) ask(t *testing.T, answer func(*llmtest.Exchange)) (llm.Response, error) {
	t.Helper()
	return w.model(t, w.open(t, answer), openai.Options{}).Generate(t.Context(), hello, nil)
}

func TestTextIsStreamed(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		seen := make(chan string)
		server := w.open(t, func(x *llmtest.Exchange) {
			x.Counted = llm.Usage{Prompt: 1000, Cached: 600, Written: 300, Completion: 20}
			x.Piece("first ")
			check.Equal(t, "first piece", <-seen, "first ")
			x.Say("last")
		})
		var shown []string
		resp, err := w.model(t, server, openai.Options{}).Generate(t.Context(), hello, func(delta string) {
			shown = append(shown, delta)
			if len(shown) == 1 {
				seen <- delta
			}
		})
		check.NoError(t, err)
		check.EqualAll(t, "shown", shown, []string{"first ", "last"})
		check.That(t, resp.Message.Text == "first last" && resp.FinishReason == llm.FinishStop && resp.Message.Role == llm.RoleAssistant, "got %+v", resp)
		check.Equal(t, "usage", resp.Usage, (llm.Usage{Prompt: 1000, Cached: 600, Written: 300, Completion: 20}))
		for _, reason := range []string{llm.FinishLength, llm.FinishFilter} { // why an answer ends
			resp := check.Must(w.ask(t, func(x *llmtest.Exchange) { x.Piece("so far"); x.Finish(reason); x.Done() }))(t)
			check.Equal(t, "answer", resp.FinishReason+" "+resp.Message.Text, reason+" so far")
		}
	})
}

func TestParallelToolCalls(t *testing.T) {
	calls := []llm.Call{llmtest.Call("a", "lookup", map[string]string{"word": "tea"}), llmtest.Call("b", "lookup", map[string]string{"word": "pier"})}
	forEveryProtocol(t, func(t *testing.T, w wire) {
		server := w.open(t, llmtest.Once(func(x *llmtest.Exchange) {
			x.Piece("I look. ")
			x.UseAll(calls...)
		}))
		tool := look
		messages := slices.Clone(hello.Messages)
		tool.Run = func(_ context.Context, arguments json.RawMessage) (llm.Result, error) {
			return llm.Result{Text: "found " + string(arguments)}, nil
		}
		resp, err := llm.Loop{
			Model: w.model(t, server, openai.Options{}), MaxCalls: 3,
			Request: func(context.Context, int) (llm.Request, error) {
				return llm.Request{Messages: messages, Tools: []llm.Tool{tool}, MaxTokens: 2000}, nil
			},
			Record: func(calls llm.Message, results []llm.Message) { messages = append(append(messages, calls), results...) },
		}.Run(t.Context())
		check.Require(t, err == nil && resp.Message.Text == "done", "got %q, %v", resp.Message.Text, err)
		check.Len(t, "requests", server.Requests(), 2)
		sent := server.Requests()[1].Messages
		check.Len(t, "sent", sent, 5)
		check.Equal(t, "text sent back", sent[2].Text(), "I look. ")
		check.EqualAll(t, "calls sent back", sent[2].ToolCalls, calls)
		check.Equal(t, "results", sent[3].ToolCallID+": "+sent[3].Text()+", "+sent[4].ToolCallID, `a: found {"word":"tea"}, b`)
	})
}

func TestForcedTool(t *testing.T) {
	req := hello
	req.Tools = []llm.Tool{look}
	req.ForceTool = "lookup"
	req.MaxTokens = 500
	forEveryProtocol(t, func(t *testing.T, w wire) {
		server := w.open(t, func(x *llmtest.Exchange) { x.Use("a", x.Request.Forced, "{}") })
		resp := check.Must(w.model(t, server, openai.Options{}).Generate(t.Context(), req, nil))(t)
		check.EqualAll(t, "calls", resp.Message.Calls, []llm.Call{{ID: "a", Name: "lookup", Arguments: "{}"}})
		check.Equal(t, "finish reason", resp.FinishReason, llm.FinishToolCalls)
		got := server.Requests()[0]
		check.That(t, got.MaxTokens >= 500 && len(got.Tools) == 1 && got.Tools[0].Function.Description == look.Description, "got sent %+v", got)
		server = w.open(t, func(x *llmtest.Exchange) { // one that takes no forced tool
			if x.Request.Forced != "" {
				x.Reject(400, "invalid_request_error", "Thinking mode does not support this tool_choice")
				return
			}
			x.Use("a", "lookup", "{}")
		})
		model := w.model(t, server, openai.Options{})
		for range 2 {
			check.Len(t, "calls", check.Must(model.Generate(t.Context(), req, nil))(t).Message.Calls, 1)
		}
		n := len(server.Requests())
		check.That(t, n == 3 && llm.LearnedOf(model, nil).Facts().RefusesForced, "got %d requests: the refusal was not learned", n)
	})
}

func TestReasoningReturnsOnlyToItsModelWithinTurn(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		server := w.open(t, llmtest.Once(func(x *llmtest.Exchange) {
			x.Think("they ask for tea")
			x.Use("a", "lookup", `{"word":"tea"}`)
		}))
		req := hello
		req.Tools = []llm.Tool{look}
		req.Reasoning = "low"
		model := w.model(t, server, openai.Options{})
		resp, err := model.Generate(t.Context(), req, nil)
		right := err == nil && len(resp.Message.Native) > 0 && resp.Message.Text == ""
		check.Require(t, right, "got %+v, %v %q", resp, err, server.Refusals())
		var again llm.Message // the transcript stores it between two requests
		check.NoError(t, json.Unmarshal(check.Must(json.Marshal(resp.Message))(t), &again))
		req.Messages = append(slices.Clone(req.Messages), again, llm.Message{Role: llm.RoleTool, CallID: "a", Tool: "lookup", Text: "found"})
		sent := func(server *llmtest.Server, model llm.Model) string {
			check.NoError(t, check.ErrorOf(model.Generate(t.Context(), req, nil)))
			all := server.Requests()
			return string(all[len(all)-1].Raw)
		}
		check.Contains(t, "got no reasoning", sent(server, model), "they ask for tea")
		check.Lacks(t, "another model was called", sent(server, w.model(t, server, openai.Options{Model: "other-model"})), "they ask for tea")
		other := w.open(t, func(x *llmtest.Exchange) { x.Say("done") })
		check.Lacks(t, "another server was called", sent(other, w.model(t, other, openai.Options{})), "they ask for tea")
	})
}

func TestConnectionReuse(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		model := w.model(t, w.open(t, func(x *llmtest.Exchange) {
			x.Say("ok")
			x.Wait(time.Millisecond) // the end of the body comes a little later
		}), openai.Options{})
		opened := 0
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
			if !c.Reused {
				opened++
			}
		}})
		for range 10 {
			check.NoError(t, check.ErrorOf(model.Generate(ctx, hello, nil)))
		}
		check.That(t, opened <= 6, "got %d connections for 10 requests", opened) // a late end of a body costs one
	})
}

// FuzzAnswer sends any server response through each protocol: it becomes an answer or an
// *llm.Error, and what is stored is sent back as valid JSON.
func FuzzAnswer(f *testing.F) {
	for wire, bodies := range [][]string{{
		"data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n",
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{}],\"Tool_Calls\":[{},{}]}}]}\n\n",
		"data: {\"choices\":[{}],\"Choices\":[{},{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n",
		`{"choices":[{"message":{"reasoning_details":[{"index":0},null,3]}}]}`,
		"error: [1]\n: \r\ndata: [\ndata: ]\n\n",
	}, {
		"data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"x\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n",
		"event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"output_index\":-1,\"item\":{\"type\":\"reasoning\",\"encrypted_content\":\"\xff\"}}\n\ndata: {\"type\":\"response.incomplete\",\"response\":{\"status\":\"incomplete\"}}\n",
		"data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"function_call\",\"name\":\"f\"}}\n\ndata: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":0,\"delta\":null}\n\n",
		`{"status":"completed","output":[{"type":"message","content":[{"text":"x"}]},{"type":"function_call"}]}`,
		"data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":[1]}}\n\n",
		"data: {\"type\":\"response.completed\",\"response\":7}\n\n",
	}, {
		"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3}}}\n\n",
		"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\"}}\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"thinking\":\"a\",\"signature\":\"b\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
		"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{}}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"partial_json\":\"{\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
		`{"type":"message","content":[{"type":"text","text":"a"},{"type":"redacted_thinking","data":"x"}],"stop_reason":"end_turn"}`,
		"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n", "<html>", "error: x", "data: {\ndata: }\n\n",
	}} {
		for _, body := range bodies {
			f.Add(wire, body)
		}
	}
	f.Fuzz(func(t *testing.T, wire int, body string) {
		client := &http.Client{Transport: llmtest.RoundTrip(func(r *http.Request) (*http.Response, error) { // the same answer to every request
			sent, err := io.ReadAll(r.Body)
			check.That(t, err == nil && json.Valid(sent), "after %q: got request %s, %v", body, sent, err)
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(iotest.OneByteReader(strings.NewReader(body)))}, nil
		})}
		model := check.Must(wires[max(wire, 0)%len(wires)].connect(openai.Options{
			Model: "m", BaseURL: "http://127.0.0.1/v1", MaxRetries: -1, MaxAnswer: 10_000, IdleTimeout: time.Minute, HTTPClient: client,
		}))(t)
		req := llm.Request{Messages: []llm.Message{user("x")}}
		shown := ""
		resp, err := model.Generate(context.Background(), req, func(delta string) { shown += delta })
		var e *llm.Error
		if err == nil && (resp.FinishReason == "" || !strings.HasSuffix(strings.TrimSpace(shown), strings.TrimSpace(resp.Message.Text))) || err != nil && (!errors.As(err, &e) || e.Kind == "") {
			t.Errorf("%q: got %+v, shown as %q, %v", body, resp, shown, err)
		}
		m := resp.Message
		if !utf8.ValidString(m.Text) || strings.Contains(m.Text, "\x00") || len(m.Native) > 0 && !(json.Valid(m.Native) && utf8.Valid(m.Native)) {
			t.Errorf("%q: stored as %q, %q", body, m.Text, m.Native)
		}
		if err != nil {
			return
		}
		req.Messages = append(req.Messages, m)
		for _, call := range m.Calls {
			req.Messages = append(req.Messages, llm.Message{Role: llm.RoleTool, CallID: call.ID})
		}
		_, _ = model.Generate(context.Background(), req, nil) // client checks the request
	})
}

// TestManySmallPartsUseLittleMemory limits the memory for reading a megabyte: these once took up to 400 MB.
func TestManySmallPartsUseLittleMemory(t *testing.T) {
	check.SkipUnderRace(t)
	many := "[" + strings.Repeat("{},", 300_000) + "{}]"
	bodies := map[string]map[string]string{
		llm.WireChat: {
			"choices":            `{"choices":` + many + `}`,
			"choices of nothing": `{"choices":` + strings.ReplaceAll(many, "{}", "0") + `}`,
			"tool calls":         `{"choices":[{"index":0,"delta":{"tool_calls":` + many + `}}]}`,
			"reasoning details":  `{"choices":[{"index":0,"delta":{"content":"x","reasoning_details":` + many + `}}]}`,
		},
		llm.WireResponses: {
			"items": `{"type":"response.completed","status":"completed","output":` + many + `,"response":{"output":` + many + `}}`,
		},
		llm.WireMessages: {
			"an event": `{"type":"news","x":` + many + `}`,
			"blocks":   `{"type":"message","content":` + many + `}`,
			"events":   strings.Repeat(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`+"\n\ndata: ", 2000) + "{}",
		},
	}
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for name, body := range bodies[w.name] {
			for form, write := range map[string]func(*llmtest.Exchange){
				"in a stream":  func(x *llmtest.Exchange) { x.Write("data: " + body + "\n\n"); x.Done() },
				"in one piece": func(x *llmtest.Exchange) { x.Refuse(200, "", strings.ReplaceAll(body, `"delta"`, `"message"`)) },
			} {
				t.Run(name+" "+form, func(t *testing.T) {
					model := w.model(t, w.open(t, write), openai.Options{})
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					_, err := model.Generate(t.Context(), hello, nil)
					runtime.ReadMemStats(&after)
					took := (after.TotalAlloc - before.TotalAlloc) >> 20
					check.That(t, err != nil && took <= 40, "%v; got %d MiB used", err, took)
				})
			}
		}
	})
}
