package mcp

import (
	"context"
	"encoding/json"
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// serverVariable makes the test binary an MCP server over standard input and output.
const serverVariable = "CAIRN_TEST_MCP_SERVER"

func TestMain(m *testing.M) {
	switch mode := os.Getenv(serverVariable); {
	case strings.HasPrefix(mode, "deaf: "):
		serveDeaf(mode[len("deaf: "):])
	case mode == "over HTTP":
		serveOverHTTP()
	case mode != "":
		_ = newServer().Run(context.Background(), &sdk.StdioTransport{})
	default:
		check.InMemory()
		_ = flag.Set("test.parallel", "16") // these tests wait more than they compute
		endTimeout, writeTimeout = 200*time.Millisecond, 300*time.Millisecond
		relistPause, retryPause = 300*time.Millisecond, 50*time.Millisecond
		_ = os.Setenv("OPENAI_API_KEY", "sk-hush")
		goleak.VerifyTestMain(m)
	}
}

var allowed = []string{"add", "fail", "hang", "die", "flood", "picture", "secret", "no_such_tool"}

// overHTTP serves s until the test ends.
func overHTTP(t *testing.T, s *sdk.Server) string {
	t.Helper()
	server := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL
}

// programOf is the server as a separate program.
func programOf(t *testing.T, mode string) Server {
	command := []string{check.Must(os.Executable())(t), "-test.run=^$"}
	return Server{ID: "calc", Command: command, Allow: allowed, Env: map[string]string{serverVariable: mode, "OWN": "own value"}}
}

func start(t *testing.T, servers ...Server) (*Host, *check.Buffer) {
	t.Helper()
	log := &check.Buffer{}
	h := Start(servers, "test", nil, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	t.Cleanup(h.Close)
	check.NoError(t, h.Tried(t.Context(), h.ids()))
	check.Require(t, h.connected(), "%s", log)
	return h, log
}

func (h *Host) run(t *testing.T, tool, arguments string) (string, error) {
	t.Helper()
	tools := h.Tools(h.ids())
	of := slices.IndexFunc(tools, func(one Tool) bool { return one.Name == tool })
	check.Require(t, of >= 0, "got no tool %s", tool)
	return tools[of].Run(t.Context(), json.RawMessage(arguments))
}

// connected reports whether all servers are.
func (h *Host) connected() bool {
	return !slices.ContainsFunc(h.Status(), func(s Status) bool { return !s.Connected })
}

func (h *Host) ids() (ids []string) {
	for _, c := range h.all() {
		ids = append(ids, c.ID)
	}
	return ids
}
