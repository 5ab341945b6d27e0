package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"cairn/internal/check"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestSchemasAreAcceptedByAllProviders(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "s"}, nil)
	for name, schema := range map[string]string{
		"bare":  `{"type":"object"}`,
		"some":  `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a"]}`,
		"union": `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`,
	} {
		server.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(schema)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{}, nil
		})
	}
	h, _ := start(t, Server{ID: "s", URL: overHTTP(t, server), Allow: []string{"bare", "some", "union"}})
	want := map[string]string{
		"s_bare":  `{"properties":{},"type":"object"}`,
		"s_some":  `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a"],"type":"object"}`,
		"s_union": `{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"type":"object"}`,
	}
	for _, tool := range h.Tools([]string{"s"}) {
		check.Equal(t, tool.Name, string(tool.Parameters), want[tool.Name])
	}
	check.Len(t, "tools", h.Tools([]string{"s"}), 3)
}

// Many providers put the key into the address.
func TestAddressOfServerStaysSecret(t *testing.T) {
	server := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return calculator() }, &sdk.StreamableHTTPOptions{Stateless: true}))
	dead := Server{ID: "calc", URL: server.URL + "/s/hush1?apiKey=hush2", Allow: allowed}
	h, log := start(t, dead)
	server.CloseClientConnections()
	server.Close()
	_, err := h.run(t, "calc_add", `{"A":1,"B":2}`)
	check.ErrorContains(t, "what the model reads", err, "connection refused")
	dead.Timeout = time.Minute
	h.Update([]Server{dead})
	check.NoError(t, h.Tried(t.Context(), []string{"calc"}))
	check.Contains(t, "status", h.Status()[0].Error, "connection refused")
	check.Lacks(t, "what the model reads, the status and the log", err.Error()+h.Status()[0].Error+log.String(), "hush")
}
