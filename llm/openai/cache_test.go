package openai_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

// at returns a model that uses server as the one at base.
func at(t *testing.T, base string, server *llmtest.Server, o openai.Options) *openai.Model {
	t.Helper()
	o.BaseURL, o.Model, o.HTTPClient, o.MaxRetries = base, cmp.Or(o.Model, "m"), llmtest.InMemory(server), -1
	return check.Must(openai.New(o))(t)
}

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

// send sends a request to the server at base, and returns what it got.
func send(t *testing.T, base string, o openai.Options, req llm.Request) (*openai.Model, llmtest.Request) {
	t.Helper()
	server := llmtest.Serve(t, ok)
	m := at(t, base, server, o)
	check.NoError(t, check.ErrorOf(m.Generate(t.Context(), req, nil)))
	return m, server.Requests()[0]
}

const atOpenAI, local = "https://api.openai.com/v1", "http://localhost/v1"

func TestOpenAICacheFields(t *testing.T) {
	for model, c := range map[string]struct {
		marks, retention string
		ttl              time.Duration
	}{
		"gpt-6-astra":     {"summary, begin, c0b found more, next", "", 30 * time.Minute},
		"gpt-5.6-terra":   {"summary, begin, c0b found more, next", "", 30 * time.Minute},
		"gpt-5.5":         {"", `"24h"`, 24 * time.Hour},
		"gpt-4.1":         {"", `"24h"`, 24 * time.Hour},
		"gpt-5-mini":      {"", "", 5 * time.Minute},
		"ft:gpt-5.6:mine": {"", "", 5 * time.Minute},
	} {
		m, got := send(t, atOpenAI, openai.Options{Model: model}, conversation(1))
		check.Equal(t, model+": protocol", m.Wire()+" "+got.Wire, llm.WireResponses+" "+llm.WireResponses)
		check.Equal(t, model+": marked", strings.Join(got.Marked(), ", "), c.marks)
		field(t, got.Body, "prompt_cache_key", `"conversation-1"`)
		field(t, got.Body, "prompt_cache_retention", c.retention)
		check.Equal(t, model+": cache lifetime", m.CacheTTL(), c.ttl)
		rule := map[bool]string{true: llm.CacheBreakpoints, false: llm.CachePrefix}[c.marks != ""]
		check.Equal(t, model+": cache rule", m.CacheRule(), rule)
	}
	req := conversation(1)
	req.MaxTokens = 100
	_, got := send(t, atOpenAI, openai.Options{Model: "gpt-5.1", Wire: llm.WireChat}, req)
	field(t, got.Body, "max_completion_tokens", "100")
	field(t, got.Body, "max_tokens", "")
	field(t, got.Body, "prompt_cache_key", `"conversation-1"`)
	field(t, got.Body, "prompt_cache_retention", `"24h"`)
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
		_, got := send(t, atOpenAI, openai.Options{Model: "gpt-6-sol"}, llm.Request{Messages: c.messages, Head: c.head})
		check.Equal(t, name, strings.Join(got.Marked(), ", "), c.want)
	}
}

func TestCacheFieldsOfOtherServers(t *testing.T) {
	for name, c := range map[string]struct {
		base, model string
		ttl         time.Duration
		want, rule  string
	}{
		"Claude behind OpenRouter":              {"https://openrouter.ai/api/v1", "anthropic/claude-sonnet-4.6", 0, `{"type":"ephemeral"}`, llm.CachePrefix},
		"Claude behind OpenRouter for an hour":  {"https://openrouter.ai/api/v1", "anthropic/claude-sonnet-4.6", time.Hour, `{"ttl":"1h","type":"ephemeral"}`, llm.CachePrefix},
		"a model of such a name somewhere else": {"https://example.org/v1", "anthropic/claude", 0, "", llm.CachePrefix},
		"a provider that caches whole requests": {"https://api.deepseek.com/v1", "deepseek-v4", 0, "", llm.CacheUnits},
	} {
		m, got := send(t, c.base, openai.Options{Model: c.model, CacheTTL: c.ttl}, conversation(1))
		field(t, got.Body, "cache_control", c.want)
		check.Lacks(t, name, string(got.Raw), "prompt_cache_key", "prompt_cache_retention", "breakpoint")
		check.Equal(t, name+": protocol", got.Wire, llm.WireChat)
		check.Equal(t, name+": cache lifetime", m.CacheTTL(), max(c.ttl, 5*time.Minute))
		check.Equal(t, name+": cache rule", m.CacheRule(), c.rule)
	}
}
