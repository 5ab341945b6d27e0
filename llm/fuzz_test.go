package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

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
		req, shown := llm.Request{Messages: []llm.Message{user("x")}}, ""
		resp, err := model.Generate(context.Background(), req, func(delta string) { shown += delta })
		var e *llm.Error
		if err == nil && (resp.FinishReason == "" || resp.Message.Text != shown) || err != nil && (!errors.As(err, &e) || e.Kind == "") {
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
			"choices":           `{"choices":` + many + `}`,
			"tool calls":        `{"choices":[{"index":0,"delta":{"tool_calls":` + many + `}}]}`,
			"reasoning details": `{"choices":[{"index":0,"delta":{"content":"x","reasoning_details":` + many + `}}]}`,
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
