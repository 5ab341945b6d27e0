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

// FuzzAnswer sends whatever a server may send through the whole way of an answer:
// exchange, library, answer.
func FuzzAnswer(f *testing.F) {
	f.Add("data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n")
	f.Add("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{}],\"Tool_Calls\":[{},{}]}}]}\n\n")
	f.Add("data: {\"choices\":[{}],\"Choices\":[{},{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n")
	f.Add(`{"choices":[{"message":{"reasoning_details":[{"index":0},null,3]}}]}`)
	f.Add("error: [1]\n: \r\ndata: [\ndata: ]\n\n")
	f.Fuzz(func(t *testing.T, body string) {
		model, err := New(Options{
			Model: "m", BaseURL: "http://127.0.0.1/v1", MaxRetries: -1,
			MaxAnswer: 10_000, IdleTimeout: time.Minute, HTTPClient: &http.Client{Transport: roundTrip(body)},
		})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := model.Generate(context.Background(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "x"}}}, nil)
		var e *llm.Error
		if err == nil && resp.FinishReason == "" || err != nil && (!errors.As(err, &e) || e.Kind == "") {
			t.Errorf("%q became %+v, %v", body, resp, err)
		}
		if m := resp.Message; !utf8.ValidString(m.Text) || strings.Contains(m.Text, "\x00") || len(m.Native) > 0 && !(json.Valid(m.Native) && utf8.Valid(m.Native)) {
			t.Errorf("%q is kept as %q, %q", body, m.Text, m.Native)
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
