// Faults of providers: one table, for tests and for the benchmark.

package llmtest

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Fault is one way in which a provider misbehaves.
type Fault struct {
	Name string

	NoServer bool            // nothing listens
	do       func(*Exchange) // responds
	once     bool            // then the provider responds

	Answered bool // a turn that meets it still gets an answer; otherwise people get a sentence about the failure
	Applied  bool // a summary of talk about the tea at the pier is still applied
	Most     int  // most requests of a turn that meet it
	Slow     bool // lasts as long as the client's timeout
}

// How many requests a turn sends: each call is tried four times, and the turn twice.
const (
	tryOnce  = 1 // permanent, or the server asked to wait
	tryTwice = 2 // no retry within a call, half of the answer was shown, or there was none
	tryAll   = 8 // possibly temporary
)

// Half is the text of incomplete answers. It must not be stored.
const Half = "HALF OF A SENTENCE THAT "

// Do misbehaves instead of responding. n counts the requests that have met this occurrence of the
// fault, from 0. If Do returns false, it has written nothing, and the provider responds normally.
func (f Fault) Do(x *Exchange, n int) bool {
	if f.NoServer || f.once && n > 0 {
		return false
	}
	f.do(x)
	return true
}

// Faults returns the table.
func Faults() []Fault {
	return slices.Concat(refusals(), connections(), floods(), shapes(), misuses(), words())
}

func refusals() (all []Fault) {
	refuse := func(name string, most, status int, retryAfter, body string) {
		all = append(all, Fault{Name: name, Most: most, do: func(x *Exchange) { x.Refuse(status, retryAfter, body) }})
	}
	for _, status := range []int{400, 401, 403, 404} {
		refuse(fmt.Sprint(status), tryOnce, status, "", errorBody("invalid_request_error", "no"))
	}
	refuse("408", tryAll, 408, "", "timeout")
	refuse("413", 3, 413, "", errorBody("request_too_large", "too large"))
	slow := errorBody("rate_limit_exceeded", "slow down")
	refuse("429, Retry-After: none", tryAll, 429, "", slow)
	refuse("429, Retry-After: a moment", tryAll, 429, "0.02", slow)
	refuse("429, Retry-After: an hour", tryOnce, 429, "3600", slow)
	refuse("429, Retry-After: absurd", tryOnce, 429, "1e300", slow)
	for _, status := range []int{500, 501, 502, 503, 504} {
		refuse(fmt.Sprint(status), tryAll, status, "", "upstream failed at 10.0.0.7:9000")
	}
	refuse("an HTML page with 502", tryAll, 502, "", "<html><head><title>Bad Gateway</title></head><body><h1>502</h1>nginx</body></html>")
	refuse("an HTML page with 200", tryOnce, 200, "", "<html><body>Please log in</body></html>")
	refuse("200 with an error in it", tryAll, 200, "", `{"error":{"message":"engine crashed","type":"server_error"}}`)
	all = append(all,
		Fault{Name: "an error in mid-stream", Most: tryTwice, do: func(x *Exchange) {
			x.Piece(Half)
			x.Chunk(`{"error":{"message":"engine crashed","code":502}}`)
			x.Done()
		}},
		Fault{Name: "redirects without end", Most: tryOnce, do: func(x *Exchange) {
			x.Header().Set("Location", x.http.URL.Path)
			x.Refuse(307, "", "")
		}})
	return all
}

func connections() []Fault {
	return []Fault{
		{Name: "connection refused", Most: tryAll, NoServer: true},
		{Name: "reset before the header", Most: tryAll, do: func(x *Exchange) { x.Reset() }},
		{Name: "reset in mid-stream", Most: tryAll, do: func(x *Exchange) { x.Piece(Half); x.Reset() }},
		{Name: "cut in mid-stream", Most: tryAll, do: func(x *Exchange) { x.Piece(Half); x.Cut() }},
		{Name: "ended without [DONE]", Most: tryAll, do: func(x *Exchange) { x.Piece(Half) }},
		{Name: "silence before the header", Most: tryTwice, Slow: true, do: func(x *Exchange) { x.Wait(time.Minute) }},
		{Name: "silence in mid-stream", Most: tryTwice, Slow: true, do: func(x *Exchange) { x.Piece(Half); x.Wait(time.Minute) }},
		{Name: "a byte now and then", Most: tryOnce, Slow: true, do: func(x *Exchange) {
			for text := "data: " + `{"choices":[{"index":0,"delta":{"content":"` + Half; x.Wait(20 * time.Millisecond); text = text[1:] + " " {
				x.Write(text[:1])
			}
		}},
		{Name: "keep-alives without end", Most: tryOnce, Slow: true, do: func(x *Exchange) {
			for x.Wait(5 * time.Millisecond) {
				x.Write(": still here\n\n")
			}
		}},
	}
}

// floodSize is 100 MB: more than any response, and more than a bot may keep in memory.
const floodSize = 100 << 20

// flood writes floodSize bytes, unless the client disconnects.
func flood(x *Exchange, piece string) {
	for sent := 0; sent < floodSize && x.http.Context().Err() == nil; sent += len(piece) {
		x.Write(piece)
	}
}

func floods() []Fault {
	block := strings.Repeat(Half, 3000) // 72 kB
	chunk := func(text string) string {
		return `data: {"choices":[{"index":0,"delta":{"content":"` + text + `"}}]}` + "\n\n"
	}
	return []Fault{
		{Name: "a stream without end", Most: tryOnce, do: func(x *Exchange) {
			piece := chunk(strings.Repeat(Half, 40))
			for x.http.Context().Err() == nil {
				x.Write(piece)
			}
		}},
		{Name: "100 MB in one JSON", Most: tryOnce, do: func(x *Exchange) {
			x.Header().Set("Content-Type", "application/json")
			x.Write(`{"choices":[{"index":0,"message":{"role":"assistant","content":"`)
			flood(x, block)
			x.Write(`"},"finish_reason":"stop"}]}`)
		}},
		{Name: "100 MB of reasoning", Most: tryOnce, do: func(x *Exchange) {
			flood(x, `data: {"choices":[{"index":0,"delta":{"reasoning":"`+block+`"}}]}`+"\n\n")
		}},
		{Name: "100 MB of a refusal", Most: tryAll, do: func(x *Exchange) {
			x.writer.WriteHeader(500)
			flood(x, block)
		}},
		{Name: "a million choices", Most: tryOnce, do: func(x *Exchange) {
			x.Write(`data: {"choices":[` + strings.Repeat("{},", 1_000_000) + "{}]}\n\n")
		}},
	}
}

func shapes() (all []Fault) {
	whole := func(name string, most int, body string) {
		all = append(all, Fault{Name: name, Most: most, do: func(x *Exchange) { x.Refuse(200, "", body) }})
	}
	stream := func(name, chunk string) {
		all = append(all, Fault{Name: name, Most: tryAll, do: func(x *Exchange) { x.Write("data: " + chunk + "\n\n"); x.Done() }})
	}
	stream("malformed JSON", `{"choices":[{"index":0,"delta":{"content":"`+Half+`"}}`)
	whole("truncated JSON", tryAll, `{"choices":[{"index":0,"message":{"content":"`+Half)
	stream("content is a number", `{"choices":[{"index":0,"delta":{"content":42},"finish_reason":"stop"}]}`)
	stream("choices is an object", `{"choices":{"0":{"delta":{"content":"`+Half+`"}}}}`)
	stream("tool_calls is a string", `{"choices":[{"index":0,"delta":{"tool_calls":"recall"},"finish_reason":"tool_calls"}]}`)
	stream("a call without a name", `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)
	stream("JSON nested 20 000 deep", strings.Repeat(`{"choices":[`, 10_000)+strings.Repeat("]}", 10_000))
	whole("an empty body", tryAll, "")
	whole("a body of words", tryAll, "All is well.")
	return append(all, Fault{Name: "usage is absurd", Most: tryOnce, Answered: true, Applied: true, do: func(x *Exchange) {
		x.Chunk(`{"choices":[{"index":0,"delta":{"content":"The tea is warm, and all is well at the pier."},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000000000000000000,"completion_tokens":1e18}}`)
		x.Done()
	}})
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
		return fmt.Sprintf(`{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}`, i, encode(id), encode(name), encode(arguments))
	}
	deep := strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000)
	var many []string
	for i := range 300 {
		many = append(many, call(i, fmt.Sprint("c", i), "recall", `{"query":"tea"}`))
	}
	return []Fault{
		{Name: "an unknown tool", Most: 2, Answered: true, Applied: true, once: true, do: use(call(0, "a", "format_disk", "{}"))},
		{Name: "an unknown tool for ever", Most: 16, do: use(call(0, "a", "format_disk", "{}"))},
		{Name: "a tool for ever", Most: 16, do: use(call(0, "a", "recall", `{"query":"tea"}`))},
		{Name: "several calls with one id", Most: 2, Answered: true, Applied: true, once: true, do: use(
			call(0, "a", "recall", `{"query":"tea"}`), call(1, "a", "recall", `{"query":"pier"}`), call(2, "a", "memory_search", `{"query":"tea"}`))},
		{Name: "calls without an id", Most: 2, Answered: true, Applied: true, once: true, do: use(call(0, "", "recall", `{"query":"tea"}`), call(1, "", "recall", `{"query":"pier"}`))},
		{Name: "arguments that are no JSON", Most: 2, Answered: true, Applied: true, once: true, do: use(call(0, "a", "recall", `query=tea}`))},
		{Name: "arguments of wrong types", Most: 2, Answered: true, Applied: true, once: true, do: use(call(0, "a", "recall", `{"query":{"a":[1]}}`))},
		{Name: "arguments nested 5 000 deep", Most: 2, Answered: true, Applied: true, once: true, do: use(call(0, "a", "recall", deep))},
		{Name: "arguments of 5 MB", Most: tryOnce, do: use(call(0, "a", "recall", `{"query":"`+strings.Repeat("a", 5<<20)+`"}`))},
		{Name: "300 calls at once", Most: tryOnce, do: use(many...)},
	}
}

func words() []Fault {
	say := func(text string) func(*Exchange) { return func(x *Exchange) { x.Say(text) } }
	return []Fault{
		{Name: "an empty answer", Most: tryTwice, do: say("")},
		{Name: "white space", Most: tryTwice, do: say(" \n\t\n ")},
		{Name: "reasoning alone", Most: tryTwice, do: func(x *Exchange) {
			x.Chunk(`{"choices":[{"index":0,"delta":{"reasoning":"%s"},"finish_reason":"stop"}]}`, Half)
			x.Done()
		}},
		{Name: "the system prompt", Most: tryOnce, Answered: true, do: func(x *Exchange) { x.Say(x.Request.Messages[0].Text()) }},
		{Name: "another language", Most: tryOnce, Answered: true, do: say("他们谈到了北码头的茶,一切都好。")},
		{Name: "invalid UTF-8", Most: tryOnce, Answered: true, Applied: true, do: func(x *Exchange) {
			x.Write("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"All is well\xff\xc3( at the pier.\"},\"finish_reason\":\"stop\"}]}\n\n")
			x.Done()
		}},
		{Name: "NUL bytes", Most: tryOnce, Answered: true, Applied: true, do: say("All is well\x00 at the pier.\x00")},
		{Name: "the wrong content type", Most: tryOnce, Answered: true, Applied: true, do: func(x *Exchange) {
			x.Header().Set("Content-Type", "image/png")
			x.Say("All is well at the pier.")
		}},
	}
}
