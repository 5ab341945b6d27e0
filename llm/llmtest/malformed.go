// Faults: responses with a wrong size, form or meaning.

package llmtest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"sync"
)

// floodSize is 100 MB: more than any response, and more than a bot may keep in memory.
const floodSize = 100 << 20

// flood writes floodSize bytes, unless the client disconnects.
func flood(x *Exchange, piece string) {
	for sent := 0; sent < floodSize && x.http.Context().Err() == nil; sent += len(piece) {
		x.Write(piece)
	}
}

func floods() []Fault {
	block := strings.Repeat(half, 3000) // 72 kB
	chunk := func(text string) string {
		return `data: {"choices":[{"index":0,"delta":{"content":"` + text + `"}}]}` + "\n\n"
	}
	return []Fault{
		{Name: "a stream without end", Most: tryOnce, Do: always(func(x *Exchange) {
			for piece := chunk(strings.Repeat(half, 40)); x.http.Context().Err() == nil; {
				x.Write(piece)
			}
		})},
		{Name: "100 MB in one JSON", Most: tryOnce, Do: always(func(x *Exchange) {
			x.Header().Set("Content-Type", "application/json")
			x.Write(`{"choices":[{"index":0,"message":{"role":"assistant","content":"`)
			flood(x, block)
			x.Write(`"},"finish_reason":"stop"}]}`)
		})},
		{Name: "100 MB in one line", Most: tryOnce, Do: always(func(x *Exchange) {
			x.Write(`data: {"choices":[{"index":0,"delta":{"content":"`)
			flood(x, block)
			x.Write("\"}}]}\n\n")
		})},
		{Name: "100 MB in many lines", Most: tryOnce, Do: always(func(x *Exchange) { flood(x, chunk(block)) })},
		{Name: "100 MB of reasoning", Most: tryOnce, Do: always(func(x *Exchange) {
			flood(x, `data: {"choices":[{"index":0,"delta":{"reasoning":"`+block+`"}}]}`+"\n\n")
		})},
		{Name: "100 MB of a refusal", Most: tryAll, Do: always(func(x *Exchange) {
			x.writer.WriteHeader(500)
			flood(x, block)
		})},
		{Name: "a million choices", Most: tryOnce, Do: always(func(x *Exchange) {
			x.Write(`data: {"choices":[` + strings.Repeat("{},", 1_000_000) + "{}]}\n\n")
		})},
		{Name: "a gzip bomb", Most: tryOnce, Do: always(func(x *Exchange) {
			x.Header().Set("Content-Encoding", "gzip")
			x.Header().Set("Content-Type", "application/json")
			x.Write(string(bomb()))
		})},
	}
}

// bomb is a response of 100 MB, compressed to about 100 kB.
var bomb = sync.OnceValue(func() []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"`)) // writing to memory cannot fail
	block := bytes.Repeat([]byte("a"), 1<<20)
	for range floodSize >> 20 {
		_, _ = w.Write(block)
	}
	_ = w.Close()
	return packed.Bytes()
})

func shapes() (all []Fault) {
	whole := func(name string, most int, body string) {
		all = append(all, Fault{Name: name, Most: most, Do: always(func(x *Exchange) { x.Refuse(200, "", body) })})
	}
	stream := func(name, chunk string) {
		all = append(all, Fault{Name: name, Most: tryAll, Do: always(func(x *Exchange) { x.Write("data: " + chunk + "\n\n"); x.Done() })})
	}
	stream("malformed JSON", `{"choices":[{"index":0,"delta":{"content":"`+half+`"}}`)
	whole("truncated JSON", tryAll, `{"choices":[{"index":0,"message":{"content":"`+half)
	stream("content is a number", `{"choices":[{"index":0,"delta":{"content":42},"finish_reason":"stop"}]}`)
	stream("choices is an object", `{"choices":{"0":{"delta":{"content":"`+half+`"}}}}`)
	stream("choices is null", `{"choices":null}`)
	stream("tool_calls is a string", `{"choices":[{"index":0,"delta":{"tool_calls":"recall"},"finish_reason":"tool_calls"}]}`)
	stream("a call without a name", `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)
	stream("JSON nested 20 000 deep", strings.Repeat(`{"choices":[`, 10_000)+strings.Repeat("]}", 10_000))
	whole("an empty body", tryAll, "")
	whole("a body of words", tryAll, "All is well.")
	whole("an empty object", tryAll, "{}")
	for _, usage := range [][2]string{
		{"usage is negative", `{"prompt_tokens":-7,"completion_tokens":-1}`},
		{"usage is absurd", `{"prompt_tokens":1000000000000000000,"completion_tokens":1e18}`},
		{"usage is a word", `"none"`},
	} {
		all = append(all, Fault{Name: usage[0], Most: tryOnce, Answered: true, Applied: true, Do: always(func(x *Exchange) {
			x.Chunk(`{"choices":[{"index":0,"delta":{"content":"The tea is warm, and all is well at the pier."},"finish_reason":"stop"}],"usage":%s}`, usage[1])
			x.Done()
		})})
	}
	return all
}

func misuses() []Fault {
	use := func(calls ...string) func(*Exchange) {
		return func(x *Exchange) {
			x.Chunk(`{"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[%s]}}]}`, strings.Join(calls, ","))
			x.Finish("tool_calls")
			x.Done()
		}
	}
	call := func(i int, id, name, arguments string) string {
		return fmt.Sprintf(`{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}`, i, quote(id), quote(name), quote(arguments))
	}
	deep := strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000)
	var many []string
	for i := range 300 {
		many = append(many, call(i, fmt.Sprint("c", i), "recall", `{"query":"tea"}`))
	}
	return []Fault{
		{Name: "an unknown tool", Most: 2, Answered: true, Applied: true, Do: first(use(call(0, "a", "format_disk", "{}")))},
		{Name: "an unknown tool for ever", Most: 16, Do: always(use(call(0, "a", "format_disk", "{}")))},
		{Name: "a tool for ever", Most: 16, Do: always(use(call(0, "a", "recall", `{"query":"tea"}`)))},
		{Name: "several calls with one id", Most: 2, Answered: true, Applied: true, Do: first(use(
			call(0, "a", "recall", `{"query":"tea"}`), call(1, "a", "recall", `{"query":"pier"}`), call(2, "a", "memory_search", `{"query":"tea"}`)))},
		{Name: "calls without an id", Most: 2, Answered: true, Applied: true, Do: first(use(call(0, "", "recall", `{"query":"tea"}`), call(1, "", "recall", `{"query":"pier"}`)))},
		{Name: "arguments that are no JSON", Most: 2, Answered: true, Applied: true, Do: first(use(call(0, "a", "recall", `query=tea}`)))},
		{Name: "arguments of wrong types", Most: 2, Answered: true, Applied: true, Do: first(use(call(0, "a", "recall", `{"query":{"a":[1]}}`)))},
		{Name: "arguments nested 5 000 deep", Most: 2, Answered: true, Applied: true, Do: first(use(call(0, "a", "recall", deep)))},
		{Name: "arguments of 5 MB", Most: tryOnce, Do: always(use(call(0, "a", "recall", `{"query":"`+strings.Repeat("a", 5<<20)+`"}`)))},
		{Name: "300 calls at once", Most: tryOnce, Do: always(use(many...))},
	}
}

func words() []Fault {
	say := func(text string) func(*Exchange, int) bool { return always(func(x *Exchange) { x.Say(text) }) }
	return []Fault{
		{Name: "an empty answer", Most: tryOnce, Do: say("")},
		{Name: "white space", Most: tryOnce, Do: say(" \n\t\n ")},
		{Name: "reasoning alone", Most: tryOnce, Do: always(func(x *Exchange) {
			x.Chunk(`{"choices":[{"index":0,"delta":{"reasoning":"%s"},"finish_reason":"stop"}]}`, half)
			x.Done()
		})},
		{Name: "the system prompt", Most: tryOnce, Answered: true, Do: always(func(x *Exchange) { x.Say(x.Request.Messages[0].Text()) })},
		{Name: "another language", Most: tryOnce, Answered: true, Do: say("他们谈到了北码头的茶,一切都好。")},
		{Name: "invalid UTF-8", Most: tryOnce, Answered: true, Applied: true, Do: always(func(x *Exchange) {
			x.Write("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"All is well\xff\xc3( at the pier.\"},\"finish_reason\":\"stop\"}]}\n\n")
			x.Done()
		})},
		{Name: "NUL bytes", Most: tryOnce, Answered: true, Applied: true, Do: say("All is well\x00 at the pier.\x00")},
		{Name: "the wrong content type", Most: tryOnce, Answered: true, Applied: true, Do: always(func(x *Exchange) {
			x.Header().Set("Content-Type", "image/png")
			x.Say("All is well at the pier.")
		})},
	}
}
