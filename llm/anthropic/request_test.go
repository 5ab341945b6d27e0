package anthropic_test

import (
	"strings"
	"testing"
	"time"

	"cairn/internal/check"
	"cairn/llm"
	"cairn/llm/anthropic"
	"cairn/llm/llmtest"
)

// sent returns the only request that req makes.
func sent(t *testing.T, req llm.Request, options anthropic.Options) llmtest.Request {
	t.Helper()
	server := llmtest.Serve(t, ok)
	check.NoError(t, check.ErrorOf(connect(t, server, options).Generate(t.Context(), req, nil)))
	check.Len(t, "requests", server.Requests(), 1)
	return server.Requests()[0]
}

var picture = []byte("\x89PNG\r\n\x1a\n")

func TestRequestTranslation(t *testing.T) {
	got := sent(t, llm.Request{
		Messages: []llm.Message{
			{Role: llm.RoleSystem, Text: "be kind"},
			{Role: llm.RoleUser, Text: "one"},
			{Role: llm.RoleUser, Text: "two <b>", Images: []llm.Image{{Data: picture, Label: "image of #2"}, {Data: []byte("%PDF-1.4"), Label: "page"}}},
			{Role: llm.RoleAssistant, Text: "I look", Calls: []llm.Call{{ID: "a", Name: "f"}, {ID: "b", Name: "f", Arguments: `{"broken":`}, {ID: "c", Name: "f", Arguments: `[1]`}}},
			{Role: llm.RoleTool, CallID: "a", Tool: "f", Text: ""},
			{Role: llm.RoleTool, CallID: "b", Tool: "f", Text: "Error: …"},
			{Role: llm.RoleTool, CallID: "c", Tool: "f", Text: "3"},
			{Role: llm.RoleUser, Text: "and?"},
		},
		Tools:     []llm.Tool{{Name: "f", Description: "does f"}},
		ForceTool: "f",
	}, anthropic.Options{})
	for name, want := range map[string]string{
		"model": `"test-model"`, "max_tokens": "4096", "stream": "true",
		"tool_choice": `{"name":"f","type":"tool"}`,
		"tools":       `[{"name":"f","description":"does f","input_schema":{"type":"object","properties":{}}}]`,
		"system":      `[{"type":"text","text":"be kind","cache_control":{"type":"ephemeral"}}]`,
		"messages": `[{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"[image of #2]"},` +
			`{"type":"image","source":{"data":"iVBORw0KGgo=","media_type":"image/png","type":"base64"}},` +
			`{"type":"text","text":"two <b>\n\n[page, not shown]","cache_control":{"type":"ephemeral"}}]},` +
			`{"role":"assistant","content":[{"type":"text","text":"I look"},{"type":"tool_use","id":"a","name":"f","input":{}},` +
			`{"type":"tool_use","id":"b","name":"f","input":{"invalid":"{\"broken\":"}},{"type":"tool_use","id":"c","name":"f","input":{"invalid":"[1]"}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},{"type":"tool_result","tool_use_id":"b","content":"Error: …"},` +
			`{"type":"tool_result","tool_use_id":"c","content":"3"},{"type":"text","text":"and?","cache_control":{"type":"ephemeral"}}]}]`,
	} {
		check.Equal(t, name, string(got.Body[name]), want)
	}
}

func TestCacheMarksAreOnStablePrefix(t *testing.T) {
	user, assistant, tool := llm.RoleUser, llm.RoleAssistant, llm.RoleTool
	system := llm.Message{Role: llm.RoleSystem, Text: "system"}
	call := []llm.Call{{ID: "a", Name: "f", Arguments: "{}"}}
	for name, c := range map[string]struct {
		messages []llm.Message
		tools    []llm.Tool
		head     int
		want     string
	}{
		"the first message":       {[]llm.Message{system, {Role: user, Text: "1"}}, nil, 1, "system 1"},
		"without a system prompt": {[]llm.Message{{Role: user, Text: "1"}}, []llm.Tool{{Name: "f"}, {Name: "g"}}, 0, `{"input_schema":{"type":"object","properties":{}},"name":"g"} 1`},
		"the head":                {[]llm.Message{system, {Role: user, Text: "summary"}, {Role: user, Text: "1"}}, nil, 2, "system summary 1"},
		"the request before":      {[]llm.Message{system, {Role: user, Text: "1"}, {Role: assistant, Text: "2"}, {Role: user, Text: "3"}}, nil, 1, "system 1 3"},
		"all four":                {[]llm.Message{system, {Role: user, Text: "h"}, {Role: user, Text: "1"}, {Role: assistant, Text: "2"}, {Role: user, Text: "3"}}, nil, 2, "system h 1 3"},
		"a tool step":             {[]llm.Message{system, {Role: user, Text: "1"}, {Role: assistant, Calls: call}, {Role: tool, CallID: "a", Text: "x"}}, []llm.Tool{{Name: "f"}}, 1, "system 1 a x"},
		"a message that is empty": {[]llm.Message{system, {Role: user, Text: "1"}, {Role: assistant, Text: "2"}, {Role: user, Text: " "}, {Role: user, Text: "4"}}, nil, 1, "system 1 4"},
	} {
		got := sent(t, llm.Request{Messages: c.messages, Tools: c.tools, Head: c.head}, anthropic.Options{})
		check.Equal(t, name+": texts with a mark", strings.Join(got.Marked(), " "), c.want)
	}
	for set, long := range map[time.Duration]bool{0: false, time.Minute: false, 5 * time.Minute: false, 6 * time.Minute: true, 24 * time.Hour: true} {
		got := sent(t, hello, anthropic.Options{CacheTTL: set})
		check.Equal(t, set.String()+": marks for an hour", strings.Contains(string(got.Body["messages"]), `"cache_control":{"ttl":"1h","type":"ephemeral"}`), long)
		ttl := check.Must(anthropic.New(anthropic.Options{CacheTTL: set}))(t).CacheTTL()
		check.Equal(t, set.String(), ttl, map[bool]time.Duration{true: time.Hour, false: 5 * time.Minute}[long])
	}
}
