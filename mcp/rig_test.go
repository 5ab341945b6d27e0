package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
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
	case mode == "hostile":
		_ = hostile().Run(context.Background(), &sdk.StdioTransport{})
	case mode == "hostile over HTTP":
		_ = serveHostile()
	case mode != "":
		_ = calculator().Run(context.Background(), &sdk.StdioTransport{})
	default:
		check.InMemory()
		_ = flag.Set("test.parallel", "16") // these tests wait more than they compute
		endTimeout, writeTimeout, relistPause = 200*time.Millisecond, 500*time.Millisecond, 300*time.Millisecond
		goleak.VerifyTestMain(m)
	}
}

type sum struct{ A, B int }

// calculator is a server with good and bad tools.
func calculator() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "calculator"}, nil)
	text := func(text string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
	}
	add := func(name, description string, run func(ctx context.Context, in sum) (*sdk.CallToolResult, error)) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: description}, func(ctx context.Context, _ *sdk.CallToolRequest, in sum) (*sdk.CallToolResult, any, error) {
			result, err := run(ctx, in)
			return result, nil, err
		})
	}
	add("add", strings.Repeat("Adds two numbers. ", 200), func(_ context.Context, in sum) (*sdk.CallToolResult, error) {
		return text(fmt.Sprint(in.A + in.B)), nil
	})
	add("fail", "", func(context.Context, sum) (*sdk.CallToolResult, error) { return nil, errors.New("division by zero") })
	add("hang", "", func(ctx context.Context, _ sum) (*sdk.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	add("die", "", func(context.Context, sum) (*sdk.CallToolResult, error) {
		os.Exit(1)
		return nil, nil
	})
	add("flood", "", func(context.Context, sum) (*sdk.CallToolResult, error) {
		return text(strings.Repeat("flood ", 1<<14)), nil
	})
	add("picture", "", func(context.Context, sum) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{Data: []byte("grey"), MIMEType: "image/png"}, &sdk.TextContent{Text: "a \x1b[31mred\x00 square"}}}, nil
	})
	add("secret", "", func(context.Context, sum) (*sdk.CallToolResult, error) {
		return text(strings.Join(os.Environ(), "\n")), nil
	})
	add("delete_everything", "", func(context.Context, sum) (*sdk.CallToolResult, error) { return text("gone"), nil })
	return s
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

// calculatorProgram is the calculator as a separate program.
func calculatorProgram(t *testing.T) Server {
	t.Helper()
	return Server{ID: "calc", Command: []string{check.Must(os.Executable())(t), "-test.run=^$"}, Allow: allowed, Env: map[string]string{serverVariable: "1", "OWN": "own value"}}
}

func start(t *testing.T, servers ...Server) (*Host, *check.Buffer) {
	t.Helper()
	log := &check.Buffer{}
	h := Start(servers, "test", nil, slog.New(slog.NewTextHandler(log, nil)))
	t.Cleanup(h.Close)
	check.NoError(t, h.Tried(t.Context(), h.ids()))
	check.Require(t, h.connected(), "%s", log)
	return h, log
}

func (h *Host) run(t *testing.T, tool, arguments string) (string, error) {
	t.Helper()
	for _, one := range h.Tools(h.ids()) {
		if one.Name == tool {
			return one.Run(t.Context(), json.RawMessage(arguments))
		}
	}
	t.Fatalf("got no tool %s", tool)
	return "", nil
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
