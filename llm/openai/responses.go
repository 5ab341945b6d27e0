// Requests of Responses. The server stores nothing: each request contains the whole conversation,
// and the encrypted reasoning of the running turn.

package openai

import (
	"cairn/llm"
)

// leastOutput is the minimum of max_output_tokens.
const leastOutput = 16

// breakpoint marks a place in the prompt up to which OpenAI caches. A later request reads the cache
// only if it has a mark at the same place.
const breakpoint = `,"prompt_cache_breakpoint":{"mode":"explicit"}`

// encodeResponses writes what rarely changes first, as encodeChat does.
func (p plan) encodeResponses(req llm.Request) ([]byte, error) {
	b := newBody(req)
	b.str("model", p.model)
	if err := b.tools(req.Tools, `{"type":"function",`, `,"strict":false}`); err != nil {
		return nil, err
	}
	all, marks := p.input(req)
	if len(all) > 0 && all[0][0].Role == llm.RoleSystem {
		b.str("instructions", all[0].text())
		all, marks = all[1:], marks[1:]
	}
	b.raw("input", "[")
	for i, s := range all {
		if i > 0 {
			b.buf = append(b.buf, ',')
		}
		p.items(b, s, marks[i])
	}
	b.buf = append(b.buf, ']')
	b.raw("stream", "true")
	b.raw("store", "false")
	if !p.refused[encryptedContent] {
		b.raw("include", `["reasoning.encrypted_content"]`)
	}
	p.choice(b, req, `{"type":"function",`, "}")
	if req.MaxTokens > 0 {
		b.number("max_output_tokens", max(p.answerTokens(req), leastOutput))
	}
	if !p.refused["temperature"] {
		b.temperature(req.Temperature)
	}
	if effort := p.effort(req.Reasoning); effort != "" && b.field("reasoning") {
		b.quote(`{"effort":`, effort, "}")
	}
	p.cacheFields(b, req)
	return b.close()
}

// mark is the index of the message of a span after which there is a breakpoint; -1: none. With end
// set the last message of the span has one too.
type mark struct {
	message int
	end     bool
}

// input splits the messages into spans and returns their breakpoints: after the head, and after
// everything that was the end of an earlier request. A request writes only the latest three, and
// reads from any.
func (p plan) input(req llm.Request) ([]span, []mark) {
	all := spans(req.Messages)
	marks := make([]mark, len(all))
	head := 0 // messages of the head that spans keeps
	for _, m := range req.Messages[:min(max(req.Head, 0), len(req.Messages))] {
		if !blank(m) {
			head++
		}
	}
	at, headSpan := 0, -1
	for i, s := range all {
		marks[i].message = -1
		if &s[0] == &placeholder[0] {
			continue
		}
		role := s[0].Role
		if at < head && (role == llm.RoleUser || role == llm.RoleTool) {
			headSpan = i
			marks[i].message = min(head-at, len(s)) - 1
		}
		at += len(s)
		next := llm.RoleAssistant
		if i+1 < len(all) {
			next = all[i+1][0].Role
		}
		marks[i].end = at > head && (role == llm.RoleUser && next == llm.RoleAssistant || role == llm.RoleTool && next != llm.RoleTool)
	}
	for i := range marks {
		if i != headSpan {
			marks[i].message = -1
		}
		if !p.breakpoints {
			marks[i] = mark{message: -1}
		}
	}
	return all, marks
}

// items writes the input items for a span.
func (p plan) items(b *body, s span, mark mark) {
	switch m := s[len(s)-1]; m.Role {
	case llm.RoleAssistant:
		p.assistantItems(b, s)
	case llm.RoleTool:
		open, end := "", "}"
		if marked := mark.end || mark.message == 0; marked && m.Text != "" {
			open, end = `[{"type":"input_text","text":`, breakpoint+"}]}"
		}
		b.quote(`{"type":"function_call_output","call_id":`, m.CallID, `,"output":`+open, m.Text, end)
	default:
		b.quote(`{"type":"message","role":`, string(m.Role), `,"content":`)
		first := true
		for i := range s {
			// Only the last message may represent an empty span.
			if len(s) > 1 && s[i].Text == "" && len(s[i].Images) == 0 && (i < len(s)-1 || !first) {
				continue
			}
			b.parts(s[i:i+1], first, `{"type":"input_text","text":`, `{"type":"input_image","image_url":`, "}")
			first = false
			if i == mark.message || mark.end && i == len(s)-1 {
				b.buf = append(append(b.buf[:len(b.buf)-1], breakpoint...), '}')
			}
		}
		b.buf = append(b.buf, "]}"...)
	}
}

// assistantItems writes the text and the calls of an assistant, each after the reasoning that led
// to it.
func (p plan) assistantItems(b *body, s span) {
	m := s[len(s)-1]
	items := readNative(m.Native, p.provider).Items
	n := 0
	item := func() {
		if n > 0 {
			b.buf = append(b.buf, ',')
		}
		n++
	}
	reasoning := func(calls int, text bool) {
		for _, r := range items {
			if r.Calls == calls && r.Text == text {
				item()
				b.buf = append(b.buf, r.Item...)
			}
		}
	}
	text := s.text()
	if text != "" {
		reasoning(0, false)
		item()
		b.quote(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":`, text, "}]}")
	}
	for i, call := range m.Calls {
		if text == "" || i > 0 { // otherwise it was written before the text
			reasoning(i, false)
		}
		reasoning(i, true)
		item()
		b.quote(`{"type":"function_call","call_id":`, call.ID, `,"name":`, call.Name, `,"arguments":`, llm.ValidArguments(call.Arguments), "}")
	}
}
