// Answers that begin and do not go on, on every protocol.

package llm_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn/llm"
	"cairn/llm/openai"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// thinking are events of reasoning that comes after text, by protocol: its start, and a piece of it.
var thinking = map[string]struct{ start, piece string }{
	llm.WireChat: {
		`{"choices":[{"index":0,"delta":{"reasoning_content":"h"}}]}`, `{"choices":[{"index":0,"delta":{"reasoning_content":"m"}}]}`,
	},
	llm.WireResponses: {
		`{"type":"response.output_item.added","output_index":1,"item":{"type":"reasoning","id":"r","summary":[]}}`,
		`{"type":"response.reasoning_summary_text.delta","output_index":1,"delta":"m"}`,
	},
	llm.WireMessages: {
		`{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"thinking_delta","thinking":"m"}}`,
	},
}

// every sends an event each pause until the client is gone.
func every(x *llmtest.Exchange, pause time.Duration, events ...string) {
	for i := 0; ; i++ {
		x.Write(events[i%len(events)])
		if !x.Wait(pause) {
			return
		}
	}
}

func data(event string) string { return "data: " + event + "\n\n" }

// TestAnswerThatStallsHasBrokenOff: after its first text a stream has a minute for the next one, whatever else it sends.
func TestAnswerThatStallsHasBrokenOff(t *testing.T) {
	for name, c := range map[string]struct {
		options openai.Options
		then    func(x *llmtest.Exchange, wire string) // after half a sentence
		waited  time.Duration
	}{
		"silence":            {openai.Options{}, func(x *llmtest.Exchange, _ string) { x.Wait(time.Hour) }, time.Minute},
		"a shorter patience": {openai.Options{StreamIdle: 5 * time.Second}, func(x *llmtest.Exchange, _ string) { x.Wait(time.Hour) }, 5 * time.Second},
		"comments":           {openai.Options{}, func(x *llmtest.Exchange, _ string) { every(x, 10*time.Second, ": working\n\n") }, time.Minute},
		"empty events": {openai.Options{}, func(x *llmtest.Exchange, wire string) {
			every(x, 10*time.Second, data(frames[wire].empty[0]), data(`{"type":"ping"}`))
		}, time.Minute},
		"white space": {openai.Options{}, func(x *llmtest.Exchange, _ string) {
			for x.Wait(10 * time.Second) {
				x.Piece("\n")
			}
		}, time.Minute},
		"reasoning without end": {openai.Options{}, func(x *llmtest.Exchange, wire string) {
			x.Write(data(thinking[wire].start))
			every(x, 10*time.Second, data(thinking[wire].piece))
		}, 5 * time.Minute},
		"a call that never ends": {openai.Options{}, func(x *llmtest.Exchange, wire string) {
			x.Chunk(frames[wire].call, 1)
			x.Wait(time.Hour)
		}, 5 * time.Minute},
	} {
		forEveryProtocol(t, func(t *testing.T, w wire) {
			server := w.open(t, func(x *llmtest.Exchange) {
				x.Piece("half of")
				c.then(x, w.name)
			})
			c.options.HTTPClient = llmtest.InMemory(server)
			c.options.MaxRetries = 3
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					for _, alive := range []func(){nil, func() {}} { // of a worker, which has its own limits
						req := hello
						shown := ""
						started := time.Now()
						req.Alive = alive
						_, err := w.model(t, server, c.options).Generate(t.Context(), req, func(delta string) { shown += delta })
						check.Error(t, err, llm.ErrStalled)
						check.Equal(t, "error kind", llm.KindOf(err), llm.KindTruncated)
						check.Equal(t, "waited", time.Since(started).Round(time.Second), c.waited)
						check.Equal(t, "shown", strings.TrimSpace(shown), "half of")
					}
				})
				check.Len(t, "requests", server.Requests(), 2)
			})
		})
	}
}

// callSlowly streams a call with pauses before the pieces of its arguments, behind text.
func callSlowly(x *llmtest.Exchange, wire string, pause time.Duration, pieces ...string) {
	x.Piece("half")
	x.Chunk(frames[wire].call, 1)
	for _, piece := range pieces {
		x.Wait(pause)
		x.Chunk(frames[wire].piece, 1, piece)
	}
	if wire == llm.WireResponses {
		x.Chunk(`{"type":"response.function_call_arguments.done","output_index":1,"arguments":%q}`, strings.Join(pieces, ""))
	}
}

// TestSlowAnswerIsWhole: a model may take its time before the first text, between two of them, for a call and for reasoning.
func TestSlowAnswerIsWhole(t *testing.T) {
	for name, answer := range map[string]func(x *llmtest.Exchange, wire string){
		"silence before the first text": func(x *llmtest.Exchange, _ string) { x.Wait(4 * time.Minute); x.Piece("half") },
		"reasoning before the first text": func(x *llmtest.Exchange, wire string) {
			x.Write(data(thinking[wire].start))
			x.Wait(4 * time.Minute)
			x.Piece("half")
		},
		"a minute between two texts": func(x *llmtest.Exchange, _ string) {
			for _, piece := range strings.Split("half", "") {
				x.Piece(piece)
				x.Wait(time.Minute - time.Second)
			}
		},
		"reasoning after text": func(x *llmtest.Exchange, wire string) {
			x.Piece("half")
			x.Write(data(thinking[wire].start))
			x.Wait(4 * time.Minute)
		},
		"the arguments of a call in one piece": func(x *llmtest.Exchange, wire string) {
			callSlowly(x, wire, 4*time.Minute, `{"word":"tea"}`)
		},
		"the arguments of a call in slow pieces": func(x *llmtest.Exchange, wire string) {
			callSlowly(x, wire, 2*time.Minute, `{"word":`, `"tea`, `"}`)
		},
	} {
		forEveryProtocol(t, func(t *testing.T, w wire) {
			server := w.open(t, func(x *llmtest.Exchange) {
				answer(x, w.name)
				x.Say(" of it")
			})
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					model := w.model(t, server, openai.Options{HTTPClient: llmtest.InMemory(server)})
					resp, err := model.Generate(t.Context(), hello, nil)
					check.That(t, err == nil && resp.Message.Text == "half of it", "got %q, %v", resp.Message.Text, err)
				})
			})
		})
	}
}

// TestStreamLeftOpenIsWhole: some servers neither send [DONE] nor end the response.
func TestStreamLeftOpenIsWhole(t *testing.T) {
	chat := wire{llm.WireChat}
	server := chat.open(t, func(x *llmtest.Exchange) {
		x.Piece("all of it")
		x.Finish(llm.FinishStop)
		x.Wait(time.Hour)
	})
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		resp, err := chat.model(t, server, openai.Options{HTTPClient: llmtest.InMemory(server)}).Generate(t.Context(), hello, nil)
		check.That(t, err == nil && resp.Message.Text == "all of it", "got %q, %v", resp.Message.Text, err)
		check.Equal(t, "waited", time.Since(started), time.Minute)
	})
}
