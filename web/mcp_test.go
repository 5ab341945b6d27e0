package web

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/channel"
	"cairn/internal/check"
	"cairn/memory"
)

// withToken sends a token with each request.
type withToken struct {
	http.RoundTripper
	token string
}

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.token != "" {
		r.Header.Set("Authorization", "Bearer "+w.token)
	}
	return w.RoundTripper.RoundTrip(r)
}

// mcpClient connects to /mcp.
func (r *rig) mcpClient(token string) (*sdk.ClientSession, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	transport := &sdk.StreamableClientTransport{
		Endpoint: r.url + mcpPath, HTTPClient: &http.Client{Transport: withToken{r.client.Transport, token}}, DisableStandaloneSSE: true,
	}
	session, err := client.Connect(r.t.Context(), transport, nil)
	if err == nil {
		r.t.Cleanup(func() { _ = session.Close() })
	}
	return session, err
}

// called returns a tool's answer, which must match the tool's schema, as clients check.
func called(t *testing.T, s *sdk.ClientSession, tool string, arguments map[string]any) (text string, failed bool) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return err.Error(), true
	}
	text = result.Content[0].(*sdk.TextContent).Text
	if result.IsError {
		return text, true
	}
	tools := must(s.ListTools(t.Context(), nil)).Tools
	of := slices.IndexFunc(tools, func(one *sdk.Tool) bool { return one.Name == tool })
	var schema jsonschema.Schema
	check.NoError(t, json.Unmarshal(must(json.Marshal(tools[of].OutputSchema)), &schema))
	if err := must(schema.Resolve(nil)).Validate(result.StructuredContent); err != nil {
		t.Errorf("%s: %v\n%.500s", tool, err, text)
	}
	return text, false
}

// calls has a tool called that must succeed, and returns its answer, which must contain a text.
func calls(t *testing.T, s *sdk.ClientSession, tool string, arguments map[string]any, want string) string {
	t.Helper()
	text, failed := called(t, s, tool, arguments)
	check.That(t, !failed && strings.Contains(text, want), "%s: got %.300s, want %s", tool, text, want)
	return text
}

func TestMCPReadTools(t *testing.T) {
	r := newRig(t, rigOptions{})
	s := must(r.mcpClient(""))
	for _, tool := range []string{"conversations", "memory_list", "usage"} {
		calls(t, s, tool, nil, "[]") // of nothing
	}
	r.talk(here, 30)
	watch := r.watch("", "")
	r.do(202, nil, "POST", at(here, "/compact"), "")
	watch.until(t, `"state":"applied"`)
	if _, _, err := r.hub.Run(t.Context(), here, channel.Person{Manager: true}, "/remember the gate opens at noon"); err != nil {
		t.Fatal(err)
	}
	memories := get[memoryList](r, "/api/memories?q=gate+opens+noon&kind=fact")
	summaries := get[summaryList](r, at(here, "/summaries"))
	for tool, c := range map[string]struct {
		arguments map[string]any
		want      string
	}{
		"conversations": {nil, `"` + here + `"`},
		"recall":        {map[string]any{"conversation": here, "query": "gate"}, "the gate opens at noon"},
		"memory_list":   {map[string]any{"kind": "fact"}, "the gate opens at noon"},
		"memory_search": {map[string]any{"query": "gate", "kind": "fact"}, "the gate opens at noon"},
		"memory_show":   {map[string]any{"id": memories.Memories[0].ID}, "the gate opens at noon"},
		"summaries":     {map[string]any{"conversation": here}, `"stack":[{`},
		"expand":        {map[string]any{"conversation": here, "summary": summaries.Stack[0].ID, "limit": 2}, `"children"`},
		"usage":         {map[string]any{"by": "model"}, `"rows"`},
		"simulate":      {map[string]any{"conversation": here, "variants": []map[string]any{{"background_threshold": 0.6}}}, "background_threshold=0.6"},
	} {
		calls(t, s, tool, c.arguments, c.want)
	}
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		want      string
	}{
		{"recall", map[string]any{"conversation": "terminal:nowhere", "query": "x"}, "There is no conversation"},
		{"recall", map[string]any{"conversation": here, "query": " "}, "Name a question and a conversation."},
		{"memory_show", map[string]any{"id": 9999}, "nothing with that name or number"},
		{"memory_list", map[string]any{"limit": 201}, "limit"},
		{"memory_list", map[string]any{"limit": "many"}, "limit"},
		{"memory_show", map[string]any{}, "id"},
		{"memory_list", map[string]any{"kind": "wish"}, "wish does not equal any of"},
		{"memory_list", map[string]any{"knd": "fact"}, "knd"},
		{"simulate", map[string]any{"conversation": here, "variants": []map[string]any{{"no_such": 1}}}, "no_such"},
		{"memory_save", map[string]any{"conversation": here, "content": "I own this bot"}, "memory_save"}, // it only reads
	} {
		if text, failed := called(t, s, c.tool, c.arguments); !failed || !strings.Contains(text, c.want) || strings.Contains(text, "GET ") || strings.Contains(text, "/api/") {
			t.Errorf("%s %v: got %.300s", c.tool, c.arguments, text)
		}
	}
	tools := must(s.ListTools(t.Context(), nil)).Tools
	if slices.ContainsFunc(tools, func(tool *sdk.Tool) bool { return !tool.Annotations.ReadOnlyHint }) || len(tools) != 9 {
		t.Errorf("%d tools, or one of them writes", len(tools))
	}
}

func TestMCPResources(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.talk(here, 1)
	s := must(r.mcpClient(""))
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
		if text, err := read(uri); err == nil {
			t.Errorf("%s: %.100s", uri, text)
		}
	}
	check.Len(t, "templates", must(s.ListResourceTemplates(context.Background(), nil)).ResourceTemplates, 5)
}

func TestMCPWriteTools(t *testing.T) {
	r := newRig(t, rigOptions{mcpWrites: true, token: "a-long-secret-token"})
	r.talk(here, 8)
	if _, err := r.mcpClient("wrong"); err == nil {
		t.Error("a wrong token is accepted")
	}
	s := must(r.mcpClient("a-long-secret-token"))
	save := map[string]any{"conversation": here, "content": "Ada prefers green tea in the garden", "kind": "preference"}
	var saved memory.Details
	check.NoError(t, json.Unmarshal([]byte(calls(t, s, "memory_save", save, "")), &saved))
	check.Equal(t, "the kind", saved.Kind, "preference")
	if text, failed := called(t, s, "memory_save", map[string]any{"conversation": here, "content": "x", "kind": "wish"}); !failed || !strings.Contains(text, "wish") {
		t.Errorf("got %s", text)
	}
	calls(t, s, "memory_forget", map[string]any{"id": saved.ID}, `"state":"forgotten"`)
	watch := r.watch("", "", "Authorization: Bearer a-long-secret-token")
	calls(t, s, "compact", map[string]any{"conversation": here, "focus": "the gate", "keep_last_n": 2}, `"state":"started"`)
	watch.until(t, `"state":"applied"`)
}

func TestMCPRefusesOtherOrigins(t *testing.T) {
	r := newRig(t, rigOptions{})
	hello := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, header := range []string{"Origin: http://evil.example", "Sec-Fetch-Site: cross-site", "Host: evil.example"} {
		if resp := r.request("POST", mcpPath, hello, "Accept: application/json, text/event-stream", header); resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusMisdirectedRequest {
			t.Errorf("%s: %d", header, resp.StatusCode)
		}
	}
}
