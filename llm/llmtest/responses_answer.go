// Responses: how a provider answers.

package llmtest

import (
	"fmt"
	"strings"

	"cairn/llm"
)

func (responsesDialect) refusal(code, message string) string { return errorBody(code, message) }

func (responsesDialect) answer(x *Exchange) writer {
	w := &responsesWriter{x: x}
	w.event("response.created", `"response":{"id":"resp_%d","object":"response","status":"in_progress","output":[]}`, x.N)
	return w
}

// responsesWriter keeps what the events repeat.
type responsesWriter struct {
	x      *Exchange
	n      int             // events so far
	output int             // items so far
	text   strings.Builder // of the running message
	open   bool            // a message is running
	reason string
}

// event writes an event whose other fields are given as JSON with fmt's verbs.
func (w *responsesWriter) event(name, format string, args ...any) {
	w.x.Event(name, `{"type":%s,"sequence_number":%d,%s}`, quote(name), w.n, fmt.Sprintf(format, args...))
	w.n++
}

func (w *responsesWriter) id(kind string) string {
	return quote(fmt.Sprintf("%s_%d_%d", kind, w.x.N, w.output))
}

func (w *responsesWriter) piece(text string) {
	if !w.open {
		w.open = true
		w.event("response.output_item.added", `"output_index":%d,"item":{"id":%s,"type":"message","status":"in_progress","role":"assistant","content":[]}`, w.output, w.id("msg"))
		w.event("response.content_part.added", `"item_id":%s,"output_index":%d,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}`, w.id("msg"), w.output)
	}
	w.text.WriteString(text)
	w.event("response.output_text.delta", `"item_id":%s,"output_index":%d,"content_index":0,"delta":%s`, w.id("msg"), w.output, quote(text))
}

// close ends the running message.
func (w *responsesWriter) close() {
	if !w.open {
		return
	}
	text := quote(w.text.String())
	w.event("response.output_text.done", `"item_id":%s,"output_index":%d,"content_index":0,"text":%s`, w.id("msg"), w.output, text)
	w.event("response.output_item.done", `"output_index":%d,"item":{"id":%s,"type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":%s,"annotations":[]}]}`, w.output, w.id("msg"), text)
	w.open = false
	w.text.Reset()
	w.output++
}

// think writes a reasoning item. Its text is in the summary, and stands for what is
// encrypted.
func (w *responsesWriter) think(text string) {
	w.close()
	w.event("response.output_item.added", `"output_index":%d,"item":{"id":%s,"type":"reasoning","summary":[],"encrypted_content":""}`, w.output, w.id("rs"))
	w.event("response.reasoning_summary_text.delta", `"item_id":%s,"output_index":%d,"summary_index":0,"delta":%s`, w.id("rs"), w.output, quote(text))
	w.event("response.output_item.done", `"output_index":%d,"item":{"id":%s,"type":"reasoning","summary":[{"type":"summary_text","text":%s}],"encrypted_content":%s}`,
		w.output, w.id("rs"), quote(text), quote("encrypted: "+text))
	w.output++
}

func (w *responsesWriter) calls(calls ...llm.Call) {
	w.close()
	for _, call := range calls {
		half := len(call.Arguments) / 2
		item := func(status, arguments string) string {
			return fmt.Sprintf(`{"id":%s,"type":"function_call","status":%s,"call_id":%s,"name":%s,"arguments":%s}`,
				w.id("fc"), quote(status), quote(call.ID), quote(call.Name), quote(arguments))
		}
		w.event("response.output_item.added", `"output_index":%d,"item":%s`, w.output, item("in_progress", ""))
		for _, piece := range []string{call.Arguments[:half], call.Arguments[half:]} {
			w.event("response.function_call_arguments.delta", `"item_id":%s,"output_index":%d,"delta":%s`, w.id("fc"), w.output, quote(piece))
		}
		w.event("response.function_call_arguments.done", `"item_id":%s,"output_index":%d,"arguments":%s`, w.id("fc"), w.output, quote(call.Arguments))
		w.event("response.output_item.done", `"output_index":%d,"item":%s`, w.output, item("completed", call.Arguments))
		w.output++
	}
}

func (w *responsesWriter) finish(reason string) {
	w.close()
	w.reason = reason
}

func (w *responsesWriter) done() {
	u := w.x.counted()
	usage := fmt.Sprintf(`{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":%d}`,
		u.Prompt, u.Cached, u.Written, u.Completion, u.Prompt+u.Completion)
	end := func(status, details string) {
		w.event("response."+status, `"response":{"id":"resp_%d","object":"response","status":%s,"error":null,"incomplete_details":%s,"usage":%s}`,
			w.x.N, quote(status), details, usage)
	}
	switch w.reason {
	case llm.FinishLength:
		end("incomplete", `{"reason":"max_output_tokens"}`)
	case llm.FinishFilter:
		end("incomplete", `{"reason":"content_filter"}`)
	default:
		end("completed", "null")
	}
}

func (w *responsesWriter) fail(message string) {
	w.event("response.failed", `"response":{"id":"resp_%d","object":"response","status":"failed","error":{"code":"server_error","message":%s}}`, w.x.N, quote(message))
}
