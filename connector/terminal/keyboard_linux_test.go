package terminal

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hinshun/vt10x"
	"golang.org/x/sys/unix"

	"cairn/llm"
	"cairn/llm/openai"
	"cairn/testkit/check"
	"cairn/testkit/llmtest"
)

// private are sequences of newer terminals, some of which the emulator misreads.
var private = regexp.MustCompile(`\x1b\[[<>=?][0-9;]*\$?[a-z]`)

const (
	screenRows    = 60
	screenColumns = 40
)

// keyboard is the outer end of a pseudo-terminal: keys go in, and the screen's output comes out.
type keyboard struct {
	*session
	pty    *os.File
	raw    *buffer // output so far
	screen display
	ended  chan error
}

// display is the visible screen.
type display struct{ terminal vt10x.Terminal }

// String returns the rows from the top, without trailing blanks.
func (d display) String() string {
	var rows []string
	for row := range strings.SplitSeq(d.terminal.String(), "\n") {
		rows = append(rows, strings.TrimRight(row, " "))
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n")
}

// wait returns once the display shows text.
func (d display) wait(t *testing.T, text string) {
	t.Helper()
	d.until(t, text, func(screen string) bool { return strings.Contains(screen, text) })
}

func (d display) until(t *testing.T, what string, ok func(screen string) bool) {
	t.Helper()
	check.That(t, check.Soon(func() bool { return ok(d.String()) }), "timed out waiting for %q; got\n%s", what, d)
}

func (k *keyboard) typed(t *testing.T, keys string) {
	t.Helper()
	check.Must(k.pty.WriteString(keys))(t)
}

// shows types keys, and returns once the display shows text.
func (k *keyboard) shows(t *testing.T, keys, text string) {
	t.Helper()
	k.typed(t, keys)
	k.screen.wait(t, text)
}

// leave types keys after which the run ends.
func (k *keyboard) leave(t *testing.T, keys string) {
	t.Helper()
	k.typed(t, keys)
	select {
	case err := <-k.ended:
		check.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Fatalf("the terminal did not end; screen\n%s", k.screen)
	}
}

// served is a model on a server.
func served(t *testing.T, script func(x *llmtest.Exchange)) llm.Model {
	t.Helper()
	return check.Must(openai.New(openai.Options{BaseURL: llmtest.Serve(t, script).URL, Window: 8000}))(t)
}

// sit opens a pseudo-terminal, and runs a terminal on it after before.
func sit(t *testing.T, o Options, model llm.Model, before ...func(*session)) *keyboard {
	t.Helper()
	pty, tty := pseudoTerminal(t)
	k := &keyboard{pty: pty, raw: &buffer{}, screen: display{vt10x.New(vt10x.WithSize(screenColumns, screenRows))}, ended: make(chan error, 1)}
	o.In = tty
	o.Out = tty
	o.Err = tty
	k.session = open(t, o, model)
	for _, do := range before {
		do(k.session)
	}
	var reads, runs sync.WaitGroup
	reads.Go(func() {
		b := make([]byte, 4096)
		for n, err := pty.Read(b); err == nil; n, err = pty.Read(b) {
			_, _ = k.raw.Write(b[:n])
			_, _ = k.screen.terminal.Write(private.ReplaceAll(b[:n], nil))
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	runs.Go(func() { k.ended <- k.connector.Run(ctx, Here(k.hub, k.log), k.log) })
	t.Cleanup(func() {
		cancel()
		runs.Wait()
		_ = k.hub.Close() // a turn may still write to the terminal
		_ = pty.Close()   // ends what still reads from either end; the reader of a failed screen may hold the other one
		reads.Wait()
	})
	k.screen.wait(t, ">")
	return k
}

func pseudoTerminal(t *testing.T) (pty, tty *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	pty = os.NewFile(uintptr(fd), "/dev/ptmx") // as it does not block, Close ends its reads
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	size := &unix.Winsize{Row: screenRows, Col: screenColumns}
	check.NoError(t, errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0), unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, size)))
	return pty, check.Must(os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0))(t)
}
