package terminal

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cairn/channel"
	"cairn/channel/channeltest"
	"cairn/compactor"
	"cairn/internal/check"
	"cairn/internal/storetest"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/store"
)

func TestMain(m *testing.M) {
	check.InMemory()
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

func open(t *testing.T, o Options, f answer) *session {
	t.Helper()
	return openWith(t, o, scripted(f))
}

func openWith(t *testing.T, o Options, model llm.Model) *session {
	t.Helper()
	s := &session{out: &buffer{}, err: &buffer{}, logged: &buffer{}}
	s.log = slog.New(slog.NewTextHandler(s.logged, nil))
	if o.Out == nil {
		o.Out, o.Err = s.out, s.err
	}
	if o.Channel == "" {
		o.Channel, o.User = "general", "Ada"
	}
	var err error
	if s.connector, err = New(o); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	storetest.CopyEmpty(t, dir)
	if s.store, err = store.Open(t.Context(), store.Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
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
func talk(t *testing.T, o Options, input string, model answer, window ...int) *session {
	t.Helper()
	o.In = strings.NewReader(input)
	m := scripted(model)
	if len(window) > 0 {
		m.Tokens = window[0]
	}
	s := openWith(t, o, m)
	check.NoError(t, s.connector.Run(t.Context(), s.hub, s.log))
	return s
}

// ends runs the terminal and returns its error; it must not take long.
func (s *session) ends(t *testing.T) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- s.connector.Run(t.Context(), s.hub, s.log) }()
	select {
	case err := <-ended:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("the run did not end")
		return nil
	}
}

// endless is input that continues until it is closed.
func endless(input string) (in io.Reader, end func()) {
	read, write := io.Pipe()
	return io.MultiReader(strings.NewReader(input), read), func() { _ = write.Close() }
}

func TestNames(t *testing.T) {
	for _, o := range []Options{
		{Channel: "", User: "Ada"},
		{Channel: "  ", User: "Ada"},
		{Channel: "a\nb", User: "Ada"},
		{Channel: strings.Repeat("x", 101), User: "Ada"},
		{Channel: "a\xff", User: "Ada"},
		{Channel: "general", User: ""},
		{Channel: "general", User: "A\x1b[2J"},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
	for _, name := range []string{"general", "terminal:general"} {
		check.Equal(t, name, check.Must(Conversation(name))(t), "terminal:general")
	}
}

// Windows writes a byte order mark before the first line of a pipe.
func TestByteOrderMark(t *testing.T) {
	s := talk(t, asJSON, "\ufeff"+`{"id":"1","text":"hello"}`+"\n", echo)
	check.Len(t, "errors", s.of(t, "error"), 0)
	check.Len(t, "replies", s.of(t, "reply"), 1)
	check.Equal(t, "answer to a line", talk(t, Options{}, "\ufeffhello\n", echo).out.String(), "you said hello\n")
}

func TestReadLine(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	input := "one\r\n\ntwo \xff\xfe\n" + long + "\n" + long + "y\nlast"
	var got []Line
	for line := range Lines(t.Context(), strings.NewReader(input)) {
		got = append(got, line)
	}
	want := []Line{{1, "one", nil}, {2, "", nil}, {3, "two \uFFFD", nil}, {4, "", ErrTooLong}, {5, "", ErrTooLong}, {6, "last", nil}}
	check.Len(t, "lines", got, len(want))
	for i := range want {
		check.Equal(t, fmt.Sprintf("line %d", i+1), got[i].Number, want[i].Number)
		check.Equal(t, fmt.Sprintf("line %d: error", i+1), got[i].Err, want[i].Err)
		check.Equal(t, fmt.Sprintf("line %d", i+1), got[i].Text, want[i].Text)
	}

	t.Run("a reader that fails ends the lines with its error", func(t *testing.T) {
		var last Line
		for line := range Lines(t.Context(), io.MultiReader(strings.NewReader("a\n"), failing{})) {
			last = line
		}
		check.That(t, last.Err != nil && last.Err != ErrTooLong, "got %v", last)
	})
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestPieces(t *testing.T) {
	s := open(t, Options{In: strings.NewReader(""), JSON: true}, nil)
	check.EqualAll(t, "a reply was cut", s.connector.Split("a\nb"), []string{"a\nb"})
	w := s.connector.Reply("terminal:x", nil)
	id, err := w.Send(t.Context(), channel.Piece{Reply: "r", Text: "t"})
	if err != nil || id != "r" || s.out.String() != `{"type":"reply","channel":"x","id":"r","to":[],"text":"t"}`+"\n" {
		t.Errorf("got %q, %v, %s", id, err, s.out)
	}
}
