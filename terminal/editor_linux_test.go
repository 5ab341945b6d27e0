package terminal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cairn/compactor"
	"cairn/llm"
	"cairn/llm/llmtest"
	"cairn/llm/openai"
)

// keyboard is the outer end of a pseudo-terminal: what is typed goes in, what the
// screen gets comes out.
type keyboard struct {
	*session
	pty    *os.File
	screen *buffer
	ended  chan error
}

func (k *keyboard) typed(t *testing.T, keys string) {
	t.Helper()
	if _, err := k.pty.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

func (k *keyboard) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-k.ended:
		return err
	case <-time.After(20 * time.Second):
		t.Fatalf("the terminal did not end; on it stands %q", k.screen)
		return nil
	}
}

// sit opens a pseudo-terminal of 40 columns and runs a terminal on it.
func sit(t *testing.T, o Options, model llm.Model) *keyboard {
	t.Helper()
	pty, tty := pseudoTerminal(t)
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	k := &keyboard{pty: pty, screen: &buffer{}, ended: make(chan error, 1)}
	o.In, o.Out, o.Err = tty, tty, tty
	k.session = openWith(t, o, model)
	read := make(chan struct{})
	go func() {
		defer close(read)
		b := make([]byte, 4096)
		for {
			n, err := pty.Read(b)
			_, _ = k.screen.Write(b[:n])
			if err != nil {
				return
			}
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		k.ended <- k.door.Run(ctx, k.hub, k.log)
	}()
	t.Cleanup(func() {
		cancel()
		<-left
		_ = k.hub.Close() // a turn may still write to the terminal
		_ = pty.Close()   // ends what still reads from either end
		_ = tty.Close()
		<-read
	})
	k.screen.wait(t, "> ")
	return k
}

func pseudoTerminal(t *testing.T) (pty, tty *os.File) {
	t.Helper()
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	raw, err := pty.SyscallConn() // Fd would make reads that Close cannot end
	if err != nil {
		t.Fatal(err)
	}
	var number int
	var failed error
	err = raw.Control(func(fd uintptr) {
		size := &unix.Winsize{Row: 24, Col: 40}
		failed = errors.Join(
			unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0),
			unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, size),
		)
		if failed == nil {
			number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if err = errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	if tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	return pty, tty
}

// inOrder checks that texts stand on the screen, each behind the one before.
func inOrder(t *testing.T, screen string, texts ...string) {
	t.Helper()
	rest := screen
	for _, text := range texts {
		_, behind, found := strings.Cut(rest, text)
		if !found {
			t.Fatalf("%q does not stand where it should: %q", text, screen)
		}
		rest = behind
	}
}

func TestEditor(t *testing.T) {
	t.Run("a line is answered, and Ctrl-D leaves", func(t *testing.T) {
		k := sit(t, Options{}, scripted(echo))
		k.typed(t, "hello\r")
		k.screen.wait(t, "you said hello\r\n")
		k.typed(t, "\x04")
		if err := k.end(t); err != nil {
			t.Error(err)
		}
	})
	t.Run("a row stands on the terminal before the server has sent the next", func(t *testing.T) {
		var k *keyboard
		server := llmtest.NewServer(func(x *llmtest.Exchange) {
			x.Piece("One two three four five six seven eight ")
			x.Piece("nine")
			k.screen.wait(t, "One two three four five six seven eight\r\n")
			x.Say(" ten")
		})
		defer server.Close()
		model, err := openai.New(openai.Options{BaseURL: server.URL, Window: 8000})
		if err != nil {
			t.Fatal(err)
		}
		k = sit(t, Options{}, model)
		k.typed(t, "count\r")
		k.screen.wait(t, "nine ten\r\n")
		if strings.Count(k.screen.String(), "One two") != 1 {
			t.Errorf("the row was shown twice: %q", k.screen)
		}
	})
	t.Run("what is not the reply comes after its last row", func(t *testing.T) {
		var k *keyboard
		server := llmtest.NewServer(func(x *llmtest.Exchange) {
			x.Piece("One two three four five six seven eight ")
			x.Piece("nine")
			k.screen.wait(t, "One two three four five six seven eight\r\n")
			k.door.Compaction("terminal:general", compactor.Event{State: compactor.EventStarted, From: 1, To: 9})
			_, _ = k.door.Notes().Write([]byte("a log line\n"))
			x.Say(" ten")
		})
		defer server.Close()
		model, err := openai.New(openai.Options{BaseURL: server.URL, Window: 8000})
		if err != nil {
			t.Fatal(err)
		}
		k = sit(t, Options{NoColor: true}, model)
		k.typed(t, "count\r")
		k.screen.wait(t, "a log line")
		inOrder(t, k.screen.String(), "One two", "nine ten", "· summing up messages 1 to 9", "a log line")
	})
	t.Run("Stopped. comes after the last row of what it stopped", func(t *testing.T) {
		var k *keyboard
		server := llmtest.NewServer(func(x *llmtest.Exchange) {
			x.Piece("One two three four five six seven eight ")
			x.Piece("nine")
			k.screen.wait(t, "One two three four five six seven eight\r\n")
			k.typed(t, "\x03")
			x.Wait(20 * time.Second)
		})
		defer server.Close()
		model, err := openai.New(openai.Options{BaseURL: server.URL, Window: 8000})
		if err != nil {
			t.Fatal(err)
		}
		k = sit(t, Options{NoColor: true}, model)
		k.typed(t, "count\r")
		k.screen.wait(t, "Stopped.")
		inOrder(t, k.screen.String(), "One two", "nine", "Stopped.")
	})
	t.Run("Ctrl-C stops an answer, then clears the line, then leaves", func(t *testing.T) {
		model := scripted(func(ctx context.Context, _ int, _ llm.Request) (llm.Response, error) {
			<-ctx.Done()
			return llm.Response{}, ctx.Err()
		})
		k := sit(t, Options{}, model)
		k.typed(t, "hello\r")
		for len(model.Requests()) == 0 {
			time.Sleep(time.Millisecond)
		}
		k.typed(t, "\x03")
		k.screen.wait(t, "Stopped.")
		k.typed(t, "half a line\x03/help\r")
		k.screen.wait(t, "/compact [focus]")
		k.typed(t, "\x03")
		if err := k.end(t); err != nil {
			t.Error(err)
		}
		if len(model.Requests()) != 1 {
			t.Error("the cleared line was sent")
		}
	})
	t.Run("an answer that takes long comes when it is there", func(t *testing.T) {
		k := sit(t, Options{}, scripted(echo))
		k.typed(t, "Ada moved to Turin in May.\r")
		k.screen.wait(t, "you said Ada")
		k.typed(t, "/recap\r")
		k.screen.wait(t, "one moment.")
		k.screen.wait(t, "Made without a model")
	})
	t.Run("Tab completes a command as far as it is clear", func(t *testing.T) {
		k := sit(t, Options{}, scripted(echo))
		k.typed(t, "/he\t\r")
		k.screen.wait(t, "show the commands")
		for line, want := range map[string]string{"/me": "/memories ", "/co": "/co", "/x": "/x", "": "", "hello": "hello"} {
			if got, _ := completed(line); got != want {
				t.Errorf("%q became %q", line, got)
			}
		}
	})
	t.Run("Tab shows the commands there are to choose from", func(t *testing.T) {
		k := sit(t, Options{}, scripted(echo))
		k.typed(t, "/co\t")
		k.screen.wait(t, "/compact  /context")
	})
	t.Run("Home, End and Delete do what they say, whatever the terminal sends for them", func(t *testing.T) {
		k := sit(t, Options{}, scripted(echo))
		k.typed(t, "\x1b[3~") // on an empty line
		for _, keys := range [][2]string{{"\x1b[1~", "\x1b[4~"}, {"\x1b[7~", "\x1b[8~"}, {"\x1b[H", "\x1b[F"}} {
			k.typed(t, "bc"+keys[0]+"xa"+keys[0]+"\x1b[3~"+keys[1]+"d\r")
			k.screen.wait(t, "you said abcd\r\n")
			k.screen.reset()
		}
	})
	t.Run("a message that could not be written is told in a sentence, and the next may be sent", func(t *testing.T) {
		k := sit(t, Options{NoColor: true}, scripted(echo))
		k.lose(t)
		k.typed(t, "hello\r")
		k.screen.wait(t, "was not taken. Send it again later.")
		k.typed(t, "/context\r")
		k.screen.wait(t, "That could not be done just now.")
		k.typed(t, "\x03") // leaves: nothing waits for an answer
		if err := k.end(t); err != nil {
			t.Error(err)
		}
		k.logged.wait(t, "database is closed")
		if strings.Contains(k.screen.String(), "database") {
			t.Errorf("internal words on the terminal: %q", k.screen)
		}
	})
	t.Run("a compaction is a dim line, above what is being typed", func(t *testing.T) {
		k := sit(t, Options{}, scripted(echo))
		k.typed(t, "half a li")
		k.screen.wait(t, "half a li")
		k.door.Compaction("terminal:general", compactor.Event{State: compactor.EventStarted, From: 1, To: 9})
		k.screen.wait(t, "\x1b[2m· summing up messages 1 to 9\x1b[0m\r\n> half a li")
		k.typed(t, "ne\r")
		k.screen.wait(t, "you said half a line")
	})
	t.Run("what is pasted is one message, Tabs and newlines included", func(t *testing.T) {
		model := scripted(echo)
		k := sit(t, Options{}, model)
		k.screen.wait(t, "\x1b[?2004h") // asks the terminal to mark what is pasted
		k.typed(t, "\x1b[200~one\r\ttwo\r"+strings.Repeat("x", 5000)+"\x1b[201~ three\r")
		k.screen.wait(t, "you said one\r\n")
		told := model.Requests()[0].Messages
		text := told[len(told)-1].Text
		if !strings.Contains(text, "one\n\ttwo\n"+strings.Repeat("x", 5000)+" three") {
			t.Errorf("the model was told %.200q", text)
		}
	})
	t.Run("without colour nothing is dim", func(t *testing.T) {
		k := sit(t, Options{NoColor: true}, scripted(echo))
		_, _ = k.door.Notes().Write([]byte("a log line\n"))
		k.screen.wait(t, "a log line\r\n")
		if strings.Contains(k.screen.String(), "\x1b[2m") {
			t.Errorf("got %q", k.screen)
		}
	})
	t.Run("what a stranger wrote cannot change the terminal", func(t *testing.T) {
		k := sit(t, Options{}, scripted(func(context.Context, int, llm.Request) (llm.Response, error) {
			return llmtest.Say("red \x1b[31malert\x07 \u009b2J"), nil
		}))
		k.typed(t, "hello\r")
		k.screen.wait(t, "red [31malert 2J\r\n")
	})
	t.Run("bytes that are no UTF-8 are passed over", func(t *testing.T) {
		k := sit(t, Options{}, scripted(echo))
		k.typed(t, "a\xff\xc3(b\xe2\x82")
		k.typed(t, "\xac\r")
		k.screen.wait(t, "you said a(b€")
	})
	t.Run("an end from outside leaves the terminal as it was", func(t *testing.T) {
		pty, tty := pseudoTerminal(t)
		defer tty.Close()
		defer pty.Close()
		t.Setenv("TERM", "xterm")
		s := open(t, Options{In: tty, Out: tty, Err: tty}, echo)
		before, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		if err := s.door.Run(ctx, s.hub, s.log); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		after, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
		if err != nil || *after != *before {
			t.Errorf("before %+v, after %+v, %v", before, after, err)
		}
	})
	t.Run("the arrow key brings back a line of an earlier session", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "history")
		k := sit(t, Options{History: file}, scripted(echo))
		k.typed(t, "remember me\r")
		k.screen.wait(t, "you said remember me")
		k.typed(t, "\x04")
		if err := k.end(t); err != nil {
			t.Fatal(err)
		}
		again := sit(t, Options{History: file}, scripted(echo))
		again.typed(t, "\x1b[A\r")
		again.screen.wait(t, "you said remember me")
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file is open to others: %v, %v", info.Mode(), err)
		}
	})
}

func TestAPipeThatAnswersOnATerminalCannotChangeIt(t *testing.T) {
	_, tty := pseudoTerminal(t)
	door, err := New(Options{In: strings.NewReader("hello\n"), Out: tty, Err: tty, Channel: "general", User: "Ada"})
	if err != nil {
		t.Fatal(err)
	}
	p, ok := door.face.(*plain)
	if !ok || !p.seen {
		t.Fatalf("it is %T", door.face)
	}
	if got := p.safe("\x1b]52;c;x\x07red \u009b2J\u202eok\n"); got != "]52;c;xred 2Jok\n" {
		t.Errorf("got %q", got)
	}
	p.seen = false
	if got := p.safe("\x1b[1mas it is"); got != "\x1b[1mas it is" {
		t.Errorf("through a pipe: %q", got)
	}
}
