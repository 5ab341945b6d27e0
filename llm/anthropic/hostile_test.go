package anthropic_test

import (
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"cairn/llm"
	"cairn/llm/anthropic"
	"cairn/llm/llmtest"
)

func TestAnAnswerThatIsNotWholeIsNoAnswer(t *testing.T) {
	start := `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	for name, script := range map[string]func(*llmtest.Exchange){
		"with a reason but no end": func(x *llmtest.Exchange) { x.Piece("half"); x.Finish(llm.FinishStop) },
		"words":                    func(x *llmtest.Exchange) { x.Refuse(200, "", "All is well.") },
		"broken JSON":              func(x *llmtest.Exchange) { x.Write("data: {\"type\":\n\n"); x.Done() },
		"JSON of another type":     func(x *llmtest.Exchange) { x.Write("data: [1]\n\n") },
		"a text that is a number": func(x *llmtest.Exchange) {
			x.Write("data: " + start + "\n\n")
			x.Chunk(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":4}}`)
		},
		"a piece of no block": func(x *llmtest.Exchange) {
			x.Chunk(`{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"x"}}`)
		},
		"a block that is none": func(x *llmtest.Exchange) { x.Chunk(`{"type":"content_block_start","index":0,"content_block":4}`) },
		"a call without a name": func(x *llmtest.Exchange) {
			x.Chunk(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a"}}`)
		},
		"an end alone":           func(x *llmtest.Exchange) { x.Write("data: {\"type\":\"message_stop\"}\n\n") },
		"half of one JSON":       func(x *llmtest.Exchange) { x.Refuse(200, "", `{"type":"message","content":[{"type":"text"`) },
		"JSON that is no answer": func(x *llmtest.Exchange) { x.Refuse(200, "", `{"ok":true}`) },
		"an error with the status 200": func(x *llmtest.Exchange) {
			x.Refuse(200, "", `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`)
		},
		"an error without an event": func(x *llmtest.Exchange) { x.Piece("half"); x.Write("{\"error\":{\"message\":\"x\"}}\n\n"); x.Done() },
		"an error line":             func(x *llmtest.Exchange) { x.Piece("half"); x.Write("error: {\"message\":\"x\"}\n\n"); x.Done() },
		"an error event of other shape": func(x *llmtest.Exchange) {
			x.Piece("half")
			x.Write("event: error\ndata: {\"detail\":\"x\"}\n\n")
			x.Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := connect(t, serve(t, script), anthropic.Options{MaxRetries: -1}).Generate(t.Context(), hello, nil)
			var e *llm.Error
			if !errors.As(err, &e) {
				t.Errorf("got %+v, %v", resp, err)
			}
		})
	}
}

func TestWhatIsNoAnswerIsARefusal(t *testing.T) {
	for body, want := range map[string]llm.Kind{
		`{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`:  llm.KindRateLimited,
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`: llm.KindOverloaded,
	} {
		server := serve(t, func(x *llmtest.Exchange) { x.Refuse(200, "", body) })
		if _, err := connect(t, server, anthropic.Options{MaxRetries: -1}).Generate(t.Context(), hello, nil); llm.KindOf(err) != want {
			t.Errorf("%s: got %v", body, err)
		}
	}
}

func TestUnusualStreamsAreRead(t *testing.T) {
	const (
		begin = "data: {\"type\":\"message_start\",\"message\":{}}\n\n"
		block = `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
		delta = `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"fine"}}`
		end   = `data: {"type":"message_stop"}`
	)
	for name, stream := range map[string]string{
		"without event names":       begin + block + "\n\n" + delta + "\n\n" + end + "\n\n",
		"without empty lines":       block + "\n" + delta + "\n" + end + "\n",
		"without a start":           block + "\n\n" + delta + "\n\n" + end + "\n\n",
		"with CRLF":                 strings.ReplaceAll(block+"\n\n"+delta+"\n\n"+end+"\n\n", "\n", "\r\n"),
		"with comments and pings":   ": hi\n\n" + block + "\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n" + delta + "\n\n: hi\n\n" + end + "\n\n",
		"with unknown events":       block + "\n\ndata: {\"type\":\"news\",\"x\":[1]}\n\n" + delta + "\n\n" + end + "\n\n",
		"with unknown blocks":       "data: {\"type\":\"content_block_start\",\"index\":9,\"content_block\":{\"type\":\"news\"}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":9,\"delta\":{\"type\":\"news_delta\",\"text\":\"not this\"}}\n\n" + block + "\n\n" + delta + "\n\n" + end + "\n\n",
		"with unknown deltas":       block + "\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"citations_delta\",\"citation\":{}}}\n\n" + delta + "\n\n" + end + "\n\n",
		"an event of many lines":    block + "\n\n" + strings.Replace(delta, `,"delta"`, "\ndata: ,\"delta\"", 1) + "\n\n" + end + "\n\n",
		"text in the block's start": strings.Replace(block, `"text":""`, `"text":"fine"`, 1) + "\n\n" + end + "\n\n",
		"NUL bytes":                 block + "\n\n" + strings.Replace(delta, "fine", `fi\u0000ne`, 1) + "\n\n" + end + "\n\n",
		"usage of another shape":    strings.Replace(begin, "{}", `{"usage":{"input_tokens":"many","output_tokens":-4,"cache_read_input_tokens":1e18}}`, 1) + block + "\n\n" + delta + "\n\n" + end + "\n\n",
		"usage that is a word":      strings.Replace(begin, "{}", `{"usage":"none"}`, 1) + block + "\n\n" + delta + "\n\n" + end + "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, func(x *llmtest.Exchange) { x.Write(stream) })
			resp, err := connect(t, server, anthropic.Options{MaxRetries: -1}).Generate(t.Context(), hello, nil)
			if err != nil || resp.Message.Text != "fine" || resp.Usage != (llm.Usage{}) {
				t.Errorf("got %+v, %v", resp, err)
			}
		})
	}
}

func TestFloodsTakeLittleMemory(t *testing.T) {
	many := strings.Repeat("{},", 1_200_000) + "{}"
	block := strings.Repeat("half of a sentence that ", 3000) // 72 kB
	flood := func(x *llmtest.Exchange, piece string) {
		for range 100 << 20 / len(piece) {
			x.Write(piece)
		}
	}
	for name, script := range map[string]func(*llmtest.Exchange){
		"a list in an event":  func(x *llmtest.Exchange) { x.Write(`data: {"type":"news","x":[` + many + "]}\n\n"); x.Done() },
		"a list in one piece": func(x *llmtest.Exchange) { x.Refuse(200, "", `{"type":"message","content":[`+many+`]}`) },
		"blocks without end": func(x *llmtest.Exchange) {
			for i := range 2000 {
				x.Chunk(`{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":""}}`, i)
			}
		},
		"depth": func(x *llmtest.Exchange) {
			x.Write(`data: {"x":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}\n\n")
			x.Done()
		},
		"100 MB of text": func(x *llmtest.Exchange) {
			x.Piece("a")
			flood(x, `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`+block+"\"}}\n\n")
		},
		"100 MB in one line":   func(x *llmtest.Exchange) { x.Write(`data: {"type":"news","x":"`); flood(x, block) },
		"100 MB in data lines": func(x *llmtest.Exchange) { flood(x, "data: \""+block+"\n") },
		"100 MB of unknown":    func(x *llmtest.Exchange) { flood(x, `data: {"type":"news","x":"`+block+"\"}\n\n") },
		"100 MB in one JSON": func(x *llmtest.Exchange) {
			x.Write(`{"type":"message","content":[{"type":"text","text":"`)
			flood(x, block)
		},
		"100 MB of spaces": func(x *llmtest.Exchange) { flood(x, strings.Repeat(" ", 72<<10)) },
	} {
		t.Run(name, func(t *testing.T) {
			model := connect(t, serve(t, script), anthropic.Options{MaxRetries: -1})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := model.Generate(t.Context(), hello, nil)
			runtime.ReadMemStats(&after)
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; err == nil || took > 150 {
				t.Errorf("%v; it took %d MiB", err, took)
			}
		})
	}
}

// FuzzAnswer: whatever a server sends is an answer or an *llm.Error.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3}}}\n\n",
		"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\"}}\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"thinking\":\"a\",\"signature\":\"b\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
		"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{}}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"partial_json\":\"{\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
		`{"type":"message","content":[{"type":"text","text":"a"},{"type":"redacted_thinking","data":"x"}],"stop_reason":"end_turn"}`,
		"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n", "<html>", "error: x", "data: {\ndata: }\n\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
		})}
		model, err := anthropic.New(anthropic.Options{BaseURL: "http://model.invalid", Model: "m", MaxRetries: -1, HTTPClient: client})
		if err != nil {
			t.Fatal(err)
		}
		shown := ""
		resp, err := model.Generate(t.Context(), hello, func(delta string) { shown += delta })
		var e *llm.Error
		switch {
		case err != nil && !errors.As(err, &e):
			t.Errorf("got an error of another type: %v", err)
		case err == nil && resp.Message.Text != shown:
			t.Errorf("answered %q and showed %q", resp.Message.Text, shown)
		case strings.Contains(resp.Message.Text, "\x00"):
			t.Error("a NUL got through")
		}
		// What came back can be sent again.
		again := llm.Request{Messages: append(hello.Messages[:1:1], resp.Message)}
		for _, call := range resp.Message.Calls {
			again.Messages = append(again.Messages, llm.Message{Role: llm.RoleTool, CallID: call.ID})
		}
		if _, err := model.Encode(again); err != nil {
			t.Error(err)
		}
	})
}
