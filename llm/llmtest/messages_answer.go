// Messages: how a provider responds.

package llmtest

import (
	"strings"

	"cairn/llm"
)

// refuseMessages returns the body of an error; the code is mapped to one of the provider's types.
func refuseMessages(code, message string) string {
	kind := code
	switch {
	case code == "context_length_exceeded":
		kind = "invalid_request_error"
	case !strings.HasSuffix(code, "_error") && code != "request_too_large":
		kind = "api_error"
	}
	return encode(map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}})
}

func answerMessages(x *Exchange) writer {
	w := &messagesWriter{x: x}
	u := x.counted()
	x.Event("message_start", `{"type":"message_start","message":{"id":"msg_%d","type":"message","role":"assistant","model":%s,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":1}}}`,
		x.N, quote(x.Request.Model), u.Prompt-u.Cached-u.Written, u.Written, u.Cached)
	x.Event("ping", `{"type":"ping"}`)
	return w
}

// messagesWriter tracks the open block.
type messagesWriter struct {
	x     *Exchange
	index int
	open  bool // a text block is open
}

func (w *messagesWriter) start(block string) {
	w.x.Event("content_block_start", `{"type":"content_block_start","index":%d,"content_block":%s}`, w.index, block)
}

func (w *messagesWriter) delta(kind, field, text string) {
	w.x.Event("content_block_delta", `{"type":"content_block_delta","index":%d,"delta":{"type":%s,"%s":%s}}`, w.index, quote(kind), field, quote(text))
}

func (w *messagesWriter) stop() {
	w.x.Event("content_block_stop", `{"type":"content_block_stop","index":%d}`, w.index)
	w.index++
	w.open = false
}

// close ends an open text block.
func (w *messagesWriter) close() {
	if w.open {
		w.stop()
	}
}

func (w *messagesWriter) piece(text string) {
	if !w.open {
		w.start(`{"type":"text","text":""}`)
		w.open = true
	}
	w.delta("text_delta", "text", text)
}

func (w *messagesWriter) think(text string) {
	w.close()
	w.start(`{"type":"thinking","thinking":"","signature":""}`)
	half := len([]rune(text)) / 2
	w.delta("thinking_delta", "thinking", string([]rune(text)[:half]))
	w.delta("thinking_delta", "thinking", string([]rune(text)[half:]))
	w.delta("signature_delta", "signature", signature(text))
	w.stop()
}

func (w *messagesWriter) calls(calls ...llm.Call) {
	w.close()
	for _, call := range calls {
		w.start(`{"type":"tool_use","id":` + quote(call.ID) + `,"name":` + quote(call.Name) + `,"input":{}}`)
		half := len(call.Arguments) / 2
		w.delta("input_json_delta", "partial_json", "")
		w.delta("input_json_delta", "partial_json", call.Arguments[:half])
		w.delta("input_json_delta", "partial_json", call.Arguments[half:])
		w.stop()
	}
}

// stopReasons maps llm's finish reasons to the provider's.
var stopReasons = map[string]string{
	llm.FinishStop: "end_turn", llm.FinishLength: "max_tokens", llm.FinishToolCalls: "tool_use", llm.FinishFilter: "refusal",
}

func (w *messagesWriter) finish(reason string) {
	w.close()
	if known, ok := stopReasons[reason]; ok {
		reason = known
	}
	w.x.Event("message_delta", `{"type":"message_delta","delta":{"stop_reason":%s,"stop_sequence":null},"usage":{"output_tokens":%d}}`,
		quote(reason), w.x.counted().Completion)
}

func (w *messagesWriter) done() { w.x.Event("message_stop", `{"type":"message_stop"}`) }

func (w *messagesWriter) fail(message string) {
	w.x.Event("error", `{"type":"error","error":{"type":"api_error","message":%s}}`, quote(message))
}
