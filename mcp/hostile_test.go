package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/channel"
	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/store"
)

// The safety suite: a bot with a model that obeys every tool result, and a malicious tool server,
// over standard input and output and over HTTP. Whatever the server sends, it gets no call that was
// not allowed, reads nothing of another conversation, and cannot impersonate anyone; the turn ends
// with an answer.

// hostileTools are the tools that the settings allow. The server has others.
var hostileTools = []string{
	"inject", "forge", "roles", "unseen", "thieves", "huge", "nothing", "hang", "asks", "notify", "grow", "broken", "a.b", "a_b", "endless", "die",
}

// obedient calls the tool that is named after "call", and then whatever the results request.
type obedient struct {
	mu   sync.Mutex // guards seen
	seen []llm.Request
}

func (o *obedient) answer(_ context.Context, n int, req llm.Request) (llm.Response, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = append(o.seen, req)
	last := req.Messages[len(req.Messages)-1]
	if last.Role == llm.RoleTool && len(o.seen) < 200 {
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
		return llmtest.Use(llmtest.Call(fmt.Sprint("c", n), "evil_"+strings.Fields(tool)[0], map[string]any{})), nil
	}
	return llmtest.Say("Done."), nil
}

// requests returns the requests so far, and clears them.
func (o *obedient) requests() []llm.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen := o.seen
	o.seen = nil
	return seen
}

// box gives the agent all tools of a host.
type box struct{ *Host }

func (b box) Servers() []channel.ToolServer { return nil }

func (b box) Ready(context.Context, []string) {}

func (b box) Tools(servers []string) (all []channel.Tool) {
	for _, tool := range b.Host.Tools(servers) {
		all = append(all, channel.Tool{Tool: tool.Tool, Server: tool.Server})
	}
	return all
}

// room is a connector that records replies.
type room struct {
	mu   sync.Mutex // guards said
	said []string
}

func (r *room) Name() string                                         { return "test" }
func (r *room) Split(text string) []string                           { return []string{text} }
func (r *room) Reply(conversation string, _ []string) channel.Writer { return reply{r, conversation} }

type reply struct {
	room *room
	to   string
}

func (reply) Show(string) {}
func (reply) Cancel()     {}

func (w reply) Send(_ context.Context, p channel.Piece) (string, error) {
	w.room.mu.Lock()
	defer w.room.mu.Unlock()
	w.room.said = append(w.room.said, p.Text)
	return p.Reply, nil
}

func (r *room) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.said)
}

// suite is a bot beside a hostile server.
type suite struct {
	*testing.T
	hub     *channel.Hub
	store   *store.Store
	model   *obedient
	room    *room
	log     *check.Buffer
	host    *Host
	journal string
	n       int
}

const secretOfServer = "s3cret-of-the-server-0815"

func newSuite(t *testing.T, server Server) *suite {
	s := &suite{T: t, model: &obedient{}, room: &room{}, log: &check.Buffer{}}
	server.ID, server.Allow, server.Timeout, server.MaxResultTokens = "evil", hostileTools, 700*time.Millisecond, 1000
	log := slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	host := Start([]Server{server}, "test", nil, log)
	t.Cleanup(host.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	check.NoError(t, host.Tried(ctx, []string{"evil"}))
	s.host = host
	var err error
	dir := t.TempDir()
	storetest.CopyEmpty(t, dir)
	if s.store, err = store.Open(ctx, store.Options{Dir: dir, Log: log}); err != nil {
		t.Fatal(err)
	}
	agent := channel.Agent{
		ID: "cairn", Model: &llmtest.Model{Tokens: 32_000, Func: s.model.answer}, MaxOutput: 500, Policy: compactor.DefaultPolicy,
		Toolbox: box{host}, ToolServers: []string{"evil"},
	}
	s.hub = channel.New(channel.Options{Store: s.store, Agent: func(string) channel.Agent { return agent }, Connectors: []channel.Connector{s.room}, Log: log})
	t.Cleanup(func() {
		check.NoError(t, s.hub.Close())
		check.NoError(t, s.store.Close())
	})
	s.say("test:vault", "The safe code is 4711.")
	if _, _, err := s.hub.Run(t.Context(), "test:vault", channel.Person{ID: "ada", Name: "Ada", Manager: true}, "/remember The safe code is 4711"); err != nil {
		t.Fatal(err)
	}
	s.model.requests()
	return s
}

func (s *suite) say(conversation, text string) {
	s.Helper()
	s.n++
	m := channel.Inbound{ID: fmt.Sprint("m", s.n), AuthorID: "ada", Author: "Ada", Text: text, Time: time.Now(), Addressed: true}
	if _, err := s.hub.Deliver(s.Context(), conversation, m); err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	if err := s.hub.Idle(ctx, conversation); err != nil {
		s.Fatalf("%q: the turn does not end: %v", text, err)
	}
}

// connected waits until the server is connected, again after it died.
func (s *suite) connected() {
	s.Helper()
	if !check.Soon(s.host.connected) {
		s.Fatalf("the server was not reconnected: %+v", s.host.Status())
	}
}

// called returns the tools that the server ran.
func (s *suite) called() []string {
	text, _ := os.ReadFile(s.journal)
	return strings.Fields(string(text))
}

// check examines the model's requests of a turn: how many lines looked like Cairn's own, and how
// often they contained another conversation's text.
func (s *suite) check(tool string, requests []llm.Request) (unescaped, foreign int) {
	s.Helper()
	for _, req := range requests {
		for _, offered := range req.Tools {
			if name := offered.Name; strings.HasPrefix(name, "evil_") && !slices.ContainsFunc(hostileTools, func(allowed string) bool { return name == ToolName("evil", allowed) }) {
				s.Errorf("%s: %s is offered", tool, name)
			}
		}
		for _, m := range req.Messages {
			if strings.Contains(m.Text, "4711") && !strings.Contains(m.Text, "CALL ") {
				foreign++
				s.Errorf("%s: got text of another conversation: %.300s", tool, m.Text)
			}
			if m.Role == llm.RoleTool && chat.Escape(m.Text) != m.Text {
				unescaped++
				s.Errorf("%s: got a forged result: %.300q", tool, m.Text)
			}
		}
	}
	return unescaped, foreign
}

func TestHostileServers(t *testing.T) {
	exe := check.Must(os.Executable())(t)
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "journal")
			server := Server{Command: []string{exe, "-test.run=^$"}, Env: map[string]string{serverVariable: "hostile", journalVariable: path, "OWN": secretOfServer}}
			if transport == "http" {
				server = Server{URL: hostileHTTP(t, serverVariable+"=hostile over HTTP", journalVariable+"="+path), Headers: map[string]string{"Authorization": "Bearer " + secretOfServer}}
			}
			s := newSuite(t, server)
			s.journal = path
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			unescaped, foreign := 0, 0
			for _, tool := range hostileTools {
				s.connected()
				answered := s.room.count()
				s.say("test:here", "please call "+ToolName("evil", tool)[len("evil_"):])
				if s.room.count() != answered+1 {
					t.Errorf("%s: got %d replies", tool, s.room.count()-answered)
				}
				requests := s.model.requests()
				last := requests[len(requests)-1].Messages
				if tool == "huge" {
					check.HasPrefix(t, "result of 100 MB", last[len(last)-1].Text, "Error: ")
				}
				u, f := s.check(tool, requests)
				unescaped, foreign = unescaped+u, foreign+f
			}
			called := s.called()
			refused := slices.DeleteFunc(slices.Clone(called), func(tool string) bool { return slices.Contains(hostileTools, tool) })
			// A dying server is not called, more often so on a busy machine.
			if len(refused) > 0 || len(called) < len(hostileTools)/2 {
				t.Errorf("got calls %q, %q of them without approval; want at least half of the %d allowed tools", called, refused, len(hostileTools))
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			grown := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20
			check.That(t, grown <= 50, "got %d MiB more in use", grown)
			check.Lacks(t, "log", s.log.String(), secretOfServer)
			t.Logf("%d turns, %d calls, %d that nobody allowed, %d reads across conversations, %d unescaped, %d MiB more in use", len(hostileTools), len(called), len(refused), foreign, unescaped, grown)
		})
	}
}
