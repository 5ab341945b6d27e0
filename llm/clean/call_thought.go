// Calls in a thought: models forget to end it before they call a tool.

package clean

import (
	"slices"
	"strings"

	"cairn/llm"
)

// callsInThought reads the calls with which a thought ends, if the answer is nothing else. vLLM, too, ends the thought there
// (vllm/reasoning/kimi_k2_reasoning_parser.py).
func (f *Filter) callsInThought() {
	const tries = 8
	text := strings.ReplaceAll(f.inThought, minimax, "")
	if text == "" || f.textOnly || len(f.Calls) > 0 || strings.TrimSpace(f.out.String()) != "" {
		return
	}
	for range tries {
		p := parser{rest: text, offered: f.Tools, marked: true}
		p.parse()
		unknown := slices.ContainsFunc(p.calls, func(c llm.Call) bool { return p.tool(c.Name) == nil })
		whole := text[:len(text)-len(p.rest)]
		if len(p.calls) > 0 && !unknown && (p.ended || strings.TrimSpace(p.rest) == "") && !f.isRepeated(whole, p.calls) {
			f.Calls = p.calls
			return
		}
		text = nextCallMark(text)
		if text == "" {
			return
		}
	}
}

// isRepeated reports whether calls are only repeated from the prompt: it has their text, or the name and the arguments of each in
// another form.
func (f *Filter) isRepeated(text string, calls []llm.Call) bool {
	if f.isQuoted(text) {
		return true
	}
	return !slices.ContainsFunc(calls, func(c llm.Call) bool {
		return c.Arguments == "{}" || !f.isQuoted(c.Name) || !f.isQuoted(c.Arguments)
	})
}

// nextCallMark returns a text from the second mark on that may begin a call; "" if there is none.
func nextCallMark(text string) string {
	for at := 1; at < len(text); at++ {
		if text[at] != '<' && text[at] != '[' {
			continue
		}
		if m, _ := markAt(text[at:], true); m.kind == callMark && !m.closes {
			return text[at:]
		}
	}
	return ""
}
