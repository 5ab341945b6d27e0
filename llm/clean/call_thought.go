// Calls in a thought: models forget to end it before they call a tool.

package clean

import (
	"slices"
	"strings"

	"cairn/llm"
)

// callsInThought returns the calls with which a thought ends. text is the thought from the first mark of a call on.
func callsInThought(text string, r *request) []llm.Call {
	const tries = 8
	text = strings.ReplaceAll(text, minimax, "")
	for range tries {
		if text == "" {
			return nil
		}
		p := parser{rest: text, tools: r.tools, marked: true}
		p.parse()
		unoffered := slices.ContainsFunc(p.calls, func(c llm.Call) bool { return r.tools.tool(c.Name) == nil })
		read := text[:len(text)-len(p.rest)]
		if len(p.calls) > 0 && !unoffered && (p.ended || strings.TrimSpace(p.rest) == "") && !r.isRepeated(read, p.calls) {
			return p.calls
		}
		text = nextCallMark(text)
	}
	return nil
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
