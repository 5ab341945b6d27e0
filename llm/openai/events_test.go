package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"cairn/llm"
)

// FuzzAnswer sends whatever a server may send through the whole way of an answer, on
// both wires.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		"data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n",
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{}],\"Tool_Calls\":[{},{}]}}]}\n\n",
		"data: {\"choices\":[{}],\"Choices\":[{},{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n",
		`{"choices":[{"message":{"reasoning_details":[{"index":0},null,3]}}]}`,
		"error: [1]\n: \r\ndata: [\ndata: ]\n\n",
	} {
		f.Add(false, body)
	}
	for _, body := range []string{
		"data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"x\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n",
		"event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"output_index\":-1,\"item\":{\"type\":\"reasoning\",\"encrypted_content\":\"\xff\"}}\n\ndata: {\"type\":\"response.incomplete\",\"response\":{\"status\":\"incomplete\"}}\n",
		"data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"function_call\",\"name\":\"f\"}}\n\ndata: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":0,\"delta\":null}\n\n",
		`{"status":"completed","output":[{"type":"message","content":[{"text":"x"}]},{"type":"function_call"}]}`,
		"data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":[1]}}\n\n",
		"data: {\"type\":\"response.completed\",\"response\":7}\n\n",
	} {
		f.Add(true, body)
	}
	f.Fuzz(func(t *testing.T, responses bool, body string) {
		wire := llm.WireChat
		if responses {
			wire = llm.WireResponses
		}
		model, err := New(Options{
			Model: "m", BaseURL: "http://127.0.0.1/v1", Wire: wire, MaxRetries: -1,
			MaxAnswer: 10_000, IdleTimeout: time.Minute, HTTPClient: &http.Client{Transport: roundTrip(body)},
		})
		if err != nil {
			t.Fatal(err)
		}
		req := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "x"}}}
		resp, err := model.Generate(context.Background(), req, nil)
		var e *llm.Error
		if err == nil && resp.FinishReason == "" || err != nil && (!errors.As(err, &e) || e.Kind == "") {
			t.Errorf("%q became %+v, %v", body, resp, err)
		}
		m := resp.Message
		if !utf8.ValidString(m.Text) || strings.Contains(m.Text, "\x00") || len(m.Native) > 0 && !(json.Valid(m.Native) && utf8.Valid(m.Native)) {
			t.Errorf("%q is kept as %q, %q", body, m.Text, m.Native)
		}
		if err != nil {
			return
		}
		// What is kept goes back in valid JSON.
		req.Messages = append(req.Messages, m)
		if raw, err := model.plan("m").encode(req); err != nil || !json.Valid(raw) {
			t.Errorf("%q is sent back as %s, %v", body, raw, err)
		}
	})
}

// roundTrip answers every request with one body, without a network: the fuzzer is
// to spend its time on the body.
type roundTrip string

func (body roundTrip) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, Request: req,
		Body: io.NopCloser(iotest.OneByteReader(strings.NewReader(string(body)))),
	}, nil
}
