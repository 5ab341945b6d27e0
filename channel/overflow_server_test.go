package channel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/anthropic"
	"cairn/llm/openai"
	"cairn/llm/provider"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// overfull are the ways in which servers of local models report an overflow.
var overfull = map[string]func(*llmtest.Exchange){
	"HTTP 500 with words": func(x *llmtest.Exchange) {
		x.Refuse(500, "", `{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`)
	},
	"HTTP 500 without words": func(x *llmtest.Exchange) { x.Refuse(500, "", `{"error":{"message":"internal error"}}`) },
	"an empty answer":        func(*llmtest.Exchange) {},
	"a blank answer":         func(x *llmtest.Exchange) { x.Counted.Prompt = x.Request.Tokens(); x.Finish(llm.FinishStop); x.Done() },
}

// clients are the real clients, by protocol.
var clients = map[string]func(o provider.Options) (llm.Model, error){
	llm.WireChat:      func(o provider.Options) (llm.Model, error) { o.Wire = llm.WireChat; return openai.New(o) },
	llm.WireResponses: func(o provider.Options) (llm.Model, error) { o.Wire = llm.WireResponses; return openai.New(o) },
	llm.WireMessages:  func(o provider.Options) (llm.Model, error) { return anthropic.New(o) },
}

// The conversation goes on in a window that nobody stated, with its worker on the same server.
func TestUnstatedWindowIsFound(t *testing.T) {
	check.SkipUnderRace(t)
	for wire, connect := range clients {
		for name, refuse := range overfull {
			t.Run(wire+": "+name, func(t *testing.T) {
				t.Parallel()
				const window, turns = 6000, 40
				server := llmtest.Serve(t, func(x *llmtest.Exchange) { answerWithin(x, window, refuse) })
				server.Speak(wire)
				r := newRig(t, nil)
				notebook := new(llm.Notebook)
				notebook.Open(nil, func(ctx context.Context, model string, f llm.Facts) error {
					return r.store.Models().Keep(ctx, model, f)
				})
				model := check.Must(connect(server.Options(provider.Options{
					Model: "small", Window: 100_000, RetryDelay: time.Microsecond, Notebook: notebook,
				})))(t)
				r.agent.Model = model
				r.agent.Worker = model
				r.reopen()
				failures := 0
				for i := range turns {
					r.ask(fmt.Sprintf("message-%d %s", i, strings.Repeat("word ", 250)))
				}
				for _, sent := range r.connector.sent {
					if sent.Failure {
						failures++
					}
				}
				check.That(t, failures <= 1, "got %d failures, the last one %q", failures, r.lastText())
				learned := model.Window(t.Context()).Tokens
				check.That(t, learned <= window*5/4, "got a window of %d", learned)
				stored := check.Must(r.store.Models().List(t.Context()))(t)
				for _, facts := range stored {
					check.Equal(t, "stored window", facts.Window, learned)
				}
				check.Equal(t, "models with stored facts", len(stored), 1)
				r.compact()
				check.That(t, len(r.eventsIn(compactor.EventApplied)) > 0, "got no summary")
			})
		}
	}
}

// The prompt may be many times as long as the window when the server is asked for the first time. Only that turn may fail: it may
// need more room than summaries give until they are folded, one after the other.
func TestMuchSmallerWindowIsFound(t *testing.T) {
	check.SkipUnderRace(t)
	for name, refuse := range overfull {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const window = 6000
			server := llmtest.Serve(t, func(x *llmtest.Exchange) { answerWithin(x, window, refuse) })
			r := newRig(t, nil)
			r.agent.Model = check.Must(openai.New(server.Options(provider.Options{Model: "small", Window: 100_000, RetryDelay: time.Microsecond})))(t)
			r.reopen()
			for i := range 60 {
				r.say(fmt.Sprintf("message-%d %s", i, strings.Repeat("word ", 1000)), false)
			}
			r.waitForReplies()
			for range 4 {
				check.NoError(t, r.hub.Drain(t.Context()))
				r.ask("and what now?")
			}
			sent := r.connector.sent
			check.Require(t, len(sent) == 4, "got %d replies", len(sent))
			for i, piece := range sent[1:] {
				check.That(t, !piece.Failure, "turn %d fails: %s", i+2, piece.Text)
			}
		})
	}
}

// answerWithin answers a turn, and a worker's request, if its prompt fits.
func answerWithin(x *llmtest.Exchange, window int, refuse func(*llmtest.Exchange)) {
	if x.Request.Tokens() > window {
		refuse(x)
		return
	}
	for _, tool := range x.Request.Tools {
		if tool.Function.Name == "summarize" {
			x.Use(fmt.Sprint("c", x.N), "summarize", `{"summary":"Ada sent many messages that contain the word word."}`)
			return
		}
	}
	x.Say(fmt.Sprint("answer ", x.N))
}
