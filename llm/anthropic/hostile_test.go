package anthropic_test

import (
	"errors"
	"strings"
	"testing"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/anthropic"
	"cairn/llm/llmtest"
)

func TestTruncatedAnswerIsError(t *testing.T) {
	start := `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	for name, script := range map[string]func(*llmtest.Exchange){
		"with a reason but no end": func(x *llmtest.Exchange) { x.Piece("half"); x.Finish(llm.FinishStop) },
		"a text that is a number": func(x *llmtest.Exchange) {
			x.Write("data: " + start + "\n\n")
			x.Chunk(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":4}}`)
		},
		"a piece of no block": func(x *llmtest.Exchange) {
			x.Chunk(`{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"x"}}`)
		},
		"a call without a name": func(x *llmtest.Exchange) {
			x.Chunk(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a"}}`)
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

func TestUnusualStreams(t *testing.T) {
	const (
		begin = "data: {\"type\":\"message_start\",\"message\":{}}\n\n"
		block = `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
		delta = `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"fine"}}`
		end   = `data: {"type":"message_stop"}`
	)
	for name, stream := range map[string]string{
		"without event names":       begin + block + "\n\n" + delta + "\n\n" + end + "\n\n",
		"without empty lines":       block + "\n" + delta + "\n" + end + "\n",
		"with comments and pings":   ": hi\n\n" + block + "\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n" + delta + "\n\n: hi\n\n" + end + "\n\n",
		"with unknown events":       block + "\n\ndata: {\"type\":\"news\",\"x\":[1]}\n\n" + delta + "\n\n" + end + "\n\n",
		"with unknown blocks":       "data: {\"type\":\"content_block_start\",\"index\":9,\"content_block\":{\"type\":\"news\"}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":9,\"delta\":{\"type\":\"news_delta\",\"text\":\"not this\"}}\n\n" + block + "\n\n" + delta + "\n\n" + end + "\n\n",
		"with unknown deltas":       block + "\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"citations_delta\",\"citation\":{}}}\n\n" + delta + "\n\n" + end + "\n\n",
		"text in the block's start": strings.Replace(block, `"text":""`, `"text":"fine"`, 1) + "\n\n" + end + "\n\n",
		"usage of another shape":    strings.Replace(begin, "{}", `{"usage":{"input_tokens":"many","output_tokens":-4,"cache_read_input_tokens":1e18}}`, 1) + block + "\n\n" + delta + "\n\n" + end + "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, func(x *llmtest.Exchange) { x.Write(stream) })
			resp := check.Must(connect(t, server, anthropic.Options{MaxRetries: -1}).Generate(t.Context(), hello, nil))(t)
			check.Equal(t, "the reply", resp.Message.Text, "fine")
			check.Equal(t, "the usage", resp.Usage, (llm.Usage{}))
		})
	}
}
