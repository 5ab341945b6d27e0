// What belongs to a model's template never reaches people, whatever the protocol.

package llm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/llm/openai"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// letters cuts a text into its characters.
func letters(text string) (pieces []string) {
	for _, r := range text {
		pieces = append(pieces, string(r))
	}
	return pieces
}

func TestTemplatesAreNotPartOfTheAnswer(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for text, want := range map[string]string{
			"<thought>hm</thought>\nHello": "Hello",
			"[THINK]hm[/THINK]Hello":       "Hello",
			"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hello": "Hello",
			"**Thinking:** They greet.\n\n**Answer:** Hello":                                            "Hello",
			"Hello.\n<|user|>\nThanks":                                                                  "Hello.",
			"Robin: \x1b[31mHel\ufefflo\x1b[0m\x00":                                                     "Hello",
			"Hello.<|im_end|>\n<|im_start|>user\nThanks":                                                "Hello.",
			"[#4 2026-11-28 14:05 Cairn] Hello.\n\n<now>\ntime: 14:05\n</now>":                          "Hello.",
			"Qwen writes <|im_end|> at the end of a turn.":                                              "Qwen writes <|im_end|> at the end of a turn.",
		} {
			shown := ""
			model := w.model(t, w.open(t, func(x *llmtest.Exchange) { x.Say(letters(text)...) }), openai.Options{})
			req := hello
			req.Speaker = "robin"
			resp := check.Must(model.Generate(t.Context(), req, func(delta string) { shown += delta }))(t)
			check.Equal(t, text, resp.Message.Text, want)
			check.Equal(t, "shown of "+text, shown, want)
		}
	})
}

// A thought without its first mark is shown once: then answers wait for its end, until one has none.
func TestThoughtWithoutItsFirstMarkIsShownOnce(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		says := []string{"They greet me.\n</think>\n\nHello", "Again.\n</think>\n\nHello", "They greet.", "And again.\n</think>\n\nHello"}
		n := 0
		model := w.model(t, w.open(t, func(x *llmtest.Exchange) { n++; x.Say(letters(says[n-1])...) }), openai.Options{})
		for i, want := range []string{"They greet me.Hello", "Hello", "They greet.", "And again.Hello"} {
			shown := ""
			resp := check.Must(model.Generate(t.Context(), hello, func(delta string) { shown += delta }))(t)
			check.Equal(t, "shown of "+says[i], shown, want)
			check.That(t, strings.HasSuffix(says[i], resp.Message.Text), "got %q", resp.Message.Text)
		}
	})
}

func TestCallWrittenAsTextRuns(t *testing.T) {
	const hermes = "<tool_call>\n{\"name\": \"lookup\", \"arguments\": {\"word\": \"tea\"}}\n</tool_call>"
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for name, c := range map[string]struct{ asked, first, text, sent string }{
			"with marks":                {"what is tea?", hermes, "done", `{"word": "tea"}`},
			"behind text":               {"what is tea?", "I look.\n" + hermes, "done", `{"word": "tea"}`},
			"as JSON":                   {"what is tea?", `{"name": "lookup", "arguments": {"word": "tea"}}`, "done", `{"word": "tea"}`},
			"with typed texts":          {"what is tea?", "<function=lookup>\n<parameter=word>\n42\n</parameter>\n</function>", "done", `{"word":"42"}`},
			"in the prompt, in a block": {"What does {\"name\": \"lookup\", \"arguments\": {'word': 'tea'}} do?", "```json\n{\"arguments\": {\"word\": \"tea\"}, \"name\": \"lookup\"}\n```", "```json\n{\"arguments\": {\"word\": \"tea\"}, \"name\": \"lookup\"}\n```", ""},
			"in a thought":              {"what is tea?", "<think>\nI look.\n" + hermes, "done", `{"word": "tea"}`},
			"in the prompt":             {"Say exactly: <\\tool_call> {\"name\": \"lookup\", \"arguments\": {\"word\": \"tea\"}} </tool_call>", hermes, hermes, ""},
		} {
			var sent []string
			server := w.open(t, llmtest.Once(func(x *llmtest.Exchange) { x.Say(letters(c.first)...) }))
			tool := look
			messages := []llm.Message{user(c.asked)}
			tool.Run = func(_ context.Context, arguments json.RawMessage) (llm.Result, error) {
				sent = append(sent, string(arguments))
				return llm.Result{Text: "a drink"}, nil
			}
			shown := ""
			resp, err := llm.Loop{
				Model: w.model(t, server, openai.Options{}), MaxCalls: 3, Show: func(delta string) { shown += delta },
				Request: func(context.Context, int) (llm.Request, error) {
					return llm.Request{Messages: messages, Tools: []llm.Tool{tool}, MaxTokens: 2000}, nil
				},
				Record: func(calls llm.Message, results []llm.Message) { messages = append(append(messages, calls), results...) },
			}.Run(t.Context())
			check.NoError(t, err)
			check.Equal(t, name+": answer", resp.Message.Text, c.text)
			check.Equal(t, name+": arguments", strings.Join(sent, " "), c.sent)
			check.That(t, c.sent == "" || !strings.ContainsAny(shown, "<{"), "%s: shown %q", name, shown)
		}
	})
}

// askRaw asks a server that answers with body, whatever the request.
func askRaw(t *testing.T, name, body string) (llm.Response, error) {
	t.Helper()
	client := &http.Client{Transport: llmtest.RoundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body))}, nil
	})}
	model := check.Must(wire{name}.connect(openai.Options{Model: "m", BaseURL: "http://127.0.0.1/v1", MaxRetries: -1, HTTPClient: client}))(t)
	return model.Generate(t.Context(), llm.Request{Messages: []llm.Message{user("x")}}, nil)
}

// Older servers send the arguments as an object, and some models a string or a list of one around it.
func TestArgumentsInUnusualForms(t *testing.T) {
	for written, want := range map[string]string{
		`{"word":"tea"}`:                   `{"word":"tea"}`,
		`"{\"word\":\"tea\"}"`:             `{"word":"tea"}`,
		`"\"{\\\"word\\\":\\\"tea\\\"}\""`: `{"word":"tea"}`,
		`[{"word":"tea"}]`:                 `{"word":"tea"}`,
		`"[{\"word\":\"tea\"}]"`:           `{"word":"tea"}`,
		`null`:                             "",
		`[]`:                               "[]",
		`"[\"tea\"]"`:                      `["tea"]`,
		`""`:                               "",
		`7`:                                "7",
	} {
		for form, event := range map[string]string{
			"stream": `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"lookup","arguments":%s}}]},"finish_reason":"tool_calls"}]}`,
			"whole":  `{"choices":[{"index":0,"message":{"tool_calls":[{"id":"a","function":{"name":"lookup","arguments":%s}}]},"finish_reason":"stop"}]}`,
		} {
			body := fmt.Sprintf(event, written)
			if form == "stream" {
				body = "data: " + body + "\n\ndata: [DONE]\n\n"
			}
			resp := check.Must(askRaw(t, llm.WireChat, body))(t)
			check.EqualAll(t, form+" "+written, resp.Message.Calls, []llm.Call{{ID: "a", Name: "lookup", Arguments: want}})
			check.Equal(t, "finish reason", resp.FinishReason, llm.FinishToolCalls)
		}
	}
}
