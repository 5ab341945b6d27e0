package mcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/testkit/check"
)

// serveDeaf is a server that stops reading once its tool "deaf" is called; "flood" also sends
// endless requests to the client. "floods the list" keeps reporting changed tools and redefining
// them; "lists for ever" always has one more empty page of tools, "lists many" pages of 1 000 others and one with
// "hear" as the last; "tasks" has tools that run as tasks; "notifies" sends notifications without end.
func serveDeaf(mode string) {
	out := bufio.NewWriter(os.Stdout)
	say := func(format string, values ...any) {
		fmt.Fprintf(out, format+"\n", values...)
		_ = out.Flush()
	}
	lists := 0
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name, ProtocolVersion, Cursor string }
		}
		_ = json.Unmarshal(lines.Bytes(), &m)
		switch {
		case m.Method == "initialize":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"x","version":"1"}}}`, m.ID, m.Params.ProtocolVersion)
		case m.Method == "tools/list" && mode == "lists for ever":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[],"nextCursor":"more"}}`, m.ID)
		case m.Method == "tools/list" && mode == "lists many":
			page, _ := strconv.Atoi(m.Params.Cursor)
			tools := make([]string, 1000)
			for i := range tools {
				tools[i] = fmt.Sprintf(`{"name":"other%d","inputSchema":{"type":"object"}}`, page*1000+i)
			}
			if page == 4 {
				tools[999] = `{"name":"hear","inputSchema":{"type":"object"}}`
			}
			say(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s],"nextCursor":"%d"}}`, m.ID, strings.Join(tools, ","), page+1)
		case m.Method == "tools/list":
			lists++
			tool := `{"name":%q,"description":"version %d","inputSchema":{"type":"object"}}`
			if mode == "tasks" {
				say(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[`+threeTools+`]}}`, m.ID, "deaf", "required", "flood", "optional", "hear", "forbidden")
				continue
			}
			say(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[`+tool+","+tool+","+tool+`,{"name":"bare","inputSchema":{}}]}}`, m.ID, "deaf", lists, "flood", lists, "hear", lists)
			if mode == "floods the list" {
				say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			}
			for mode == "notifies" {
				say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
			}
		case m.Params.Name == "deaf":
			time.Sleep(time.Hour)
		case m.Params.Name == "flood":
			for n := 0; ; n++ {
				say(`{"jsonrpc":"2.0","id":"r%d","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`, n)
			}
		case m.Params.Name == "hear":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"heard"}]}}`, m.ID)
		case m.ID != nil:
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
		}
	}
}

// threeTools is a list of three tools by the specification of 25 November 2025: each with a name and the support of tasks.
const threeTools = `{"name":%q,"inputSchema":{"type":"object"},"execution":{"taskSupport":%q}},` +
	`{"name":%q,"inputSchema":{"type":"object"},"execution":{"taskSupport":%q}},{"name":%q,"inputSchema":{"type":"object"},"execution":{"taskSupport":%q}}`

// deaf returns such a server.
func deaf(t *testing.T, mode string) Server {
	s := programOf(t, "deaf: "+mode)
	s.Allow = []string{"deaf", "flood", "hear", "bare"}
	return s
}

func TestProgramThatDoesNotReadFailsOneCall(t *testing.T) {
	large := fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 200_000)) // more than a pipe holds
	for name, calls := range map[string][][2]string{
		"it takes no call":             {{"calc_deaf", "{}"}, {"calc_hear", large}},
		"it asks and takes no answers": {{"calc_flood", "{}"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := deaf(t, "")
			s.Timeout = writeTimeout
			h, log := start(t, s)
			for _, call := range calls {
				began := time.Now()
				err := check.ErrorOf(h.run(t, call[0], call[1]))
				check.That(t, err != nil && time.Since(began) <= 5*writeTimeout, "%s: got %v after %v", call[0], err, time.Since(began))
			}
			check.Require(t, check.Soon(func() bool { got, _ := h.run(t, "calc_hear", `{}`); return got == "heard" }), "it does not reconnect:\n%s", log)
			_, _ = h.run(t, calls[0][0], "{}") // and is deaf again
			began := time.Now()
			h.Close()
			check.That(t, time.Since(began) <= 4*endTimeout, "the shutdown took %v", time.Since(began))
		})
	}
}

func TestListsWithoutEndAreBounded(t *testing.T) {
	t.Parallel()
	h, log := start(t, deaf(t, "lists for ever"))
	s := h.Status()[0]
	check.That(t, s.Connected && len(s.Tools) == 0, "%+v", s)
	check.Contains(t, "log", log.String(), "tool_ignored")
	// One that changes all the time is read at intervals.
	h, log = start(t, deaf(t, "floods the list"))
	time.Sleep(relistPause + relistPause/2)
	n := strings.Count(log.String(), "tools_changed")
	check.That(t, n > relistBurst && n <= relistBurst+2, "the list was read %d times\n%s", n, log)
	check.Equal(t, "warnings about a tool without a schema", strings.Count(log.String(), "tool_ignored"), 1)
	check.Equal(t, "call during it", check.Must(h.run(t, "calc_hear", `{}`))(t), "heard")
}

func TestAllowedToolsAreFoundAmongMany(t *testing.T) {
	t.Parallel()
	h, log := start(t, deaf(t, "lists many"))
	s := h.Status()[0]
	check.EqualAll(t, "tools", s.Tools, []string{"calc_hear"})
	check.EqualAll(t, "missing tools", s.Missing, []string{"deaf", "flood", "bare"})
	check.Len(t, "names of other tools", s.Refused, maxOffered)
	check.Contains(t, "log", log.String(), "deaf: the server does not have it", "lists more than 10000 tools")
}

func TestToolsThatRunOnlyAsTasksAreNotOffered(t *testing.T) {
	t.Parallel()
	checkTools := func(t *testing.T, s Server, only string, offered ...string) {
		h, log := start(t, s)
		status := h.Status()[0]
		check.EqualAll(t, "tools", status.Tools, offered)
		check.EqualAll(t, "unusable", status.Unusable, []string{only + ": it runs only as a task of the protocol, which Cairn does not support"})
		check.Equal(t, "log lines", strings.Count(log.String(), "msg=tool_ignored"), 1)
		check.Contains(t, "log", log.String(), `problem="`+only+": it runs only as a task")
	}
	t.Run("a program", func(t *testing.T) {
		s := deaf(t, "tasks")
		s.Allow = []string{"deaf", "flood", "hear"}
		checkTools(t, s, "deaf", "calc_flood", "calc_hear")
	})
	for name, options := range map[string]*sdk.StreamableHTTPOptions{"an address with events": nil, "an address with whole bodies": {JSONResponse: true}} {
		t.Run(name, func(t *testing.T) {
			inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newServer() }, options)
			address := overHTTP(t, newServer(), func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodGet {
					w.WriteHeader(http.StatusMethodNotAllowed)
					return true
				}
				answer := httptest.NewRecorder()
				inner.ServeHTTP(answer, r)
				maps.Copy(w.Header(), answer.Header())
				w.WriteHeader(answer.Code)
				// The SDK's server cannot say it.
				body := strings.Replace(answer.Body.String(), `"name":"fail"`, `"name":"fail","execution":{"taskSupport":"required"}`, 1)
				_, _ = io.WriteString(w, body)
				return true
			})
			checkTools(t, Server{ID: "calc", Allow: []string{"add", "fail"}, URL: address}, "fail", "calc_add")
		})
	}
}

// A tool that a server redefines is offered again.
func TestTaskToolsFollowTheNewestList(t *testing.T) {
	tasks := new(taskTools)
	allow := []string{"a"}
	for list, want := range map[string]bool{`{"name":"a","execution":{"taskSupport":"required"}}`: true, `{"name":"a"}`: false, `{"name":"a","execution":{"taskSupport":"optional"}}`: false} {
		tasks.note([]byte(`{"tools":[{"name":"a","execution":{"taskSupport":"required"}},{"name":"other","execution":{"taskSupport":"required"}}]}`), allow)
		check.Equal(t, "known", tasks.has("a"), true)
		check.Equal(t, "known of a tool that is not allowed", tasks.has("other"), false)
		tasks.note([]byte(`{"content":[{"type":"text","text":"\"tools\""}]}`), allow)
		tasks.note([]byte(`{"tools":[`+list+`]}`), allow)
		check.Equal(t, list, tasks.has("a"), want)
	}
}

func TestServerThatFloodsIsDisconnected(t *testing.T) {
	t.Parallel()
	h, log := start(t, deaf(t, "notifies"))
	check.That(t, check.Soon(func() bool { return !h.connected() }), "it is connected:\n%.3000s", log)
	check.Contains(t, "why", h.Status()[0].Error, "unsolicited messages")
}

func TestChildProcessesEndWithProgram(t *testing.T) {
	t.Parallel()
	note := t.TempDir() + "/child"
	s := programOf(t, "stdio")
	// The child keeps standard error open and outlives its parent's input.
	s.Command = []string{"sh", "-c", fmt.Sprintf(`sleep 600 & echo $! > %s; exec "$0" "$@"`, note), s.Command[0], s.Command[1]}
	h, _ := start(t, s)
	child := strings.TrimSpace(string(check.Must(os.ReadFile(note))(t)))
	h.Close()
	check.That(t, check.Soon(func() bool { // it has ended, or is a zombie
		stat, err := os.ReadFile("/proc/" + child + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	}), "its child is still running")
}

// Proxies end streams on which nothing is sent.
func TestSessionOutlivesItsStreams(t *testing.T) {
	t.Parallel()
	var streams atomic.Int32
	began := time.Now()
	_, log := start(t, Server{ID: "calc", Allow: allowed, URL: overHTTP(t, newServer(), func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			streams.Add(1)
			check.Equal(t, "the event to go on after", r.Header.Get("Last-Event-ID"), "")
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "retry: 1\n\n")
		}
		return r.Method == http.MethodGet
	})})
	check.That(t, check.Soon(func() bool { return streams.Load() >= 8 }), "got %d streams", streams.Load())
	check.That(t, time.Since(began) > 500*time.Millisecond, "8 streams in %v", time.Since(began))
	check.Lacks(t, "log", log.String(), "tool_server_lost")
}

// A server forgets its sessions when it restarts.
func TestForgottenSessionIsReplaced(t *testing.T) {
	t.Parallel()
	var forgotten atomic.Value // an id
	own := newServer()
	h, log := start(t, Server{ID: "calc", Allow: allowed, URL: overHTTP(t, own, func(w http.ResponseWriter, r *http.Request) bool {
		forgot := r.Header.Get("Mcp-Session-Id") == forgotten.Load()
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
		} else if forgot {
			http.Error(w, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}`, http.StatusNotFound)
		}
		return r.Method == http.MethodGet || forgot
	})})
	for session := range own.Sessions() {
		forgotten.Store(session.ID())
		check.NoError(t, session.Close())
	}
	check.That(t, check.Soon(func() bool { got, _ := h.run(t, "calc_add", `{"A":1,"B":2}`); return got == "3" }), "it does not reconnect:\n%s", log)
}
