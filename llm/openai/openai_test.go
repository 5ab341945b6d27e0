package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"cairn/llm"
	"cairn/llm/openai"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

var png = []byte("\x89PNG\x0D\x0A\x1A\x0A and the rest")

func TestRequests(t *testing.T) {
	pictures := []llm.Image{{Data: png}} // which only users and tools show
	req := llm.Request{
		Messages: []llm.Message{
			{Role: llm.RoleSystem, Text: "be kind", Images: pictures},
			{Role: llm.RoleUser, Text: "one"},
			{Role: llm.RoleUser, Text: "two <b>"},
			{Role: llm.RoleAssistant, Text: "I look.", Calls: []llm.Call{{ID: "a", Name: "f", Arguments: `{"x":1}`}, {ID: "b", Name: "f", Arguments: `{"broken":`}}, Images: pictures},
			{Role: llm.RoleTool, CallID: "a", Tool: "f", Text: "found", Images: pictures},
			{Role: llm.RoleTool, CallID: "b", Tool: "f", Text: "Error: …"},
			{Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "c", Name: "g"}}},
			{Role: llm.RoleTool, CallID: "c", Tool: "g"},
			{Role: llm.RoleAssistant, Text: "So."},
			{Role: llm.RoleUser, Text: "look", Images: []llm.Image{{Label: "image of #1"}, {Label: "cat.png", Data: png}, {Type: "image/png", Data: []byte("<svg></svg>")}}},
		},
		Tools:     []llm.Tool{{Name: "f", Description: "does f"}, {Name: "g", Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}}}`)}},
		ForceTool: "g", MaxTokens: 5, Reasoning: "low", CacheKey: "key", // 5, and room for reasoning
	}
	for _, wire := range []string{llm.WireChat, llm.WireResponses} {
		_, got := send(t, openai.Options{APIKey: "secret", Wire: wire}, req)
		check.Equal(t, "key", got.Header.Get("Authorization"), "Bearer secret")
		var file bytes.Buffer
		var want map[string]json.RawMessage
		check.NoError(t, json.Compact(&file, check.Must(os.ReadFile("testdata/"+wire+".json"))(t)))
		check.NoError(t, json.Unmarshal(file.Bytes(), &want))
		check.Equal(t, wire+": fields", len(got.Body), len(want))
		for name, value := range want {
			check.Equal(t, wire+": "+name, string(got.Body[name]), string(value))
		}
	}
}

func TestToolCallsAreAssembledFromAnyFragments(t *testing.T) {
	const f, fx, fg = "[{a f {}}]", `[{call_0 f {"x":1}}]`, "[{a f {}} {b g {}}]"
	type fragments []string
	for _, c := range []struct {
		name, want string
		sent       fragments
	}{
		{"by index", `[{a f {"x":1}} {b g {"y":2}}]`, fragments{
			`{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}`,
			`{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{\"y\""}}`,
			`{"index":0,"function":{"arguments":"{\"x\":1}"}}`, `{"index":1,"function":{"arguments":":2}"}}`,
		}},
		{"without an index", fg, fragments{
			`{"id":"a","function":{"name":"f","arguments":"{"}}`, `{"function":{"arguments":"}"}}`,
			`{"id":"b","function":{"name":"g","arguments":"{"}}`, `{"id":"b","function":{"arguments":"}"}}`,
		}},
		{"without either", "[{call_0 f {}} {call_1 g {}}]", fragments{
			`{"function":{"name":"f","arguments":"{"}}`, `{"function":{"arguments":"}"}}`, `{"function":{"name":"g","arguments":"{}"}}`,
		}},
		{"all at index 0", fg, fragments{
			`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`, `{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}`,
		}},
		{"all at index 0, without ids", `[{call_0 f {"x":1}} {call_1 f {"x":2}}]`, fragments{ // Gemini
			`{"index":0,"id":"","function":{"name":"f","arguments":"{\"x\":1}"}}`,
			`{"index":0,"id":"","function":{"name":"f","arguments":"{\"x\""}}`, `{"index":0,"function":{"arguments":":2}"}}`,
		}},
		{"the name again in each", f, fragments{
			`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}`, `{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}`,
		}},
		{"the name again in each, without ids", fx, fragments{
			`{"index":0,"function":{"name":"f","arguments":"{"}}`, `{"index":0,"function":{"name":"f","arguments":"\"x\":1"}}`,
			`{"index":0,"function":{"name":"f","arguments":"}"}}`,
		}},
		{"another id in each", f, fragments{ // vLLM, older
			`{"index":0,"id":"a","function":{"name":"f"}}`, `{"index":0,"id":"b","function":{"arguments":"{"}}`, `{"index":0,"id":"c","function":{"arguments":"}"}}`,
		}},
	} {
		resp := check.Must(ask(t, openai.Options{}, func(x *llmtest.Exchange) {
			for _, fragment := range c.sent {
				x.Chunk(`{"choices":[{"index":0,"delta":{"tool_calls":[%s]}}]}`, fragment)
			}
			x.Done()
		}))(t)
		check.Equal(t, c.name, fmt.Sprint(resp.Message.Calls), c.want)
		check.Equal(t, c.name+": finish reason", resp.FinishReason, llm.FinishToolCalls)
	}
	resp := check.Must(ask(t, openai.Options{}, func(x *llmtest.Exchange) {
		x.Refuse(http.StatusOK, "", `{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)
	}))(t)
	check.Equal(t, "in an answer of one piece", fmt.Sprint(resp.Message.Calls), fg)
}

// TestFailedAttemptsReportTheirUsage: the provider bills them.
func TestFailedAttemptsReportTheirUsage(t *testing.T) {
	ask := func(t *testing.T, answer func(*llmtest.Exchange)) (reported []llm.Usage, resp llm.Response, err error) {
		req := hello
		req.Failed = func(u llm.Usage) { reported = append(reported, u) }
		resp, err = connect(t, llmtest.Serve(t, answer), openai.Options{MaxRetries: 3}).Generate(t.Context(), req, nil)
		return reported, resp, err
	}
	usage := func(x *llmtest.Exchange, prompt int) {
		x.Chunk(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}`, prompt)
	}
	reported, resp, err := ask(t, func(x *llmtest.Exchange) { // before one that succeeds, whose usage is the response's alone
		usage(x, 10*x.N)
		if x.N < 3 {
			x.Write("data: {broken\n\n")
			return
		}
		x.Piece("fine")
		x.Finish("stop")
		usage(x, 30)
		x.Done()
	})
	check.That(t, err == nil && resp.Usage.Prompt == 30, "response %+v, %v", resp.Usage, err)
	check.EqualAll(t, "reported", reported, []llm.Usage{{Prompt: 10, Completion: 2, Cached: 4}, {Prompt: 20, Completion: 2, Cached: 4}})
	reported, _, err = ask(t, func(x *llmtest.Exchange) { // also the last one
		usage(x, 10)
		x.Chunk(`{"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`)
	})
	check.That(t, err != nil && len(reported) == 4, "reported %+v, %v", reported, err)
	reported, _, err = ask(t, func(x *llmtest.Exchange) { x.Refuse(400, "", "no") }) // without the server's count
	check.That(t, err != nil && len(reported) == 0, "reported %+v, %v", reported, err)
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
	keyed := fields{"prompt_cache_key": `"conversation-1"`}
	retained := fields{"prompt_cache_key": `"conversation-1"`, "prompt_cache_retention": `"24h"`}
	chat := fields{"prompt_cache_key": `"conversation-1"`, "prompt_cache_retention": `"24h"`, "max_completion_tokens": "100"}
	other := fields{"prompt_cache_key": `"conversation-1"`, "max_tokens": "100"}
	marked := fields{"prompt_cache_key": `"conversation-1"`, "max_tokens": "100", "cache_control": `{"type":"ephemeral"}`}
	longer := fields{"prompt_cache_key": `"conversation-1"`, "max_tokens": "100", "cache_control": `{"ttl":"1h","type":"ephemeral"}`}
	for name, c := range map[string]struct {
		options openai.Options
		wire    string
		marked  bool
		fields  fields // of those that some have
		ttl     time.Duration
		rule    string
	}{
		"gpt-6-astra":                           {openai.Options{BaseURL: atOpenAI, Model: "gpt-6-astra"}, llm.WireResponses, true, keyed, 30 * time.Minute, llm.CacheBreakpoints},
		"gpt-5.6-terra":                         {openai.Options{BaseURL: atOpenAI, Model: "gpt-5.6-terra"}, llm.WireResponses, true, keyed, 30 * time.Minute, llm.CacheBreakpoints},
		"gpt-5.5":                               {openai.Options{BaseURL: atOpenAI, Model: "gpt-5.5"}, llm.WireResponses, false, retained, 24 * time.Hour, llm.CachePrefix},
		"gpt-4.1":                               {openai.Options{BaseURL: atOpenAI, Model: "gpt-4.1"}, llm.WireResponses, false, retained, 24 * time.Hour, llm.CachePrefix},
		"a small model":                         {openai.Options{BaseURL: atOpenAI, Model: "gpt-5-mini"}, llm.WireResponses, false, keyed, short, llm.CachePrefix},
		"a tuned model":                         {openai.Options{BaseURL: atOpenAI, Model: "ft:gpt-5.6:mine"}, llm.WireResponses, false, keyed, short, llm.CachePrefix},
		"OpenAI on chat":                        {openai.Options{BaseURL: atOpenAI, Model: "gpt-5.1", Wire: llm.WireChat}, llm.WireChat, false, chat, 24 * time.Hour, llm.CachePrefix},
		"Claude behind OpenRouter":              {openai.Options{BaseURL: openRouter, Model: claude}, llm.WireChat, false, marked, short, llm.CachePrefix},
		"Claude behind OpenRouter for an hour":  {openai.Options{BaseURL: openRouter, Model: claude, CacheTTL: time.Hour}, llm.WireChat, false, longer, time.Hour, llm.CachePrefix},
		"a model of such a name somewhere else": {openai.Options{BaseURL: "https://example.org/v1", Model: claude}, llm.WireChat, false, other, short, llm.CachePrefix},
		"Mistral":                               {openai.Options{BaseURL: "https://api.mistral.ai/v1"}, llm.WireChat, false, other, short, llm.CachePrefix},
		"xAI":                                   {openai.Options{BaseURL: "https://api.x.ai/v1", Model: "grok-4.7"}, llm.WireResponses, false, keyed, short, llm.CachePrefix},
		"xAI in Europe":                         {openai.Options{BaseURL: "https://eu-west-1.api.x.ai/v1", Model: "grok-4.7"}, llm.WireResponses, false, keyed, short, llm.CachePrefix},
		"a provider that caches whole requests": {openai.Options{BaseURL: "https://api.deepseek.com/v1"}, llm.WireChat, false, other, short, llm.CacheUnits},
	} {
		req := conversation(1)
		marked := ""
		req.MaxTokens = 100
		if c.marked {
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
