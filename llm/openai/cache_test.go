package openai_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

// conversation returns a head of three messages, and this many turns with tools after it.
func conversation(turns int) llm.Request {
	req := llm.Request{Head: 3, CacheKey: "conversation-1", Tools: []llm.Tool{{Name: "f"}}, Messages: []llm.Message{
		{Role: llm.RoleSystem, Text: "be kind"},
		{Role: llm.RoleUser, Text: "kept"},
		{Role: llm.RoleUser, Text: "summary"},
		{Role: llm.RoleUser, Text: "begin"},
	}}
	for n := range turns {
		id := fmt.Sprint("c", n)
		req.Messages = append(req.Messages,
			llm.Message{Role: llm.RoleAssistant, Text: "I look.", Calls: []llm.Call{{ID: id, Name: "f"}, {ID: id + "b", Name: "f"}}},
			llm.Message{Role: llm.RoleTool, CallID: id, Tool: "f", Text: "found"},
			llm.Message{Role: llm.RoleTool, CallID: id + "b", Tool: "f", Text: "found more"},
			llm.Message{Role: llm.RoleAssistant, Text: "So it is."},
			llm.Message{Role: llm.RoleUser, Text: "next"})
	}
	return req
}

func send(t *testing.T, o openai.Options, req llm.Request) (*openai.Model, llmtest.Request) {
	t.Helper()
	server := llmtest.Serve(t, ok)
	m := connect(t, server, o)
	check.NoError(t, check.ErrorOf(m.Generate(t.Context(), req, nil)))
	return m, server.Requests()[0]
}

const atOpenAI = "https://api.openai.com/v1"

func TestCacheFields(t *testing.T) {
	const openRouter, claude, short = "https://openrouter.ai/api/v1", "anthropic/claude-sonnet-4.6", 5 * time.Minute
	type fields map[string]string
	keyed, retained := fields{"prompt_cache_key": `"conversation-1"`}, fields{"prompt_cache_key": `"conversation-1"`, "prompt_cache_retention": `"24h"`}
	for name, c := range map[string]struct {
		options openai.Options
		wire    string
		marked  bool
		fields  fields // of those that some have
		ttl     time.Duration
		rule    string
	}{
		"gpt-6-astra":   {openai.Options{BaseURL: atOpenAI, Model: "gpt-6-astra"}, llm.WireResponses, true, keyed, 30 * time.Minute, llm.CacheBreakpoints},
		"gpt-5.6-terra": {openai.Options{BaseURL: atOpenAI, Model: "gpt-5.6-terra"}, llm.WireResponses, true, keyed, 30 * time.Minute, llm.CacheBreakpoints},
		"gpt-5.5":       {openai.Options{BaseURL: atOpenAI, Model: "gpt-5.5"}, llm.WireResponses, false, retained, 24 * time.Hour, llm.CachePrefix},
		"gpt-4.1":       {openai.Options{BaseURL: atOpenAI, Model: "gpt-4.1"}, llm.WireResponses, false, retained, 24 * time.Hour, llm.CachePrefix},
		"a small model": {openai.Options{BaseURL: atOpenAI, Model: "gpt-5-mini"}, llm.WireResponses, false, keyed, short, llm.CachePrefix},
		"a tuned model": {openai.Options{BaseURL: atOpenAI, Model: "ft:gpt-5.6:mine"}, llm.WireResponses, false, keyed, short, llm.CachePrefix},
		"OpenAI on chat": {openai.Options{BaseURL: atOpenAI, Model: "gpt-5.1", Wire: llm.WireChat}, llm.WireChat, false, fields{
			"prompt_cache_key": `"conversation-1"`, "prompt_cache_retention": `"24h"`, "max_completion_tokens": "100",
		}, 24 * time.Hour, llm.CachePrefix},
		"Claude behind OpenRouter": {openai.Options{BaseURL: openRouter, Model: claude}, llm.WireChat, false, fields{
			"max_tokens": "100", "cache_control": `{"type":"ephemeral"}`,
		}, short, llm.CachePrefix},
		"Claude behind OpenRouter for an hour": {openai.Options{BaseURL: openRouter, Model: claude, CacheTTL: time.Hour}, llm.WireChat, false, fields{
			"max_tokens": "100", "cache_control": `{"ttl":"1h","type":"ephemeral"}`,
		}, time.Hour, llm.CachePrefix},
		"a model of such a name somewhere else": {openai.Options{BaseURL: "https://example.org/v1", Model: claude}, llm.WireChat, false, fields{"max_tokens": "100"}, short, llm.CachePrefix},
		"a provider that caches whole requests": {openai.Options{BaseURL: "https://api.deepseek.com/v1"}, llm.WireChat, false, fields{"max_tokens": "100"}, short, llm.CacheUnits},
	} {
		req, marked := conversation(1), ""
		if req.MaxTokens = 100; c.marked {
			marked = "summary, begin, c0b found more, next"
		}
		m, got := send(t, c.options, req)
		check.Equal(t, name+": marked", strings.Join(got.Marked(), ", "), marked)
		check.Equal(t, name+": breakpoints", strings.Contains(string(got.Raw), "breakpoint"), c.marked)
		for _, field := range []string{"prompt_cache_key", "prompt_cache_retention", "cache_control", "max_tokens", "max_completion_tokens"} {
			check.Equal(t, name+": "+field, string(got.Body[field]), c.fields[field])
		}
		check.Equal(t, name, fmt.Sprint(m.Wire(), got.Wire, m.CacheRule(), m.CacheTTL()), fmt.Sprint(c.wire, c.wire, c.rule, c.ttl))
	}
}

func TestCacheBreakpointsFollowHead(t *testing.T) {
	for name, c := range map[string]struct {
		messages []llm.Message
		head     int
		want     string
	}{
		"none without a head but the last":  {[]llm.Message{{Role: llm.RoleUser, Text: "a"}}, 0, "a"},
		"a head that ends in an assistant":  {[]llm.Message{{Role: llm.RoleUser, Text: "a"}, {Role: llm.RoleAssistant, Text: "b"}, {Role: llm.RoleUser, Text: "c"}}, 2, "a, c"},
		"a head with a blank message":       {[]llm.Message{{Role: llm.RoleUser, Text: "a"}, {Role: llm.RoleAssistant}, {Role: llm.RoleUser, Text: "b"}, {Role: llm.RoleUser, Text: "c"}}, 3, "b, c"},
		"a head that begins with an answer": {[]llm.Message{{Role: llm.RoleAssistant, Text: "x"}, {Role: llm.RoleUser, Text: "a"}, {Role: llm.RoleUser, Text: "b"}}, 2, "a, b"},
	} {
		_, got := send(t, openai.Options{BaseURL: atOpenAI, Model: "gpt-6-sol"}, llm.Request{Messages: c.messages, Head: c.head})
		check.Equal(t, name, strings.Join(got.Marked(), ", "), c.want)
	}
}
