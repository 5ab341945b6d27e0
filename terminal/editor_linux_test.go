package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hinshun/vt10x"
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
	raw    *buffer // what was written
	screen display
	ended  chan error
}

// display is what a person sees.
type display struct{ terminal vt10x.Terminal }

// private are sequences of newer terminals, of which the emulator takes some for others.
var private = regexp.MustCompile(`\x1b\[[<>=?][0-9;]*\$?[a-z]`)

const (
	screenRows    = 60
	screenColumns = 40
)

func newDisplay() display { return display{vt10x.New(vt10x.WithSize(screenColumns, screenRows))} }

// String is the rows from the top, without blanks at their ends.
func (d display) String() string {
	var rows []string
	for row := range strings.SplitSeq(d.terminal.String(), "\n") {
		rows = append(rows, strings.TrimRight(row, " "))
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n")
}

// wait returns once text stands on the display.
func (d display) wait(t *testing.T, text string) {
	t.Helper()
	d.until(t, text, func(screen string) bool { return strings.Contains(screen, text) })
}

func (d display) until(t *testing.T, what string, ok func(screen string) bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if ok(d.String()) {
			return
		}
	}
	t.Errorf("waited in vain for %q; there is\n%s", what, d)
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
		t.Fatalf("the terminal did not end; on it stands\n%s", k.screen)
		return nil
	}
}

// sit opens a pseudo-terminal of 40 columns and runs a terminal on it.
func sit(t *testing.T, o Options, model llm.Model) *keyboard {
	t.Helper()
	pty, tty := pseudoTerminal(t)
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	k := &keyboard{pty: pty, raw: &buffer{}, screen: newDisplay(), ended: make(chan error, 1)}
	o.In, o.Out, o.Err = tty, tty, tty
	k.session = openWith(t, o, model)
	read := make(chan struct{})
	go func() {
		defer close(read)
		b := make([]byte, 4096)
		for {
			n, err := pty.Read(b)
			_, _ = k.raw.Write(b[:n])
			_, _ = k.screen.terminal.Write(private.ReplaceAll(b[:n], nil))
			if err != nil {
				return
			}
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		k.ended <- k.connector.Run(ctx, k.hub, k.log)
	}()
	t.Cleanup(func() {
		cancel()
		<-left
		_ = k.hub.Close() // a turn may still write to the terminal
		_ = pty.Close()   // ends what still reads from either end
		_ = tty.Close()
		<-read
	})
	k.screen.wait(t, ">")
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
		size := &unix.Winsize{Row: screenRows, Col: screenColumns}
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
		k.screen.wait(t, "you said hello\n")
		k.typed(t, "\x04")
		if err := k.end(t); err != nil {
			t.Error(err)
		}
	})
	t.Run("text stands on the terminal before the server has sent the rest", func(t *testing.T) {
		var k *keyboard
		server := llmtest.NewServer(func(x *llmtest.Exchange) {
			x.Piece("One two three four five six seven eight ")
			x.Piece("nine")
			k.screen.wait(t, "One two three four five six seven eight\nnine\n")
			x.Say(" ten")
		})
		defer server.Close()
		model, err := openai.New(openai.Options{BaseURL: server.URL, Window: 8000})
		if err != nil {
			t.Fatal(err)
		}
		k = sit(t, Options{}, model)
		k.typed(t, "count\r")
		k.screen.until(t, "the whole answer, once", func(screen string) bool {
			return strings.Contains(screen, "nine ten\n") && strings.Count(screen, "One two") == 1
		})
	})
	t.Run("what is not the reply comes after its last row", func(t *testing.T) {
		var k *keyboard
		server := llmtest.NewServer(func(x *llmtest.Exchange) {
			x.Piece("One two three four five six seven eight ")
			x.Piece("nine")
			k.screen.wait(t, "One two three four five six seven eight")
			k.connector.Compaction("terminal:general", compactor.Event{State: compactor.EventStarted, From: 1, To: 9})
			_, _ = k.connector.Notes().Write([]byte("a log line\n"))
			k.screen.wait(t, "a log line") // it waits in sight
			inOrder(t, k.screen.String(), "nine", "a log line")
			x.Say(" ten")
		})
		defer server.Close()
		model, err := openai.New(openai.Options{BaseURL: server.URL, Window: 8000})
		if err != nil {
			t.Fatal(err)
		}
		k = sit(t, Options{NoColor: true}, model)
		k.typed(t, "count\r")
		k.screen.wait(t, "nine ten")
		inOrder(t, k.screen.String(), "One two", "nine ten", "· summarizing messages 1 to 9", "a log line")
	})
	t.Run("Stopped. comes after the last row of what it stopped", func(t *testing.T) {
		var k *keyboard
		server := llmtest.NewServer(func(x *llmtest.Exchange) {
			x.Piece("One two three four five six seven eight ")
			x.Piece("nine")
			k.screen.wait(t, "One two three four five six seven eight")
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
		k.typed(t, "half a line\x03")
		k.screen.until(t, "an empty line", func(screen string) bool { return strings.HasSuffix(screen, "\n>") })
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
		k.screen.wait(t, "one\nmoment.")
		k.screen.wait(t, "Made without a model")
	})
	t.Run("a slash shows the commands and their help, and Tab completes", func(t *testing.T) {
		k := sit(t, Options{NoColor: true}, scripted(echo))
		k.typed(t, "/")
		k.screen.wait(t, "▸ /compact [focus]")
		k.typed(t, "co")
		k.screen.wait(t, "  /context          show how full")
		k.typed(t, "\x1b[B\t")
		k.screen.wait(t, "\n> /context")
		k.screen.until(t, "no menu", func(screen string) bool { return !strings.Contains(screen, "▸") })
		k.typed(t, "\r")
		k.screen.wait(t, "stack     empty")
	})
	t.Run("an unknown command is refused and not sent; /quit leaves", func(t *testing.T) {
		model := scripted(echo)
		k := sit(t, Options{NoColor: true}, model)
		k.typed(t, "/contxt\r")
		k.screen.wait(t, "did you\nmean /context?")
		k.typed(t, "/quit\r")
		if err := k.end(t); err != nil || len(model.Requests()) > 0 {
			t.Errorf("%v, %d requests", err, len(model.Requests()))
		}
	})
	t.Run("who waits sees for how long, for which model, and how full the window is", func(t *testing.T) {
		var k *keyboard
		server := llmtest.NewServer(func(x *llmtest.Exchange) {
			k.screen.until(t, "a sign of life", regexp.MustCompile(`· \d+ s · \S+ · window \d+ % full`).MatchString)
			x.Say("here I am")
		})
		defer server.Close()
		model, err := openai.New(openai.Options{BaseURL: server.URL, Window: 8000})
		if err != nil {
			t.Fatal(err)
		}
		k = sit(t, Options{}, model)
		k.typed(t, "hello\r")
		k.screen.until(t, "the answer, and no sign any more", func(screen string) bool {
			return strings.Contains(screen, "here I am") && !strings.Contains(screen, "window")
		})
	})
	t.Run("Ctrl-R finds an earlier line, Enter takes it, and once more sends it", func(t *testing.T) {
		k := sit(t, Options{}, scripted(echo))
		for _, line := range []string{"the tide is high", "the bell rings", "nothing else"} {
			k.typed(t, line+"\r")
			k.screen.wait(t, "you said "+line)
		}
		k.typed(t, "\x12the")
		k.screen.wait(t, "(the bell rings;")
		k.typed(t, "\x12")
		k.screen.wait(t, "(the tide is high;")
		k.typed(t, "\r")
		k.screen.until(t, "the line to be changed", func(screen string) bool { return strings.HasSuffix(screen, "\n> the tide is high") })
		k.typed(t, "er\r")
		k.screen.wait(t, "you said the tide is higher")
	})
	t.Run("Alt-Enter begins a new line, which is part of the message and of the history", func(t *testing.T) {
		model := scripted(echo)
		k := sit(t, Options{History: filepath.Join(t.TempDir(), "history")}, model)
		k.typed(t, "one\x1b\rtwo")
		k.screen.wait(t, "> one\n  two")
		k.typed(t, "\r")
		k.screen.wait(t, "you said one\n")
		told := model.Requests()[0].Messages
		if text := told[len(told)-1].Text; !strings.Contains(text, "one\ntwo") {
			t.Errorf("the model was told %q", text)
		}
		k.typed(t, "\x1b[A")
		k.screen.until(t, "both lines", func(screen string) bool { return strings.HasSuffix(screen, "\n> one\n  two") })
	})
	t.Run("no row breaks within a word, inside a reply or outside of it", func(t *testing.T) {
		k := sit(t, Options{NoColor: true}, scripted(func(context.Context, int, llm.Request) (llm.Response, error) {
			return llmtest.Say("Seventeen harbour lanterns illuminate windswept promontories."), nil
		}))
		k.typed(t, "hello\r")
		k.screen.wait(t, "Seventeen harbour lanterns illuminate\nwindswept promontories.")
		k.connector.Notes().Write([]byte("Seventeen harbour lanterns are extinguished\n"))
		k.screen.wait(t, "Seventeen harbour lanterns are\nextinguished")
		k.typed(t, "/context\r")
		k.screen.wait(t, "0 head, 70 messages, 1000 kept free for\nthe reply")
	})
	t.Run("Home, End and Delete do what they say, whatever the terminal sends for them", func(t *testing.T) {
		k := sit(t, Options{}, scripted(echo))
		k.typed(t, "\x1b[3~") // on an empty line
		for i, keys := range [][2]string{{"\x1b[1~", "\x1b[4~"}, {"\x1b[7~", "\x1b[8~"}, {"\x1b[H", "\x1b[F"}} {
			k.typed(t, "bc"+keys[0]+"xa"+keys[0]+"\x1b[3~"+keys[1]+fmt.Sprintf("d%d\r", i))
			k.screen.wait(t, fmt.Sprintf("you said abcd%d\n", i))
		}
	})
	t.Run("a message that could not be written is told in a sentence, and the next may be sent", func(t *testing.T) {
		k := sit(t, Options{NoColor: true}, scripted(echo))
		k.lose(t)
		k.typed(t, "hello\r")
		k.screen.wait(t, "was not accepted. Send it again later.")
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
		k.screen.wait(t, "> half a li")
		k.connector.Compaction("terminal:general", compactor.Event{State: compactor.EventStarted, From: 1, To: 9})
		k.screen.wait(t, "· summarizing messages 1 to 9\n> half a li")
		if !strings.Contains(k.raw.String(), "\x1b[2m· summarizing messages 1 to 9\x1b[22m") {
			t.Errorf("it is not dim: %q", k.raw)
		}
		k.typed(t, "ne\r")
		k.screen.wait(t, "you said half a line")
	})
	t.Run("what is pasted is one message, Tabs and newlines included", func(t *testing.T) {
		model := scripted(func(context.Context, int, llm.Request) (llm.Response, error) { return llmtest.Say("yes"), nil })
		k := sit(t, Options{}, model)
		k.raw.wait(t, "\x1b[?2004h") // asks the terminal to mark what is pasted
		k.typed(t, "\x1b[200~one\r\ttwo\r"+strings.Repeat("x", 5000)+"\x1b[201~")
		k.screen.wait(t, "[pasted 1: 5009 characters, 3 lines]")
		k.typed(t, " three\r")
		k.screen.wait(t, "> [pasted 1: 5009 characters, 3 lines]\nthree\nyes")
		told := model.Requests()[0].Messages
		text := told[len(told)-1].Text
		if !strings.Contains(text, "one\n\ttwo\n"+strings.Repeat("x", 5000)+" three") {
			t.Errorf("the model was told %.200q", text)
		}
	})
	t.Run("Markdown is shown as what it means", func(t *testing.T) {
		k := sit(t, Options{}, scripted(func(context.Context, int, llm.Request) (llm.Response, error) {
			return llmtest.Say("# Tides\n\nThe **wall** is `high`.\n\n- one\n- two"), nil
		}))
		k.typed(t, "hello\r")
		k.screen.wait(t, "Tides\n\nThe wall is high.\n\n• one\n• two")
	})
	t.Run("without colour nothing is dim", func(t *testing.T) {
		k := sit(t, Options{NoColor: true}, scripted(echo))
		_, _ = k.connector.Notes().Write([]byte("a log line\n"))
		k.screen.wait(t, "a log line")
		if strings.Contains(k.raw.String(), "\x1b[2m") {
			t.Errorf("got %q", k.raw)
		}
	})
	t.Run("what a stranger wrote cannot change the terminal", func(t *testing.T) {
		k := sit(t, Options{}, scripted(func(context.Context, int, llm.Request) (llm.Response, error) {
			return llmtest.Say("red \x1b[31malert\x07 \u009b2J"), nil
		}))
		k.typed(t, "hello\r")
		k.screen.wait(t, "red [31malert 2J\n")
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
		if err := s.connector.Run(ctx, s.hub, s.log); !errors.Is(err, context.Canceled) {
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
