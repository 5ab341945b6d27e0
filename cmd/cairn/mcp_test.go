package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"cairn/internal/check"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// asks runs `cairn mcp` like a client, and calls its tools.
func (p folder) asks(args ...string) *sdk.ClientSession {
	p.t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(p.t.Context(), &sdk.CommandTransport{Command: p.command(append([]string{"mcp"}, args...)...)}, nil)
	check.NoError(p.t, err)
	p.t.Cleanup(func() { _ = session.Close() })
	return session
}

func answered(t *testing.T, s *sdk.ClientSession, tool string, arguments map[string]any) string {
	t.Helper()
	result, err := s.CallTool(context.Background(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return "Error: " + err.Error()
	}
	text := result.Content[0].(*sdk.TextContent).Text
	if result.IsError {
		return "Error: " + text
	}
	return text
}

func TestMCPReadsMatchShell(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	p.must("I prefer green tea.\n/remember Ada plays the cello\n", "chat")
	s := p.asks()
	check.Contains(t, "recall", answered(t, s, "recall", map[string]any{"conversation": "terminal:general", "query": "cello"}), "Ada plays the cello")
	check.Contains(t, "writing", answered(t, s, "memory_save", map[string]any{"conversation": "terminal:general", "content": "x"}), "Error: ")
	p.must("/remember Bob plays the flute\n", "chat") // it does not lock the folder against a bot
	check.Contains(t, "message in between", answered(t, s, "memory_list", nil), "Bob plays the flute")
}

func TestMCPWritesWithoutBot(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	p.must("I prefer green tea.\n", "chat")
	s := p.asks("--write")
	check.Contains(t, "saving", answered(t, s, "memory_save", map[string]any{"conversation": "terminal:general", "content": "Ada plays the cello", "about": "Ada"}), `"id":1`)
	if r := p.run("hello\n", "chat"); r.code != exitInUse {
		t.Errorf("a bot started meanwhile: got %d, %s", r.code, r.err)
	}
	check.NoError(t, s.Close())
	check.Contains(t, "memory", p.must("", "memories", "list"), "Ada plays the cello")
}

// freeAddress returns an address without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener := check.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	check.NoError(t, listener.Close())
	return listener.Addr().String()
}

func TestMCPOutlivesTheBot(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	p.write("config.toml", fmt.Sprintf("[web]\nlisten = %q\n", freeAddress(t)))
	chat := func(say string) *live {
		l := p.start("chat", "--json")
		l.say(say)
		l.until(`"reply"`)
		return l
	}
	save := func(content string) map[string]any {
		return map[string]any{"conversation": "terminal:general", "content": content}
	}
	l := chat(`{"text":"/remember Ada plays the cello","id":"1"}`)
	s := p.asks("--write")
	check.Contains(t, "with a bot", answered(t, s, "memory_save", save("Bob plays the flute")), "Bob plays the flute")

	l.end()
	for _, tool := range []string{"conversations", "memory_list", "usage", "simulate", "summaries"} {
		arguments := map[string]any{}
		if tool == "simulate" || tool == "summaries" {
			arguments["conversation"] = "terminal:general"
		}
		if text := answered(t, s, tool, arguments); strings.HasPrefix(text, "Error: ") {
			t.Errorf("%s without a bot: %s", tool, text)
		}
	}
	check.Contains(t, "a change without a bot", answered(t, s, "memory_save", save("Eve plays the harp")), `gave no answer`)
	check.Contains(t, "remedy", answered(t, s, "memory_save", save("Eve plays the harp")), `start it with "cairn run"`)

	l = chat(`{"text":"/remember Cid plays the drums","id":"2"}`) // the client has not locked the data
	check.Contains(t, "memories of the new bot", answered(t, s, "memory_list", nil), "Cid plays the drums")
	check.Contains(t, "a change through the new bot", answered(t, s, "memory_save", save("Eve plays the harp")), "Eve plays the harp")
	l.end()
}

func TestMCPWritesThroughRunningBot(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	for _, web := range []bool{false, true} {
		p := newFolder(t, "CAIRN_WEB_TOKEN=a-long-secret-token")
		if web {
			p.write("config.toml", fmt.Sprintf("[web]\nlisten = %q\n", address))
		}
		l := p.start("chat", "--json")
		l.say(`{"text":"I prefer green tea.","id":"1"}`)
		l.until(`"reply"`)
		if !web {
			r := p.run("", "mcp", "--write")
			check.Equal(t, "without [web]", r.code, exitInUse)
			check.Contains(t, "errors", r.err, "set listen under [web]")
			check.Equal(t, "output", r.out, "")
		} else {
			other := p
			other.env = []string{"CAIRN_WEB_TOKEN=another-long-secret"}
			if r := other.run("", "mcp", "--write"); r.code != exitUsage || !strings.Contains(r.err, "rejects the token") || r.out != "" {
				t.Errorf("with another token: %d, %q, %s", r.code, r.out, r.err)
			}
			check.Contains(t, "reading without the bot", answered(t, other.asks(), "conversations", nil), "terminal:general")
			s := p.asks("--write")
			said := answered(t, s, "memory_save", map[string]any{"conversation": "terminal:general", "content": "Ada plays the cello"})
			check.Contains(t, "saving", said, "Ada plays the cello")
			l.say(`{"text":"/memories cello","id":"2"}`)
			lines := l.until(`"reply"`)
			check.Contains(t, "memories of the bot", lines[len(lines)-1], "Ada plays the cello")
		}
		l.end()
	}
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
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"conversations","arguments":{}}}`,
	} {
		l.say(line)
	}
	seen := l.until(`"id":2`) // the call opens the database, which is when the log warns
	for _, line := range append(seen, l.end()...) {
		m := parse[struct{ JSONRPC string }](t, line)
		check.Equal(t, "version of "+line, m[0].JSONRPC, "2.0")
	}
	check.Contains(t, "standard error", l.errs.String(), "no_model_server")
}
