package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"cairn/internal/check"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestInvalidMCPLinesAreAnswered(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, c := range []struct {
		name, line, want string
	}{
		{"no JSON", `{"jsonrpc":`, `"code":-32700`},
		{"text", "hello", `"id":null`},
		{"two values", ping + " " + ping, `"code":-32700`},
		{"a batch", "[" + ping + "]", "batches are not supported"},
		{"a number", "7", `"code":-32600`},
		{"no version", `{"id":"a","method":"ping"}`, `"id":"a"`},
		{"a method that is a number", `{"jsonrpc":"2.0","id":4,"method":5}`, `"id":4`},
		{"a large id", `{"id":12345678901234567890,"method":"ping"}`, `"id":12345678901234567890`},
		{"an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `"id":null`},
		{"too long", strings.Repeat("x", 4<<20+1), "more than 4 MB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			passed, answers := exchanged(t, c.line+"\r\n\n"+ping+" \n"+c.line)
			check.Equal(t, "passed messages", passed, 1)
			lines := strings.Split(strings.TrimSpace(answers), "\n")
			check.Len(t, "answered", lines, 3)
			check.Contains(t, "second answer", lines[1], `"result":{}`)
			check.Contains(t, "third answer", lines[2], c.want)
		})
	}
}

// exchanged reads a client's input to its end, answers each call, and returns the number of messages
// and the output.
func exchanged(t *testing.T, in string) (messages int, out string) {
	t.Helper()
	var answers bytes.Buffer
	for c := newStdioConn(t.Context(), strings.NewReader(in), &answers); ; messages++ {
		m, err := c.Read(t.Context())
		if err != nil {
			check.Error(t, err, io.EOF)
			return messages, answers.String()
		}
		if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
			check.NoError(t, c.Write(t.Context(), &jsonrpc.Response{ID: r.ID, Result: json.RawMessage("{}")}))
		}
	}
}

// isMessage reports whether a line is JSON-RPC 2.0: a request, a notification or an answer.
func isMessage(line string) error {
	var m struct {
		Version string          `json:"jsonrpc"`
		Method  string          `json:"method"`
		Result  json.RawMessage `json:"result"`
		Error   *jsonrpc.Error  `json:"error"`
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		return err
	}
	if m.Version != "2.0" || m.Method == "" && m.Result == nil && m.Error == nil {
		return fmt.Errorf("not a message: %.200s", line)
	}
	return nil
}

func FuzzMessageLines(f *testing.F) {
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n[]\nnull\n{\"id\":[1]}\r\n\"a"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}{`))
	f.Fuzz(func(t *testing.T, in []byte) {
		passed, answers := exchanged(t, string(in))
		for line := range strings.Lines(answers) {
			check.NoError(t, isMessage(line))
		}
		lines := max(passed, strings.Count(answers, "\n"))
		if full := len(strings.FieldsFunc(string(in), func(r rune) bool { return r == '\n' })); lines > full {
			t.Errorf("%d lines became %d", full, lines)
		}
	})
}

// The log goes to standard error: a line of it between the messages would end the session of most
// clients.
func TestStandardOutputIsProtocolOnly(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	p.must("I prefer green tea.\n", "chat")
	p.write("config.toml", "[llm]\nmodel = \"m\"\n") // without a server: the log warns of it
	l := p.start("mcp")
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"conversations","arguments":null}}`,
	} {
		l.say(line)
	}
	seen := l.until(`"id":2`) // the call opens the database, which is when the log warns
	l.say(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
	seen = append(seen, l.until(`"inputSchema"`)...)
	for _, line := range append(seen, l.end()...) {
		check.NoError(t, isMessage(line))
	}
	check.Contains(t, "standard error", l.errs.String(), "no_model_server")
}

func TestRequestsBeforeEOFAreAnswered(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	p.must("I prefer green tea.\n", "chat")
	asked := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"conversations","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"conversations","arguments":{}}}`,
	}, "\n")
	said := p.must(asked, "mcp")
	check.Contains(t, "the answers", said, `"id":1`, `"id":2`, `"id":3`)
}
