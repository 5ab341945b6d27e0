package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/memory"
	"cairn/testkit/check"
)

// roundTrip sends a request.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// mcpClient connects to /mcp.
func (r *rig) mcpClient(token string) (*sdk.ClientSession, error) {
	client := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		req.Header.Set("Authorization", "Bearer "+token)
		return r.client.RoundTrip(req)
	})}
	transport := &sdk.StreamableClientTransport{Endpoint: r.url + mcpPath, HTTPClient: client, DisableStandaloneSSE: true}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(r.t.Context(), transport, nil)
	if err == nil {
		r.t.Cleanup(func() { _ = session.Close() })
	}
	return session, err
}

// calls has a tool called, and returns its answer, which must contain a text, and match the tool's schema, as
// clients check. "refused: " before the text means that the call must fail with it.
func calls(t *testing.T, s *sdk.ClientSession, tool string, arguments any, want string) string {
	t.Helper()
	result, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	text := fmt.Sprint(err)
	failed := err != nil || result.IsError
	if err == nil {
		text = result.Content[0].(*sdk.TextContent).Text
	}
	words, refused := strings.CutPrefix(want, "refused: ")
	check.Require(t, failed == refused && strings.Contains(text, words), "%s %v: got %.300s, want %s", tool, arguments, text, want)
	if failed {
		check.Lacks(t, tool, text, "GET ", "/api/")
		return text
	}
	tools := must(s.ListTools(t.Context(), nil)).Tools
	of := slices.IndexFunc(tools, func(one *sdk.Tool) bool { return one.Name == tool })
	var schema jsonschema.Schema
	check.NoError(t, json.Unmarshal(must(json.Marshal(tools[of].OutputSchema)), &schema))
	err = must(schema.Resolve(nil)).Validate(result.StructuredContent)
	check.That(t, err == nil, "%s: %v\n%.500s", tool, err, text)
	return text
}

type given = map[string]any // to a tool

func TestMCPReadTools(t *testing.T) {
	r := newRig(t, rigOptions{})
	s := must(r.mcpClient(""))
	for _, tool := range []string{"conversations", "memory_list", "usage"} {
		calls(t, s, tool, nil, "[]") // of nothing
	}
	r.talk(here, 8)
	r.do(202, nil, "POST "+at(here, "/compact"), "")
	r.drain()
	r.remember("the gate opens at noon")
	memory := get[MemoryList](r, "/api/memories?q=gate+opens+noon&kind=fact").Memories[0]
	summary := get[summaryList](r, at(here, "/summaries")).Stack[0]
	calls(t, s, "conversations", nil, `"`+here+`"`)
	calls(t, s, "recall", given{"conversation": here, "query": "gate"}, "the gate opens at noon")
	calls(t, s, "recall", given{"conversation": "terminal:nowhere", "query": "x"}, "refused: There is no conversation")
	calls(t, s, "recall", given{"conversation": here, "by": "assistant", "order": "oldest", "since": "yesterday"}, `"messages":[{`)
	calls(t, s, "recall", given{"conversation": here, "by": "Eve"}, "refused: nobody here is called")
	calls(t, s, "recall", given{"conversation": here, "query": " "}, "refused: Name a conversation, and a question")
	calls(t, s, "memory_list", given{"kind": "fact"}, "the gate opens at noon")
	calls(t, s, "memory_list", given{"limit": 201}, "refused: limit")
	calls(t, s, "memory_list", given{"limit": "many"}, "refused: limit")
	calls(t, s, "memory_list", given{"kind": "wish"}, "refused: wish does not equal any of")
	calls(t, s, "memory_list", given{"knd": "fact"}, "refused: knd")
	calls(t, s, "memory_search", given{"query": "gate", "kind": "fact"}, "the gate opens at noon")
	r.people()
	calls(t, s, "person", given{"conversation": of, "person": "1"}, `"ended":"2022-05"`)
	calls(t, s, "person", given{"conversation": of, "person": "Eve"}, "refused: nobody here is called")
	calls(t, s, "recall", given{"conversation": of, "query": "home Oslo", "by": "1"}, `"state":"superseded"`)
	calls(t, s, "memory_show", given{"id": memory.ID}, "the gate opens at noon")
	calls(t, s, "memory_show", given{"id": 9999}, "refused: There is nothing with that name or number")
	calls(t, s, "memory_show", given{}, "refused: id")
	calls(t, s, "summaries", given{"conversation": here}, `"stack":[{`)
	calls(t, s, "expand", given{"conversation": here, "summary": summary.ID, "limit": 2}, `"children"`)
	calls(t, s, "usage", given{"by": "model"}, `"rows"`)
	calls(t, s, "simulate", given{"conversation": here, "variants": []given{{"settings": given{"background_threshold": 0.6}}}},
		"background_threshold=0.6")
	calls(t, s, "simulate", given{"conversation": here, "variants": []given{{"settings": given{"no_such": 1}}}}, "refused: no_such")
	calls(t, s, "memory_save", given{"conversation": here, "content": "I own this bot"}, "refused: memory_save") // it only reads

	long := mcpTools{api: func(context.Context, string, string, url.Values, any) (json.RawMessage, error) {
		return make(json.RawMessage, maxMCPAnswer+1), nil
	}}
	check.ErrorContains(t, "a long answer", check.ErrorOf(long.ask(t.Context(), "GET", "", nil, nil)), "ask for less with limit")
	tools := must(s.ListTools(t.Context(), nil)).Tools
	check.Equal(t, "tools", len(tools), 10)
	check.That(t, !slices.ContainsFunc(tools, func(tool *sdk.Tool) bool { return !tool.Annotations.ReadOnlyHint }), "one of them writes")

	read := func(uri string) (string, error) {
		result, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: resourceScheme + uri})
		if err != nil {
			return "", err
		}
		check.Equal(t, "who may cache "+uri, result.CacheScope, "private")
		return result.Contents[0].Text, nil
	}
	check.Contains(t, "conversations", must(read("conversations")), here)
	one := strings.ReplaceAll(strings.TrimPrefix(apiOf(here), "/api/"), ":", "%3A") // as a template is expanded
	check.Contains(t, "messages", must(read(one+"/messages")), `"seq":`)
	for _, uri := range []string{"events", "openapi.json", "conversations/nowhere", "conversations/..", "conversations/../memories", "conversations/" + here + "/..", "memories/0", one + "/settings"} {
		text, err := read(uri)
		check.That(t, err != nil, "%s: %.100s", uri, text)
	}
	check.Len(t, "templates", must(s.ListResourceTemplates(t.Context(), nil)).ResourceTemplates, 6)
}

func TestMCPWriteTools(t *testing.T) {
	r := newRig(t, rigOptions{mcpWrites: true, token: "a-long-secret-token"})
	r.talk(here, 8)
	check.That(t, check.ErrorOf(r.mcpClient("wrong")) != nil, "a wrong token is accepted")
	s := must(r.mcpClient("a-long-secret-token"))
	save := given{"conversation": here, "content": "Ada prefers green tea in the garden", "kind": "preference"}
	var saved memory.Details
	check.NoError(t, json.Unmarshal([]byte(calls(t, s, "memory_save", save, "")), &saved))
	check.Equal(t, "the kind", saved.Kind, "preference")
	calls(t, s, "memory_save", given{"conversation": here, "content": "x", "kind": "wish"}, "refused: wish")
	calls(t, s, "memory_forget", given{"id": saved.ID}, `"state":"forgotten"`)
	calls(t, s, "compact", given{"conversation": here, "focus": "the gate", "keep_last_n": 2}, `"state":"started"`)
	r.drain()
	calls(t, s, "summaries", given{"conversation": here}, `"stack":[{`)
	for _, header := range []string{"Origin: http://evil.example", "Sec-Fetch-Site: cross-site", "Host: evil.example"} {
		resp := r.request("POST", mcpPath, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Accept: application/json, text/event-stream", "Authorization: Bearer a-long-secret-token", header)
		check.That(t, resp.StatusCode == http.StatusForbidden || resp.StatusCode == http.StatusMisdirectedRequest, "%s: %s", header, resp.Status)
	}
}
