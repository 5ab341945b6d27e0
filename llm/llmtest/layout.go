// A request as the list of its parts, which providers cache and count.

package llmtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"sync"

	"github.com/tiktoken-go/tokenizer"

	"cairn/llm"
)

// part is a piece of a prompt: a tool, a text, a picture, a call, a result.
type part struct {
	role      string
	text      string
	reasoning bool
	marked    bool // a cache mark or breakpoint stands behind it
	tokens    int
}

// partTokens is what a part costs beside its text.
const partTokens = 4

func newPart(role, text string, reasoning bool) part {
	return part{role: role, text: text, reasoning: reasoning, tokens: partTokens + countTokens(text)}
}

func callPart(id, name, arguments string) part {
	return newPart("assistant call", id+" "+name+" "+arguments, false)
}

func tokensOf(parts []part) (n int) {
	for _, p := range parts {
		n += p.tokens
	}
	return n
}

// codec counts as OpenAI's models since GPT-4o do.
var codec = sync.OnceValue(func() tokenizer.Codec {
	c, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		panic(err) // the vocabulary is a part of the library
	}
	return c
})

// counts keeps what was counted: conversations repeat their beginnings.
var counts sync.Map

func countTokens(text string) int {
	if n, ok := counts.Load(text); ok {
		return n.(int)
	}
	n, err := codec().Count(text)
	if err != nil {
		n = len(text) / 4
	}
	counts.Store(text, n)
	return n
}

// layouter collects the parts of a request.
type layouter struct {
	parts     []part
	reasoning bool // reasoning is a part
}

// layout lists the parts of a valid request in the order in which providers cache them.
func layout(r Request, reasoning bool) []part {
	l := layouter{reasoning: reasoning}
	var tools []object
	_ = json.Unmarshal(r.Body["tools"], &tools) // the parser has checked it, here and below
	for _, tool := range tools {
		l.object("tool", tool)
	}
	switch r.Wire {
	case llm.WireMessages:
		l.content("system", r.Body["system"])
		l.messages(r.Body["messages"])
	case llm.WireResponses:
		l.content("system", r.Body["instructions"])
		l.messages(r.Body["input"])
	default:
		l.messages(r.Body["messages"])
	}
	return l.parts
}

type object map[string]json.RawMessage

func (o object) text(name string) (text string) {
	_ = json.Unmarshal(o[name], &text) // what is no string has no text
	return text
}

func (l *layouter) messages(raw json.RawMessage) {
	var messages []object
	_ = json.Unmarshal(raw, &messages)
	for _, m := range messages {
		role := m.text("role")
		switch {
		case role == "tool":
			l.result(m.text("tool_call_id"), m["content"], false)
		case role == "": // an item of Responses
			l.block("", m)
		default:
			l.think(m.text("reasoning_content"))
			l.content(role, m["content"])
			var calls []struct {
				ID       string
				Function struct{ Name, Arguments string }
			}
			_ = json.Unmarshal(m["tool_calls"], &calls)
			for _, call := range calls {
				l.parts = append(l.parts, callPart(call.ID, call.Function.Name, call.Function.Arguments))
			}
		}
	}
}

func (l *layouter) think(text string) {
	if l.reasoning && text != "" {
		l.parts = append(l.parts, newPart("assistant", text, true))
	}
}

// content adds a string, or each part of a list.
func (l *layouter) content(role string, raw json.RawMessage) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if text != "" {
			l.parts = append(l.parts, newPart(role, text, false))
		}
		return
	}
	var blocks []object
	_ = json.Unmarshal(raw, &blocks)
	for _, block := range blocks {
		l.block(role, block)
	}
}

func (l *layouter) block(role string, b object) {
	marked := b["cache_control"] != nil || b["prompt_cache_breakpoint"] != nil
	switch b.text("type") {
	case "text", "input_text", "output_text":
		l.parts = append(l.parts, newPart(role, b.text("text"), false))
	case "image", "image_url", "input_image":
		sum := sha256.Sum256([]byte(string(b["source"]) + string(b["image_url"])))
		l.parts = append(l.parts, part{role: role, text: "image " + hex.EncodeToString(sum[:]), tokens: imageTokens})
	case "tool_use":
		l.parts = append(l.parts, callPart(b.text("id"), b.text("name"), string(b["input"])))
	case "function_call":
		l.parts = append(l.parts, callPart(b.text("call_id"), b.text("name"), b.text("arguments")))
	case "tool_result":
		l.result(b.text("tool_use_id"), b["content"], marked)
		return
	case "function_call_output":
		l.result(b.text("call_id"), b["output"], marked)
		return
	case "thinking", "redacted_thinking":
		l.think(b.text("thinking") + b.text("data"))
		return
	case "reasoning":
		l.think(strings.TrimPrefix(b.text("encrypted_content"), "encrypted: "))
		return
	default:
		l.object(role, b)
		return
	}
	l.parts[len(l.parts)-1].marked = marked
}

func (l *layouter) result(id string, raw json.RawMessage, marked bool) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		var blocks []object
		_ = json.Unmarshal(raw, &blocks)
		for _, b := range blocks {
			text += b.text("text")
			marked = marked || b["prompt_cache_breakpoint"] != nil
		}
	}
	p := newPart("tool", id+" "+text, false)
	p.marked = marked
	l.parts = append(l.parts, p)
}

// object adds what is counted as its JSON.
func (l *layouter) object(role string, o object) {
	marked := o["cache_control"] != nil
	plain := object{}
	for name, value := range o {
		if name != "cache_control" {
			plain[name] = value
		}
	}
	raw, err := json.Marshal(plain)
	if err != nil { // it came as JSON
		return
	}
	p := newPart(role, string(raw), false)
	p.marked = marked
	l.parts = append(l.parts, p)
}
