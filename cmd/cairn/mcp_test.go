package main

import (
	"context"
	"fmt"
	"net"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/internal/check"
)

// asks runs `cairn mcp` like a client, and returns a function that calls its tools with the
// conversation's name and a content, and one that ends it.
func (p folder) asks(args ...string) (call func(tool, content string) string, end func()) {
	p.t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session := check.Must(client.Connect(p.t.Context(), &sdk.CommandTransport{Command: p.command(append([]string{"mcp"}, args...)...)}, nil))(p.t)
	p.t.Cleanup(func() { _ = session.Close() })
	return func(tool, content string) string {
		arguments := map[string]any{}
		switch tool {
		case "memory_save":
			arguments["content"] = content
			fallthrough
		case "simulate", "summaries":
			arguments["conversation"] = "terminal:general"
		case "recall":
			arguments["conversation"], arguments["query"] = "terminal:general", content
		}
		result, err := session.CallTool(context.Background(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			return "Error: " + err.Error()
		}
		text := result.Content[0].(*sdk.TextContent).Text
		if result.IsError {
			return "Error: " + text
		}
		return text
	}, func() { check.NoError(p.t, session.Close()) }
}

func TestMCPWithoutBot(t *testing.T) {
	t.Parallel()
	p := newFolder(t)
	p.must("I prefer green tea.\n/remember Ada plays the cello\n", "chat")
	read, _ := p.asks()
	check.Contains(t, "recall", read("recall", "cello"), "Ada plays the cello")
	check.Contains(t, "writing", read("memory_save", "x"), "Error: ")
	p.must("/remember Bob plays the flute\n", "chat") // it does not lock the folder against a bot
	check.Contains(t, "message in between", read("memory_list", ""), "Bob plays the flute")
	write, end := p.asks("--write")
	check.Contains(t, "saving", write("memory_save", "Eve plays the harp"), `"id":3`)
	p.fails(exitInUse, "", "chat")
	end()
	check.Contains(t, "memory", p.must("", "memories", "list"), "Eve plays the harp")
}

// freeAddress returns an address without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener := check.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	check.NoError(t, listener.Close())
	return listener.Addr().String()
}

func TestMCPBesideBot(t *testing.T) {
	t.Parallel()
	p := newFolder(t, "CAIRN_WEB_TOKEN=a-long-secret-token")
	chat := func(text string) *live {
		l := p.start("chat", "--json")
		l.say(fmt.Sprintf(`{"text":%q}`, text))
		l.until(`"reply"`)
		return l
	}
	l := chat("I prefer green tea.")
	p.fails(exitInUse, "set listen under [web]", "mcp", "--write")
	l.end()

	p.write("config.toml", fmt.Sprintf("[web]\nlisten = %q\n", freeAddress(t)))
	l = chat("/remember Ada plays the cello")
	other := p
	other.env = []string{"CAIRN_WEB_TOKEN=another-long-secret"}
	r := other.run("", "mcp", "--write")
	check.Equal(t, "exit code and output with another token", fmt.Sprint(r.code, r.out), fmt.Sprint(exitUsage, ""))
	check.Contains(t, "errors with another token", r.err, "rejects the token")
	read, _ := other.asks()
	check.Contains(t, "reading without the bot", read("conversations", ""), "terminal:general")
	write, _ := p.asks("--write")
	check.Contains(t, "saving", write("memory_save", "Bob plays the flute"), "Bob plays the flute")
	l.say(`{"text":"/memories flute","id":"2"}`)
	lines := l.until(`"reply"`)
	check.Contains(t, "memories of the bot", lines[len(lines)-1], "Bob plays the flute")

	l.end()
	for _, tool := range []string{"conversations", "memory_list", "usage", "simulate", "summaries"} {
		check.Lacks(t, tool+" without a bot", write(tool, ""), "Error: ")
	}
	check.Contains(t, "a change without a bot", write("memory_save", "Eve plays the harp"), `gave no answer`, `start it with "cairn run"`)

	l = chat("/remember Cid plays the drums") // the client has not locked the data
	check.Contains(t, "memories of the new bot", write("memory_list", ""), "Cid plays the drums")
	check.Contains(t, "a change through the new bot", write("memory_save", "Eve plays the harp"), "Eve plays the harp")
	l.end()
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
