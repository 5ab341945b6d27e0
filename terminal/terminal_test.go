package terminal

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cairn/channel"
	"cairn/channel/channeltest"
	"cairn/chat"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/store"
)

func TestMain(m *testing.M) {
	check.InMemory()
	// The tests mostly wait, side by side, each as if the terminal were a plain one with colours.
	if err := errors.Join(flag.Set("test.parallel", "16"), os.Setenv("TERM", "xterm"), os.Unsetenv("NO_COLOR")); err != nil {
		panic(err)
	}
	// The key reader's last event has no receiver if the screen closes meanwhile.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/charmbracelet/ultraviolet.(*TerminalReader).StreamEvents"))
}

type buffer struct{ check.Buffer }

// wait returns once the buffer contains text.
func (b *buffer) wait(t *testing.T, text string) {
	t.Helper()
	if !check.Soon(func() bool { return strings.Contains(b.String(), text) }) {
		t.Errorf("timed out waiting for %q; got %q", text, b)
	}
}

// session is a terminal on its own hub, with a real store and a scripted model.
type session struct {
	connector *Terminal
	hub       *channel.Hub
	store     *store.Store
	out, err  *buffer
	log       *slog.Logger // what the connector logs
	logged    *buffer
	lost      bool // the store is closed already
}

// lose makes the store fail once nothing is left to write: a reply is recorded as sent after it is
// shown.
func (s *session) lose(t *testing.T) {
	t.Helper()
	check.NoError(t, s.hub.Drain(t.Context()))
	s.lost = true
	check.NoError(t, s.store.Close())
}

type answer = func(ctx context.Context, n int, req llm.Request) (llm.Response, error)

// echo answers with the last message, without its time stamp.
func echo(_ context.Context, _ int, req llm.Request) (llm.Response, error) {
	return llmtest.Say("you said " + lastWords(req)), nil
}

func lastWords(req llm.Request) string {
	text := req.Messages[len(req.Messages)-1].Text
	text, _, _ = strings.Cut(text, "\n<now>")
	_, words, _ := strings.Cut(text[max(strings.LastIndex(text, "[#"), 0):], "] ")
	return strings.TrimSpace(words)
}

func scripted(f answer) *llmtest.Model { return &llmtest.Model{Func: f} }

func open(t *testing.T, o Options, model llm.Model) *session {
	t.Helper()
	s := &session{out: &buffer{}, err: &buffer{}, logged: &buffer{}}
	s.log = slog.New(slog.NewTextHandler(s.logged, nil))
	if o.Out == nil {
		o.Out, o.Err = s.out, s.err
	}
	if o.Channel == "" {
		o.Channel, o.User = "general", "Ada"
	}
	s.connector = check.Must(New(o))(t)
	dir := t.TempDir()
	storetest.CopyEmpty(t, dir)
	s.store = check.Must(store.Open(t.Context(), store.Options{Dir: dir}))(t)
	agent := channel.Agent{
		ID: "test", Model: model, MaxOutput: 1000,
		Policy: compactor.DefaultPolicy, Toolbox: &channeltest.Box{Approve: channel.ApproveAlways}, ToolServers: []string{"calc"},
	}
	s.hub = channel.New(channel.Options{
		Store: s.store, Agent: func(string) channel.Agent { return agent }, Connectors: []channel.Connector{s.connector},
		Log: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(func() {
		check.NoError(t, s.hub.Close())
		if err := s.store.Close(); err != nil && !s.lost {
			t.Error(err)
		}
	})
	return s
}

// talk runs the terminal on input until its end.
func talk(t *testing.T, o Options, input string, model answer) *session {
	t.Helper()
	o.In = strings.NewReader(input)
	s := open(t, o, scripted(model))
	check.NoError(t, s.run(t))
	return s
}

// run runs the terminal and returns its error; it must not take long.
func (s *session) run(t *testing.T) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return s.connector.Run(ctx, s.hub, s.log)
}

// messages returns what is stored of a conversation.
func (s *session) messages(t *testing.T, conversation string) []chat.Message {
	t.Helper()
	return check.Must(storetest.Find(t, s.store, conversation).Transcript().Page(t.Context(), 1, 10))(t)
}

// inOrder checks that a text contains parts in this order.
func inOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, behind, found := strings.Cut(rest, part)
		check.Require(t, found, "%q is out of place: %q", part, text)
		rest = behind
	}
}
