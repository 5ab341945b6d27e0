package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cairn/testkit/check"
)

type live struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	errs  *check.Buffer
	ended chan struct{}
}

// start starts the program. It is killed when the test ends, or after minutes.
func (p folder) start(args ...string) *live {
	p.t.Helper()
	l := &live{t: p.t, cmd: p.command(args...), lines: make(chan string, 1000), errs: &check.Buffer{}, ended: make(chan struct{})}
	l.cmd.Stderr = l.errs
	in, errIn := l.cmd.StdinPipe()
	out, errOut := l.cmd.StdoutPipe()
	check.NoError(p.t, errors.Join(errIn, errOut, l.cmd.Start()))
	l.in = in
	go func() {
		defer close(l.ended)
		defer close(l.lines)
		text := json.NewDecoder(out)
		for line := (json.RawMessage{}); text.Decode(&line) == nil; line = nil {
			l.lines <- string(line)
		}
		_ = l.cmd.Wait() // the exit code shows it
	}()
	kill := func() { _ = l.cmd.Process.Kill() } // it may have ended
	guard := time.AfterFunc(3*time.Minute, kill)
	p.t.Cleanup(func() {
		guard.Stop()
		kill()
		_, _ = l.rest()
	})
	return l
}

func (l *live) say(line string) {
	l.t.Helper()
	check.Must(io.WriteString(l.in, line+"\n"))(l.t)
}

// ask sends a line, and returns the first line of output that contains text.
func (l *live) ask(line, text string) string {
	l.t.Helper()
	l.say(line)
	lines := l.until(text)
	return lines[len(lines)-1]
}

// until returns the lines up to the first that contains text.
func (l *live) until(text string) (lines []string) {
	l.t.Helper()
	for line := range l.lines {
		lines = append(lines, line)
		if strings.Contains(line, text) {
			return lines
		}
	}
	l.t.Fatalf("the output ended before %s; got %q\n%s", text, lines, l.errs)
	return nil
}

// rest returns the remaining output until the program ends, and its exit code.
func (l *live) rest() (lines []string, code int) {
	for line := range l.lines {
		lines = append(lines, line)
	}
	<-l.ended
	return lines, l.cmd.ProcessState.ExitCode()
}

// isOver reports whether the program has ended.
func (l *live) isOver() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// end ends the input, checks that the program exits with code 0, and returns the remaining output.
func (l *live) end() (lines []string) {
	l.t.Helper()
	_ = l.in.Close()
	return l.exits(0)
}

// killed closes the input, waits for the end, which must be by SIGKILL, and returns the output.
func (l *live) killed() (lines []string) {
	l.t.Helper()
	_ = l.in.Close() // a program that is not killed ends normally
	lines, _ = l.rest()
	by := l.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal()
	check.Require(l.t, by == syscall.SIGKILL, "the step was not reached: %v; output %q\n%s", l.cmd.ProcessState, lines, l.errs)
	return lines
}

func (l *live) signal(s syscall.Signal) {
	l.t.Helper()
	check.NoError(l.t, l.cmd.Process.Signal(s))
}

func (l *live) logs(parts ...string) {
	l.t.Helper()
	for _, part := range parts {
		eventually(l.t, "the log has "+part, l.errs.String, func() bool { return strings.Contains(l.errs.String(), part) })
	}
}

// stop sends SIGTERM, and wants the program to end with its number.
func (l *live) stop() {
	l.t.Helper()
	l.signal(syscall.SIGTERM)
	l.exits(143)
}

// exits waits for the end, checks the exit code, and returns the remaining output.
func (l *live) exits(want int) (lines []string) {
	l.t.Helper()
	lines, code := l.rest()
	check.That(l.t, code == want, "got exit code %d, want %d\n%s", code, want, l.errs)
	return lines
}

// screen is the program at a pseudo-terminal, with a person who reads and types.
type screen struct {
	t    *testing.T
	pty  *os.File
	cmd  *exec.Cmd
	done chan struct{}
	text check.Buffer
	read int // up to where the person has read
}

func (p folder) atScreen(args ...string) *screen {
	p.t.Helper()
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		p.t.Skip("no pseudo-terminals here: ", err)
	}
	p.t.Cleanup(func() { pty.Close() })
	number, err := unix.IoctlGetInt(int(pty.Fd()), unix.TIOCGPTN)
	check.NoError(p.t, errors.Join(err, unix.IoctlSetPointerInt(int(pty.Fd()), unix.TIOCSPTLCK, 0)))
	tty := check.Must(os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0))(p.t)
	check.NoError(p.t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: p.width / 2, Col: p.width}))
	s := &screen{t: p.t, pty: pty, cmd: p.command(args...), done: make(chan struct{})}
	s.cmd.Stdin = tty
	s.cmd.Stdout = tty
	s.cmd.Stderr = tty
	check.NoError(p.t, s.cmd.Start())
	go func() {
		defer close(s.done)
		_, _ = io.Copy(&s.text, pty) // fails when the other end is closed
	}()
	p.t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	check.NoError(p.t, tty.Close())
	return s
}

// until reads until text is shown, after what was read before.
func (s *screen) until(text string) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("%q is shown", text), s.text.String, func() bool {
		at := strings.Index(s.text.String()[s.read:], text)
		if at >= 0 {
			s.read += at + len(text)
		}
		return at >= 0
	})
}

// answer types a line once a question was asked.
func (s *screen) answer(question, line string) {
	s.t.Helper()
	s.until(question)
	if strings.Contains(question, "hidden") {
		s.untilEchoIsOff()
	}
	check.Must(s.pty.WriteString(line + "\n"))(s.t)
}

// untilEchoIsOff waits until the terminal no longer shows what is typed: a prompt for a secret appears a moment earlier.
func (s *screen) untilEchoIsOff() {
	s.t.Helper()
	eventually(s.t, "the echo is off", s.text.String, func() bool {
		return check.Must(unix.IoctlGetTermios(int(s.pty.Fd()), unix.TCGETS))(s.t).Lflag&unix.ECHO == 0
	})
}

// end waits for the end, checks the exit code, and returns everything shown.
func (s *screen) end(code int) string {
	s.t.Helper()
	_ = s.cmd.Wait() // the exit code shows it
	<-s.done
	text := strings.ReplaceAll(s.text.String(), "\r\n", "\n")
	check.That(s.t, s.cmd.ProcessState.ExitCode() == code, "got exit code %d, want %d: %s", s.cmd.ProcessState.ExitCode(), code, text)
	return text
}
