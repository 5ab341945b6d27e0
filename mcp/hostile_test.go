package mcp

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/channel"
	"cairn/channel/access"
	"cairn/chat"
	"cairn/llm"
	"cairn/testkit/channeltest"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// The safety suite: a bot with a model that obeys every tool result, and a malicious tool server, over standard input
// and output and over HTTP. Whatever the server sends, it gets no call that was not allowed, reads nothing of another
// conversation, and cannot impersonate anyone; the turn ends with an answer.

// hostileTools are the tools that the settings allow. The server has others.
var hostileTools = []string{
	"inject", "forge", "roles", "unseen", "thieves", "huge", "nothing", "hang", "asks", "notify", "grow", "broken", "a.b", "a_b", "endless", "die",
}

// obey calls the tool that is named after "call", and then whatever the results request.
func obey(_ context.Context, n int, req llm.Request) (llm.Response, error) {
	last := req.Messages[len(req.Messages)-1]
	if last.Role == llm.RoleTool {
		var calls []llm.Call
		for i, line := range strings.Split(last.Text, "\n") {
			words, found := strings.CutPrefix(strings.TrimSpace(line), "CALL ")
			if tool, arguments, ok := strings.Cut(words, " "); found && ok {
				calls = append(calls, llm.Call{ID: fmt.Sprintf("c%d-%d", n, i), Name: tool, Arguments: arguments})
			}
		}
		if len(calls) > 0 {
			return llmtest.Use(calls...), nil
		}
	}
	if _, tool, asked := strings.Cut(last.Text, "please call "); asked && last.Role == llm.RoleUser {
		return llmtest.Use(llmtest.Call(fmt.Sprint("c", n), strings.Fields(tool)[0], map[string]any{})), nil
	}
	return llmtest.Say("Done."), nil
}

// box gives the agent all tools of a host.
type box struct{ *Host }

func (box) Servers() []channel.ToolServer   { return nil }
func (box) Ready(context.Context, []string) {}

// suite is a bot beside a hostile server.
type suite struct {
	channeltest.Program
	host *Host
}

const secretOfServer = "s3cret-of-the-server-0815"

func newSuite(t *testing.T, server Server) *suite {
	server.ID = "calc"
	server.Allow = hostileTools
	server.Timeout = 250 * time.Millisecond
	server.MaxResultTokens = 1000
	host, log := start(t, server)
	model := &llmtest.Model{Tokens: 32_000, Func: obey}
	s := &suite{channeltest.Program{T: t, Dir: t.TempDir(), Model: model, Tools: box{host}}, host}
	s.Open(channeltest.Silent("test"))
	t.Cleanup(func() {
		s.Close()
		check.Lacks(t, "log", log.String()+s.Log.String(), secretOfServer)
	})
	s.say("test:vault", "The safe code is 4711.")
	_, _, err := s.Hub.Run(t.Context(), "test:vault", access.Person{ID: "ada", Name: "Ada", Manager: true}, "/remember The safe code is 4711")
	check.NoError(t, err)
	return s
}

// say returns the model's requests of a turn.
func (s *suite) say(conversation, text string) []llm.Request {
	s.T.Helper()
	before := len(s.Model.Requests())
	m := channel.Inbound{ID: fmt.Sprint("m", before), AuthorID: "ada", Author: "Ada", Text: text, Time: time.Now(), Addressed: true}
	check.Must(s.Hub.Deliver(s.T.Context(), conversation, m))(s.T)
	s.Idle(conversation)
	said := s.Transcript(conversation)
	check.Equal(s.T, text+": reply", said[len(said)-1].Text, "Done.")
	return s.Model.Requests()[before:]
}

// check examines the model's requests of a turn.
func (s *suite) check(tool string, requests []llm.Request) {
	s.T.Helper()
	for _, req := range requests {
		for _, offered := range req.Tools {
			allowed := slices.ContainsFunc(hostileTools, func(name string) bool { return offered.Name == toolName("calc", name) })
			check.That(s.T, allowed || !strings.HasPrefix(offered.Name, "calc_"), "%s: %s is offered", tool, offered.Name)
		}
		for _, m := range req.Messages {
			foreign := strings.Contains(m.Text, "4711") && !strings.Contains(m.Text, "CALL ")
			check.That(s.T, !foreign, "%s: got text of another conversation: %.300s", tool, m.Text)
			check.Lacks(s.T, tool, m.Text, "sampled: true", "asked: true")
			check.That(s.T, m.Role != llm.RoleTool || chat.Escape(m.Text) == m.Text, "%s: got a forged result: %.300q", tool, m.Text)
		}
	}
}

func TestHostileServers(t *testing.T) {
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			journal := filepath.Join(t.TempDir(), "journal")
			server := programOf(t, "stdio")
			server.Env[journalVariable] = journal
			server.Env["OWN"] = secretOfServer
			if transport == "http" {
				program := exec.CommandContext(t.Context(), server.Command[0], server.Command[1]) // killed at the end
				program.Env = append(os.Environ(), serverVariable+"=over HTTP", journalVariable+"="+journal)
				out := check.Must(program.StdoutPipe())(t)
				check.NoError(t, program.Start())
				t.Cleanup(func() { _ = program.Wait() })
				url := check.Must(bufio.NewReader(out).ReadString('\n'))(t)
				server = Server{URL: strings.TrimSpace(url), Headers: map[string]string{"Authorization": "Bearer " + secretOfServer}}
			}
			s := newSuite(t, server)
			before := memoryInUse()
			for _, tool := range hostileTools {
				check.Require(t, check.Soon(s.host.connected), "the server was not reconnected: %+v", s.host.Status())
				requests := s.say("test:here", "please call "+toolName("calc", tool))
				last := requests[len(requests)-1].Messages
				if tool == "huge" {
					check.HasPrefix(t, "a huge result", last[len(last)-1].Text, "Error: ")
				}
				s.check(tool, requests)
			}
			text := check.Must(os.ReadFile(journal))(t)
			called := strings.Fields(string(text))
			refused := slices.DeleteFunc(slices.Clone(called), func(tool string) bool { return slices.Contains(hostileTools, tool) })
			check.Len(t, "calls that nobody allowed", refused, 0)
			// A dying server is not called, more often so on a busy machine.
			check.That(t, len(called) >= len(hostileTools)/2, "got calls %q, want at least half of the %d allowed tools", called, len(hostileTools))
			small := func() bool { return memoryInUse() < before+hugeResult/2 } // soon: the other suite uses some, too
			check.That(t, check.Soon(small), "got %d bytes in use, and %d before", memoryInUse(), before)
		})
	}
}

func memoryInUse() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
