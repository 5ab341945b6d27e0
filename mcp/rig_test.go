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
		serveHostile()
	case mode != "":
		_ = calculator().Run(context.Background(), &sdk.StdioTransport{})
	default:
		check.InMemory()
		_ = flag.Set("test.parallel", "16") // these tests wait more than they compute
		endTimeout, writeTimeout = 200*time.Millisecond, 300*time.Millisecond
		relistPause, retryPause = 300*time.Millisecond, 50*time.Millisecond
		_ = os.Setenv("OPENAI_API_KEY", "sk-hush")
		goleak.VerifyTestMain(m)
	}
}

type sum struct{ A, B int }

// calculator is a server with good and bad tools.
func calculator() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "calculator"}, nil)
	add := func(name, description string, run func(ctx context.Context, in sum) (*sdk.CallToolResult, error)) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: description}, func(ctx context.Context, _ *sdk.CallToolRequest, in sum) (*sdk.CallToolResult, any, error) {
			result, err := run(ctx, in)
			return result, nil, err
		})
	}
	add("add", strings.Repeat("Adds two numbers. ", 200), func(_ context.Context, in sum) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint(in.A + in.B)}}}, nil
	})
	say := func(name string, content ...sdk.Content) {
		add(name, "", func(context.Context, sum) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: content}, nil
		})
	}
	say("flood", &sdk.TextContent{Text: strings.Repeat("flood ", 1<<14)})
	say("picture", &sdk.ImageContent{Data: []byte("grey"), MIMEType: "image/png"}, &sdk.TextContent{Text: "a \x1b[31mred\x00 square"})
	say("secret", &sdk.TextContent{Text: strings.Join(os.Environ(), "\n")})
	say("delete_everything", &sdk.TextContent{Text: "gone"})
	add("fail", "", func(context.Context, sum) (*sdk.CallToolResult, error) { return nil, errors.New("division by zero") })
	add("hang", "", func(ctx context.Context, _ sum) (*sdk.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	add("die", "", func(context.Context, sum) (*sdk.CallToolResult, error) {
		os.Exit(1)
		return nil, nil
	})
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
