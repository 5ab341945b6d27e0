// Overflows that a server reports as a failure of its own, on every protocol.

package llm_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"cairn/llm"
	"cairn/llm/openai"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// silences are the ways in which servers report an overflow without a word of it.
var silences = map[string]func(*llmtest.Exchange){
	"HTTP 500": func(x *llmtest.Exchange) {
		x.Refuse(500, "", `{"error":{"message":"internal error","type":"server_error"}}`)
	},
	"HTTP 502, a page": func(x *llmtest.Exchange) { x.Refuse(502, "", "<html><title>502 Bad Gateway</title></html>") },
	"an empty body":    func(*llmtest.Exchange) {},
	"a blank answer":   func(x *llmtest.Exchange) { x.Counted.Prompt = x.Request.Tokens(); x.Finish(llm.FinishStop); x.Done() },
}

// long returns a request of about so many estimated tokens.
func long(tokens int) llm.Request {
	req := hello
	req.Messages = append(req.Messages[:1:1], user(strings.Repeat("word ", tokens)))
	req.CacheKey = "a conversation"
	req.MaxTokens = 100
	return req
}

func TestOverflowWithoutWords(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for name, fail := range silences {
			t.Run(name, func(t *testing.T) {
				const window = 3000
				server := w.open(t, func(x *llmtest.Exchange) {
					if x.Request.Tokens() > window {
						fail(x)
						return
					}
					x.Say("yes")
				})
				var spent []llm.Usage
				model := w.model(t, server, openai.Options{MaxRetries: 1, RetryDelay: time.Microsecond, Window: 128_000})
				req := long(5000)
				req.Failed = func(u llm.Usage) { spent = append(spent, u) }
				var err error
				for range 2 { // turns: without an error there is no retry
					_, err = model.Generate(t.Context(), req, nil)
					if err != nil {
						break
					}
				}
				check.Equal(t, "kind", llm.KindOf(err), llm.KindOverflow)
				learned := model.Window(t.Context()).Tokens
				check.That(t, learned >= window && learned <= 5200, "got a window of %d", learned)
				check.That(t, len(server.Requests()) <= 5, "got %d requests", len(server.Requests()))
				resp, err := model.Generate(t.Context(), long(2000), nil)
				check.NoError(t, err)
				check.Equal(t, "answer", resp.Message.Text, "yes")
			})
		}
	})
}

// Nothing is learned from a server that fails for another reason.
func TestFailuresThatAreNoOverflow(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		fail := silences["HTTP 500"]
		for name, c := range map[string]struct {
			tokens int
			script func(x *llmtest.Exchange)
			answer bool // of the second request
		}{
			"it is down":                       {5000, fail, false},
			"it recovers":                      {5000, func(x *llmtest.Exchange) { recoverAfter(x, 2, fail) }, true},
			"it asks for a pause":              {5000, func(x *llmtest.Exchange) { x.Refuse(503, "1", "busy") }, false},
			"the prompt is short":              {500, func(x *llmtest.Exchange) { failLong(x, 400, fail) }, false},
			"a longer prompt was answered":     {5000, func(x *llmtest.Exchange) { failFrom(x, 2, fail) }, false},
			"the short request is silent, too": {5000, func(x *llmtest.Exchange) { failLong(x, 0, silences["a blank answer"]) }, true},
		} {
			server := w.open(t, c.script)
			model := w.model(t, server, openai.Options{MaxRetries: 1, RetryDelay: time.Microsecond, Window: 128_000})
			if name == "a longer prompt was answered" {
				check.NoError(t, check.ErrorOf(model.Generate(t.Context(), long(6000), nil)))
			}
			_, err := model.Generate(t.Context(), long(c.tokens), nil)
			check.That(t, llm.KindOf(err) != llm.KindOverflow, "%s: got %v", name, err)
			if c.answer {
				check.NoError(t, err)
			}
			check.Equal(t, name+": window", model.Window(t.Context()).Tokens, 128_000)
		}
	})
}

func recoverAfter(x *llmtest.Exchange, failures int, fail func(*llmtest.Exchange)) {
	if x.N <= failures {
		fail(x)
		return
	}
	x.Say("yes")
}

func failLong(x *llmtest.Exchange, window int, fail func(*llmtest.Exchange)) {
	if x.Request.Tokens() > window {
		fail(x)
		return
	}
	x.Say("yes")
}

// failFrom answers the first request, and then only short ones.
func failFrom(x *llmtest.Exchange, n int, fail func(*llmtest.Exchange)) {
	if x.N >= n {
		failLong(x, 1000, fail)
		return
	}
	x.Say("yes")
}

// A refusal without a number teaches an upper bound: the prompt that was refused.
func TestOverflowWithoutNumberTeachesBound(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		server := w.open(t, func(x *llmtest.Exchange) {
			failLong(x, 3000, func(x *llmtest.Exchange) {
				x.Refuse(500, "", `{"error":{"message":"Context size has been exceeded."}}`)
			})
		})
		model := w.model(t, server, openai.Options{Window: 128_000})
		pictured := long(5000)
		pictured.Messages[1].Images = []llm.Image{{Type: "image/png", Data: []byte("picture")}}
		err := check.ErrorOf(model.Generate(t.Context(), pictured, nil))
		check.Equal(t, "with a picture: kind", llm.KindOf(err), llm.KindOverflow)
		check.Equal(t, "with a picture, which may be the reason: window", model.Window(t.Context()).Tokens, 128_000)
		err = check.ErrorOf(model.Generate(t.Context(), long(5000), nil))
		check.Equal(t, "kind", llm.KindOf(err), llm.KindOverflow)
		learned := model.Window(t.Context()).Tokens
		check.That(t, learned >= 3000 && learned <= 5200, "got a window of %d", learned)
		check.Equal(t, "source", model.Window(t.Context()).Source, "an overflow")
		check.Len(t, "requests, one of them short", server.Requests(), 3)
		check.Equal(t, "kind of the next", llm.KindOf(check.ErrorOf(model.Generate(t.Context(), long(4000), nil))), llm.KindOverflow)
		check.Len(t, "requests once a limit is known", server.Requests(), 4)
	})
}

// A server that calls short prompts too long, as well, means something else, and the conversation need not be cut.
func TestRefusalOfEveryLengthIsNoOverflow(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for name, refuse := range map[string]func(x *llmtest.Exchange){
			"HTTP 413": func(x *llmtest.Exchange) {
				x.Refuse(413, "", "<html><title>413 Request Entity Too Large</title></html>")
			},
			"in words": func(x *llmtest.Exchange) {
				x.Refuse(500, "", `{"error":{"message":"Context size has been exceeded."}}`)
			},
		} {
			server := w.open(t, refuse)
			model := w.model(t, server, openai.Options{Window: 128_000})
			err := check.ErrorOf(model.Generate(t.Context(), long(5000), nil))
			check.Equal(t, name+": kind", llm.KindOf(err), llm.KindBadRequest)
			check.Equal(t, name+": window", model.Window(t.Context()).Tokens, 128_000)
			check.Len(t, name+": requests", server.Requests(), 2)
			err = check.ErrorOf(model.Generate(t.Context(), long(6000), nil))
			check.Equal(t, name+": kind of the next", llm.KindOf(err), llm.KindBadRequest)
			check.Len(t, name+": requests, without another short one", server.Requests(), 3)
		}
	})
}

// A turn that is stopped while it looks for the reason of a failure says nothing about the server.
func TestStoppedShortRequestTeachesNothing(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		ctx, stop := context.WithCancel(t.Context())
		server := w.open(t, func(x *llmtest.Exchange) {
			if x.Request.Tokens() < 3000 && ctx.Err() == nil {
				stop()
				x.Wait(time.Minute) // until the client is gone
				return
			}
			failLong(x, 3000, silences["HTTP 500"])
		})
		model := w.model(t, server, openai.Options{MaxRetries: 1, RetryDelay: time.Microsecond, Window: 128_000})
		check.That(t, check.ErrorOf(model.Generate(ctx, long(5000), nil)) != nil, "the stopped request succeeds")
		other := long(5000)
		other.CacheKey = "another conversation"
		err := check.ErrorOf(model.Generate(t.Context(), other, nil))
		check.Equal(t, "kind of the next", llm.KindOf(err), llm.KindOverflow)
	})
}

// A server may count more tokens than the estimate, so its count of an answered prompt says nothing about another's estimate.
func TestAnsweredPromptIsComparedByLength(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		server := w.open(t, func(x *llmtest.Exchange) {
			if x.Request.Tokens() > 4500 {
				silences["HTTP 500"](x)
				return
			}
			x.Counted.Prompt = x.Request.Tokens() * 2
			x.Say("yes")
		})
		model := w.model(t, server, openai.Options{MaxRetries: 1, RetryDelay: time.Microsecond, Window: 128_000})
		check.NoError(t, check.ErrorOf(model.Generate(t.Context(), long(3000), nil)))
		err := check.ErrorOf(model.Generate(t.Context(), long(5000), nil))
		check.Equal(t, "kind", llm.KindOf(err), llm.KindOverflow)
	})
}
