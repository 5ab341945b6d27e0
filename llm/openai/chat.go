// Requests of chat completions.

package openai

import (
	"slices"
	"strings"
	"time"

	"cairn/llm"
)

const maxCompletionTokens = "max_completion_tokens"

// completionTokens reports whether the answer's limit is sent as max_completion_tokens: OpenAI's
// newer models refuse the old name, and most other servers know no other.
func (p plan) completionTokens() bool { return p.host == openAIHost || p.maxField }

// cacheKey returns the key to send: only OpenAI supports the field.
func (p plan) cacheKey(req llm.Request) string {
	if p.host != openAIHost || p.refused["prompt_cache_key"] {
		return ""
	}
	return req.CacheKey
}

// encodeChat writes what rarely changes first: a later request of the same conversation extends
// this one's messages.
func (p plan) encodeChat(req llm.Request) ([]byte, error) {
	b := newBody(req)
	b.extra = req.Extra
	b.str("model", p.model)
	if err := b.tools(req.Tools, `{"type":"function","function":{`, "}}"); err != nil {
		return nil, err
	}
	if b.field("messages") {
		b.buf = append(b.buf, '[')
		for i, s := range spans(req.Messages) {
			if i > 0 {
				b.buf = append(b.buf, ',')
			}
			p.chatMessage(b, s)
		}
		b.buf = append(b.buf, ']')
	}
	b.raw("stream", "true")
	if !p.refused["stream_options"] {
		b.raw("stream_options", `{"include_usage":true}`)
	}
	p.choice(b, req, `{"type":"function","function":{`, "}}")
	bound := "max_tokens"
	if p.completionTokens() {
		bound = maxCompletionTokens
	}
	b.number(bound, p.answerTokens(req))
	if !p.refused["temperature"] {
		b.temperature(req.Temperature)
	}
	b.str("reasoning_effort", p.effort(req.Reasoning))
	p.cacheFields(b, req)
	return b.close()
}

// choice writes the tool that must be called, between open and end.
func (p plan) choice(b *body, req llm.Request, open, end string) {
	switch {
	case req.ForceTool == "" || len(req.Tools) == 0:
	case !p.forced:
		b.raw("tool_choice", `"auto"`)
	case b.field("tool_choice"):
		b.quote(open+`"name":`, req.ForceTool, end)
	}
}

// cacheFields writes the fields of a provider's prompt cache.
func (p plan) cacheFields(b *body, req llm.Request) {
	b.str("prompt_cache_key", p.cacheKey(req))
	if p.retention {
		b.str("prompt_cache_retention", "24h")
	}
	if p.claude && p.wire == llm.WireChat {
		mark := `{"type":"ephemeral"}`
		if p.ttl > 5*time.Minute {
			mark = `{"type":"ephemeral","ttl":"1h"}`
		}
		b.raw("cache_control", mark)
	}
}

// chatMessage writes the message for a span.
func (p plan) chatMessage(b *body, s span) {
	last := s[len(s)-1]
	b.quote(`{"role":`, string(last.Role), `,"content":`)
	if last.Role == llm.RoleUser && slices.ContainsFunc(s, hasPicture) {
		b.parts(s, true, `{"type":"text","text":`, `{"type":"image_url","image_url":{"url":`, "}}")
		b.buf = append(b.buf, ']')
	} else {
		b.string(s.text())
	}
	switch last.Role {
	case llm.RoleTool:
		b.quote(`,"tool_call_id":`, last.CallID)
	case llm.RoleAssistant:
		p.chatCalls(b, last)
	}
	b.buf = append(b.buf, '}')
}

// chatCalls writes the calls of an assistant's message, and what the provider had added to it.
func (p plan) chatCalls(b *body, m llm.Message) {
	n := readNative(m.Native, p.provider)
	for i, call := range m.Calls {
		if i == 0 {
			b.buf = append(b.buf, `,"tool_calls":`...)
		}
		b.next(i == 0)
		b.quote(`{"id":`, call.ID, `,"type":"function","function":{"name":`, call.Name, `,"arguments":`, llm.ValidArguments(call.Arguments), "}")
		b.fields(n.Calls[call.ID])
		b.buf = append(b.buf, '}')
	}
	if len(m.Calls) > 0 {
		b.buf = append(b.buf, ']')
	}
	b.fields(n.Fields)
}

// text returns the texts of a span's messages, separated by blank lines; pictures that cannot be
// sent are mentioned.
func (s span) text() string {
	if len(s) == 1 && (len(s[0].Images) == 0 || s[0].Role != llm.RoleUser) {
		return s[0].Text
	}
	var texts []string
	for part := range s.parts() {
		texts = append(texts, part.text)
	}
	return strings.Join(texts, "\n\n")
}
