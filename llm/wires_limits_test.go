// The limits of an answer, on every protocol.

package llm_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/llm"
	"cairn/llm/openai"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// frames are events of a stream, by protocol: the start of a tool call, a piece of its arguments, and events that add nothing.
var frames = map[string]struct {
	call, piece string
	empty       []string
}{
	llm.WireChat: {
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"c","function":{"name":"lookup","arguments":""}}]}}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"c","function":{"name":"lookup","arguments":%q}}]}}]}`,
		[]string{
			`{"choices":[{"index":0,"delta":{"content":"","reasoning_content":null,"reasoning_details":[]}}]}`, `{"choices":[]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"lookup","arguments":""}}]}}]}`,
		},
	},
	llm.WireResponses: {
		`{"type":"response.output_item.added","output_index":%d,"item":{"type":"function_call","call_id":"c","name":"lookup"}}`,
		`{"type":"response.function_call_arguments.delta","output_index":%d,"delta":%q}`,
		[]string{`{"type":"response.output_text.delta","output_index":0,"delta":""}`, `{"type":"response.in_progress"}`, `{"type":"response.function_call_arguments.delta","output_index":0,"delta":""}`},
	},
	llm.WireMessages: {
		`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"c","name":"lookup","input":{}}}`,
		`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%q}}`,
		[]string{`{"type":"ping"}`, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":""}}`},
	},
}

// stream sends events in writes of some kilobytes, which is faster.
func stream(x *llmtest.Exchange, events func(send func(event string))) {
	var b strings.Builder
	events(func(event string) {
		b.WriteString("data: " + event + "\n\n")
		if b.Len() > 32<<10 {
			x.Write(b.String())
			b.Reset()
		}
	})
	x.Write(b.String())
}

// TestToolCallsHaveALimit: as for text, 32 bytes for each token of the answer, but 64 kB at least, in all calls together.
func TestToolCallsHaveALimit(t *testing.T) {
	forEveryProtocol(t, func(t *testing.T, w wire) {
		f := frames[w.name]
		for name, c := range map[string]struct {
			calls, size, pieces int // pieces of each call
			tokens              int
			want                string // in the error; "": there is none
		}{
			"3 MB in one piece":              {1, 3 << 20, 1, 500, "bytes of tool calls"},
			"3 MB in small pieces":           {1, 40, 3 << 20 / 40, 500, "bytes of tool calls"},
			"a little in each of many calls": {100, 10_000, 1, 500, "bytes of tool calls"},
			"60 kB are within the least":     {1, 60, 1000, 500, ""},
			"a longer answer may have more":  {1, 300_000, 1, 20_000, ""},
			"no limit of tokens: MaxAnswer":  {1, 5 << 20, 1, 0, "longer than 4194304 bytes"},
		} {
			server := w.open(t, func(x *llmtest.Exchange) {
				stream(x, func(send func(string)) {
					for call := range c.calls {
						send(fmt.Sprintf(f.call, call))
						for range c.pieces {
							send(fmt.Sprintf(f.piece, call, strings.Repeat("a", c.size)))
						}
					}
				})
				if w.name == llm.WireResponses {
					x.Chunk(`{"type":"response.function_call_arguments.done","output_index":0,"arguments":%q}`, strings.Repeat("a", c.size*c.pieces))
				}
				x.Finish(llm.FinishToolCalls)
				x.Done()
			})
			req := hello
			req.MaxTokens = c.tokens
			req.Spare = -1
			started := time.Now()
			resp, err := w.model(t, server, openai.Options{MaxRetries: 3}).Generate(t.Context(), req, nil)
			check.Contains(t, name, fmt.Sprint(err), c.want)
			check.Equal(t, name+": too long", errors.Is(err, llm.ErrTooLong), c.want != "")
			check.Len(t, name+": requests", server.Requests(), 1)
			check.That(t, time.Since(started) < 20*time.Second, "%s took %s", name, time.Since(started))
			if c.want == "" && len(resp.Message.Calls) == 1 {
				check.Equal(t, name+": bytes", len(resp.Message.Calls[0].Arguments), c.size*c.pieces)
			}
		}
	})
}

func TestStreamWithoutContentEnds(t *testing.T) {
	check.SkipUnderRace(t)
	forEveryProtocol(t, func(t *testing.T, w wire) {
		for _, event := range append(frames[w.name].empty, `{"type":"news"}`, "\n:") {
			server := w.open(t, func(x *llmtest.Exchange) {
				x.Chunk("%s", fmt.Sprintf(frames[w.name].call, 0))
				for x.Wait(0) {
					x.Write(strings.Repeat("data: "+event+"\n\n", 500))
				}
			})
			err := check.ErrorOf(w.model(t, server, openai.Options{MaxRetries: 3}).Generate(t.Context(), hello, nil))
			check.ErrorContains(t, event, err, "longer than 200000", "without")
			check.Error(t, err, llm.ErrTooLong)
			check.Len(t, event+": requests", server.Requests(), 1)
		}
	})
}

// TestKeepAlivesAreProgressForAWhile: a server that works, or only says so, sends something each few seconds.
func TestKeepAlivesAreProgressForAWhile(t *testing.T) {
	sign := func(x *llmtest.Exchange, event string) bool { x.Write(event); return x.Wait(10 * time.Second) }
	inBubble(t, openai.Options{IdleTimeout: time.Minute, MaxTime: time.Hour, MaxRetries: 3}, map[string]func(*llmtest.Exchange){
		"comments": func(x *llmtest.Exchange) {
			for sign(x, ": working\n\n") {
			}
		},
		"empty events": func(x *llmtest.Exchange) {
			for sign(x, "data: {\"type\":\"ping\"}\n\n") {
			}
		},
	}, func(t *testing.T, model llm.Model, server *llmtest.Server) {
		started := time.Now()
		err := check.ErrorOf(model.Generate(t.Context(), hello, nil))
		check.Error(t, err, llm.ErrSilent)
		waited := time.Since(started)
		check.That(t, 5*time.Minute < waited && waited <= 6*time.Minute+10*time.Second, "waited %s", waited)
		check.Len(t, "requests", server.Requests(), 1)
	})
	inBubble(t, openai.Options{IdleTimeout: time.Minute, MaxTime: time.Hour}, map[string]func(*llmtest.Exchange){
		"content in between": func(x *llmtest.Exchange) {
			for range 4 {
				x.Piece("word ")
				for range 5 {
					sign(x, ": working\n\n")
				}
			}
			x.Say("end")
		},
	}, func(t *testing.T, model llm.Model, _ *llmtest.Server) {
		resp := check.Must(model.Generate(t.Context(), hello, nil))(t)
		check.Equal(t, "answer", resp.Message.Text, "word word word word end")
	})
}
